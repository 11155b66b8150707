"""The sum of independent records: its values and log probabilities."""

import math
from fractions import Fraction

import numpy as np

from divulge.errors import DivulgeError

_MOST_SUMS, _MOST_TERMS = 80_000, 20_000_000
"""Distinct sums, and the terms they are added up from: a few seconds of work."""

_LEAST_LOG = -11_300.0
"""About the log of the smallest long double."""


def _lattice_step(values: np.ndarray) -> float | None:
    """Return the step of a lattice that holds all values to 1e-12 of their span, or None."""
    span = float(values[-1] - values[0])
    shares = ((values - values[0]) / span).tolist()
    gaps = [Fraction(share).limit_denominator(1_000_000) for share in shares]
    if any(abs(float(g) - share) > 1e-12 for g, share in zip(gaps, shares, strict=True)):
        return None
    denominator = math.lcm(*(g.denominator for g in gaps))
    numerator = math.gcd(*(int(g * denominator) for g in gaps))
    return span * (numerator / denominator)


def sums(values: np.ndarray, probabilities: np.ndarray, count: int, on_lattice: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (values, log probabilities) of the sum of `count` independent records."""
    if len(values) == 1:
        return values * count, np.zeros(1)
    if len(values) == 2:
        from scipy.stats import binom

        k = np.arange(count + 1)
        return values[0] * count + k * (values[1] - values[0]), binom.logpmf(k, count, probabilities[1])
    step = values[1] - values[0] if on_lattice else _lattice_step(values)
    if step is not None and (values[-1] - values[0]) / step * count <= _MOST_SUMS:
        if not on_lattice and count * math.log(min(probabilities[0], probabilities[-1])) < _LEAST_LOG:
            raise DivulgeError.of(
                "records", "leave every sum a probability above 1e-4900", "the rarest sum", "rarer",
                "use fewer records, or merge rare values at the ends.",
            )  # fmt: skip
        where = np.round((values - values[0]) / step).astype(int)
        base = np.zeros(where[-1] + 1, dtype=np.float64 if on_lattice else np.longdouble)
        base[where] = probabilities
        pmf = _power(base, count)
        keep = pmf > 0
        return (values[0] * count + np.arange(len(pmf)) * step)[keep], np.log(pmf[keep]).astype(np.float64)
    return _enumerated(values, probabilities, count)


def _too_many(what: str, found: str) -> DivulgeError:
    return DivulgeError.of(
        "records", "leave few enough distinct sums to enumerate", what, found,
        "use fewer records, or round the values to a coarser grid.",
    )  # fmt: skip


def _enumerated(values: np.ndarray, probabilities: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (values, log probabilities) of the sum of records on no lattice, or one too fine, a record at a time."""
    unit, terms = float(values[-1] - values[0]) * 1e-13, 0
    places, p = np.zeros(1), np.ones(1)
    for _ in range(count):
        terms += len(places) * len(values)
        if terms > _MOST_TERMS:
            raise _too_many("the number of terms to add", f"over {_MOST_TERMS:,}")
        keys, where = np.unique(np.round((places[:, None] + values) / unit).ravel(), return_inverse=True)
        places, p = keys * unit, np.bincount(where, (p[:, None] * probabilities).ravel())
        if len(places) > _MOST_SUMS:
            raise _too_many("their number", f"over {_MOST_SUMS:,}")
    return places[p > 0], np.log(p[p > 0])


def _power(base: np.ndarray, count: int) -> np.ndarray:
    """Return the count-fold convolution of a distribution by repeated squaring (sums of positive terms only)."""
    result: np.ndarray | None = None
    while True:
        if count & 1:
            result = base if result is None else np.convolve(result, base)
        count >>= 1
        if not count:
            assert result is not None
            return result
        base = np.convolve(base, base)
