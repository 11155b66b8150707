"""Rounding of square channels to integers that keep the guarantees and their names, both decided exactly."""

from fractions import Fraction

import numpy as np

from divulge.designing.polytope.limits import Limits
from divulge.designing.rounding import Checker

_LEAST_SHARE, _MOST_SHARE = 2.0**-44, 0.5


def named_exactly(
    channel: np.ndarray, start: np.ndarray, prior: np.ndarray, checker: Checker, leads: np.ndarray,
    occurrence: Fraction, bits: int,
) -> np.ndarray | None:  # fmt: skip
    """Return integers (N, N) near the channel whose rows sum to 2^bits; None where no mixture keeps all.

    The guarantees and the names hold for any mixture with `start`, in which each value occurs and is raised most, and
    with the channel of equal rows. Shares of both grow until largest remainders keep them as well.
    """
    share = _LEAST_SHARE
    while share < _MOST_SHARE:
        mixed = (1 - share) * channel + share * start
        mixed = (1 - share) * mixed + share * (prior @ mixed)
        integers = _largest_remainders(mixed, 2**bits)
        if (
            checker.keeps(integers).all()
            and checker.keeps_capacity(integers, 2**bits)
            and keeps_names(integers, leads)
            and (not occurrence or occurs(integers, checker, occurrence, bits))
        ):
            return integers
        share *= 4
    return None


def _largest_remainders(channel: np.ndarray, whole: int) -> np.ndarray:
    """Return integers near the channel; what the rows lack goes to their largest remainders, own outcomes first."""
    exact = channel / channel.sum(axis=1, keepdims=True) * whole
    integers = np.floor(exact).astype(np.int64)
    lacking = whole - integers.sum(axis=1)
    remainders = exact - integers + 2 * np.eye(len(channel))
    rank = np.argsort(np.argsort(-remainders, axis=1, kind="stable"), axis=1)
    integers += rank < lacking[:, None]
    own = np.arange(len(integers))
    integers[own, own] += whole - integers.sum(axis=1)
    return integers


def keeps_names(integers: np.ndarray, leads: np.ndarray) -> bool:
    """Say whether every column is strictly largest at its own value, and as many times larger as asked, exactly."""
    own = np.diag(integers)
    others = np.where(np.eye(len(integers), dtype=bool), -1, integers).max(axis=0, initial=-1)
    strictly = bool((own > others).all())
    asked = [Fraction(lead) for lead in leads.tolist()]
    return strictly and all(int(a) >= lead * int(b) for a, b, lead in zip(own, others, asked, strict=True) if lead > 1)


def occurs(integers: np.ndarray, checker: Checker, occurrence: Fraction, bits: int) -> bool:
    """Say whether each outcome occurs that many times as often as its value, or as one in N, exactly."""
    mass, total, n = checker.mass(integers), int(checker.prior.sum()), len(integers)
    least = [occurrence * min(Fraction(int(p)), Fraction(total, n)) * 2**bits for p in checker.prior.tolist()]
    return all(m >= one for m, one in zip(mass.tolist(), least, strict=True))


def keeps(channel: np.ndarray, prior: np.ndarray, limits: Limits, leads: np.ndarray, margin: float = 1e-7) -> bool:
    """Say whether a float channel nearly keeps the limits and the names."""
    own, room = np.diag(channel), margin * (prior @ channel + 1e-12)
    others = np.where(np.eye(len(channel), dtype=bool), 0.0, channel).max(axis=0)
    return bool((own >= leads * others - room).all()) and limits.nearly_kept(channel, prior, room)
