"""What an integer channel guarantees, computed from its integers, and what several releases guarantee together.

All values are in nats and rounded up: they are upper bounds of real numbers that have no float.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from divulge import exact
from divulge.guarantees.formulas.density import pmc_of_ldp, pml_of_ldp
from divulge.model.integer import IntegerChannel
from divulge.model.labels import alignment, same_letters
from divulge.model.prior import Prior

MOST_CELLS = 1 << 17
"""Up to so many entries the joint channel of several releases is computed exactly."""


def log_up(ratio: Fraction | float) -> float:
    """Return the least double that is at least the log of a ratio of 1 or more; log of infinity is infinity.

    Examples
    --------
    >>> log_up(Fraction(1)), log_up(Fraction(3)) >= math.log(3)  # log 3 = 1.098612288668109691...
    (0.0, True)
    """
    if not isinstance(ratio, Fraction):
        return math.inf
    nearest = exact.log(ratio)
    enough = exact.at_most(lambda: exact.arb(ratio).log(), nearest)
    return nearest if enough else math.nextafter(nearest, math.inf)


def added(values: Iterable[Fraction | float]) -> Fraction | float:
    """Return the exact sum of numbers that may be infinite."""
    terms = list(values)
    return math.inf if math.inf in terms else sum((Fraction(term) for term in terms), Fraction(0))


def up(value: Fraction | float) -> float:
    """Return the least double that is at least a number.

    Examples
    --------
    >>> up(added([0.5, 0.25])), Fraction(up(Fraction(3, 10))) >= Fraction(3, 10), up(added([1, math.inf]))
    (0.75, True, inf)
    """
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if math.isinf(nearest) or Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def promises(weights: np.ndarray, prior: Prior | None) -> dict[str, float]:
    """Return {"ldp", and with a prior "pml" and "pmc"} of rows of whole numbers with one sum, shape (N, M).

    ldp = log max_y max_x w_xy / min_x w_xy; pml and pmc compare with q_y = sum_x P_x w_xy, over secrets with P_x > 0.

    Examples
    --------
    >>> found = promises(np.array([[3, 1], [1, 3]]), Prior(["1/2", "1/2"]))
    >>> {kind: round(value, 6) for kind, value in found.items()}
    {'ldp': 1.098612, 'pml': 0.405465, 'pmc': 0.693147}
    """
    found = {"ldp": log_up(_greatest(weights.max(axis=0), weights.min(axis=0)))}
    if prior is not None:
        shares = [Fraction(p) for p in prior.probabilities.tolist()]
        total = sum(shares)
        common = math.lcm(*(share.denominator for share in shares))
        whole = np.array([int(share * common) for share in shares], dtype=object)
        held = np.flatnonzero(prior.support)
        weights = weights[held]
        outer = whole[held] @ weights.astype(object)
        scale = Fraction(common) * total
        found["pml"] = log_up(_greatest(weights.max(axis=0), outer) * scale)
        found["pmc"] = log_up(_greatest(outer, weights.min(axis=0)) / scale)
    return found


def _greatest(above: np.ndarray, below: np.ndarray) -> Fraction | float:
    """Return the greatest ratio above / below over columns with something above, exactly; a/0 is infinity."""
    pairs = {(int(a), int(b)) for a, b in zip(above.tolist(), below.tolist(), strict=True) if a > 0}
    if any(b == 0 for _, b in pairs):
        return math.inf
    top, bottom = 0, 1
    for a, b in pairs:
        if a * bottom > top * b:
            top, bottom = a, b
    return Fraction(top, bottom)


@dataclass(frozen=True, eq=False)
class Spent:
    """One release: its columns, its integer channel, the prior of the guarantees that need one, and ldp beside it.

    What stands beside is ldp that something else about the same columns spent, such as an estimate of the prior.
    """

    columns: tuple[str, ...]
    channel: IntegerChannel | None
    prior: Prior | None
    beside: float = 0.0
    loss: float = 0.0
    """Of statistics, which have no channel: the ldp of one record, all others known."""
    rho: float = 0.0
    """Of statistics: their zCDP."""
    least: Fraction | None = None
    """Of statistics under pml or pmc: every value of the secret has this probability or more."""
    adp: tuple[float, float] | None = None
    """Of statistics without a bound at every outcome: (epsilon, delta)."""


def together(releases: Sequence[Spent], prior: Prior | None) -> dict[str, float]:
    """Return what several releases, drawn independently, guarantee together about the values of all their columns.

    Releases of the same columns over the same secrets are one channel whose outcomes are the combinations, computed
    exactly while it has at most `MOST_CELLS` entries. Beyond that, and between different columns, ldp adds up, and one
    pml (or pmc) may stand beside the ldp of all others: i(x; y, z) <= i(x; y) + ldp. Sums of pml bound nothing.

    Parameters
    ----------
    releases : sequence of Spent
    prior : Prior, or None
        The prior of the releases of one group of columns; those over other columns use their own.

    Examples
    --------
    >>> coin = Spent(("x",), IntegerChannel.of([["3/4", "1/4"], ["1/4", "3/4"]]), None)
    >>> half = Prior(["1/2", "1/2"])
    >>> {kind: round(value, 6) for kind, value in together([coin, coin], half).items()}
    {'ldp': 2.197225, 'pml': 0.587787, 'pmc': 1.609438}
    """
    return {kind: up(value) for kind, value in exactly_together(releases, prior).items()}


def exactly_together(releases: Sequence[Spent], prior: Prior | None) -> dict[str, Fraction | float]:
    """Return the same as fractions, or infinity: what is rounded up where it is told need not be where it is kept."""
    blocks = _blocks([spent for spent in releases if spent.channel is not None])
    found = [promises(weights, _prior_for(spent, prior)) for spent, weights in blocks]
    aggregates = [spent for spent in releases if spent.channel is None]
    found += [{"ldp": spent.loss} for spent in aggregates]
    beside = added(spent.beside for spent in releases)
    whole = {"ldp": added([beside, *(part["ldp"] for part in found)])}
    for kind in ("pml", "pmc"):
        others = [
            added([part[kind], beside, *(other["ldp"] for other in found if other is not part)])
            for part in found
            if kind in part
        ]
        if others:
            whole[kind] = min(*others, whole["ldp"])
    priors = [spent.prior if prior is None else prior for spent in releases]
    return _with_aggregates(whole, [beside, *(part["ldp"] for part in found[: len(blocks)])], aggregates, priors)


def approximately_together(releases: Sequence[Spent], delta: Fraction | float) -> Fraction | float:
    """Return an epsilon that holds for all releases together at `delta`: epsilons add up, and so do deltas.

    Examples
    --------
    >>> rare = Spent(("x",), None, None, loss=math.inf, rho=1.0, adp=(1.0, 1e-6))
    >>> float(approximately_together([rare, rare], 2e-6)), approximately_together([rare, rare], 1e-6)
    (2.0, inf)
    """
    pure = [spent for spent in releases if spent.adp is None]
    approximate = [spent.adp for spent in releases if spent.adp is not None]
    if added(missed for _, missed in approximate) > Fraction(delta):
        return math.inf
    return added([exactly_together(pure, None)["ldp"] if pure else 0, *(epsilon for epsilon, _ in approximate)])


def _with_aggregates(
    whole: dict[str, Fraction | float],
    losses: Sequence[Fraction | float],
    aggregates: Sequence[Spent],
    priors: Sequence[Prior | None],
) -> dict[str, Fraction | float]:
    """Return the total with what follows from it for a secret whose values have at least a known probability.

    ldp of everything together is pml and pmc of such a secret. Without a bound at every outcome, zCDP adds up, of which
    epsilon-ldp spends epsilon^2 / 2.
    """
    if not aggregates:
        return whole
    least = [spent.least for spent in aggregates if spent.least is not None]
    least += [min(Fraction(p) for p in known.probabilities.tolist() if p > 0) for known in priors if known is not None]
    if least and min(least) <= Fraction(1, 2):
        for kind, bound in (("pml", pml_of_ldp), ("pmc", pmc_of_ldp)):
            told = (
                exact.round_up(bound(exact.ball(whole["ldp"]), exact.arb(min(least))))
                if kind == "pml" or math.isfinite(whole["ldp"])
                else math.inf
            )
            whole[kind] = min(told, whole.get(kind, math.inf))
    if math.isinf(whole["ldp"]):
        whole["zcdp"] = added([*(spent.rho for spent in aggregates), *(added([e]) ** 2 / 2 for e in losses)])
    return whole


def _prior_for(spent: Spent, prior: Prior | None) -> Prior | None:
    assert spent.channel is not None
    known = prior if prior is not None else spent.prior
    if known is None or not same_letters(known.secrets, spent.channel.secrets):
        known = spent.prior
    return None if known is None else known.aligned(spent.channel.secrets)


def _blocks(releases: Sequence[Spent]) -> list[tuple[Spent, np.ndarray]]:
    """Return releases of the same columns and secrets multiplied out, as far as they fit."""
    blocks: list[tuple[Spent, np.ndarray]] = []
    for spent in releases:
        assert spent.channel is not None
        for i, (first, product) in enumerate(blocks):
            assert first.channel is not None
            same = first.columns == spent.columns and same_letters(first.channel.secrets, spent.channel.secrets)
            if same and product.size * spent.channel.weights.shape[1] <= MOST_CELLS:
                order = alignment(first.channel.secrets, spent.channel.secrets, "mechanism", "an earlier one")
                weights = spent.channel.weights if order is None else spent.channel.weights[order]
                pairs = product.astype(object)[:, :, None] * weights.astype(object)[:, None, :]
                known = first.prior if first.prior is not None else spent.prior
                blocks[i] = (replace(first, prior=known), _merged(pairs.reshape(len(pairs), -1)))
                break
        else:
            blocks.append((spent, spent.channel.weights))
    return blocks


def _merged(weights: np.ndarray) -> np.ndarray:
    """Return the columns with proportional ones added up, which say the same: a repeated channel has few others."""
    columns: dict[tuple[int, ...], int] = {}
    for column in weights.T.tolist():
        common = math.gcd(*column)
        if common:
            key = tuple(w // common for w in column)
            columns[key] = columns.get(key, 0) + common
    return np.array([[w * times for w in column] for column, times in columns.items()], dtype=object).T
