"""What an integer channel guarantees, computed from its integers, and what several releases guarantee together.

All values are in nats and rounded up: they are upper bounds of real numbers that have no float.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from hashlib import blake2b
from itertools import combinations, groupby, pairwise
from operator import mul
from typing import Any

import numpy as np

from divulge import exact
from divulge.designing.polytope.limits import Limits
from divulge.designing.rounding import HALVED, Checker
from divulge.dp.accounting.composition import compose
from divulge.dp.accounting.promises import ZcdpRelease
from divulge.guarantees.formulas.density import pmc_of_ldp, pml_of_ldp
from divulge.model.integer import IntegerChannel
from divulge.model.labels import alignment, same_letters
from divulge.model.prior import Prior

MOST_CELLS = 1 << 17
"""Up to so many entries the joint channel of several releases is computed exactly."""

MILLIONTH = Fraction(1, 1_000_000)
"""The chance that is left to noise which is only concentrated, where no delta was asked for: as in statements."""

_WIDE = 256
"""Bits of shares up to which sums go by the halves of weights: a dozen passes over them, ten times faster."""

MOST_DIGITS = 1 << 24
"""And up to so many binary digits in all: a tenth of a second."""


def log_up(ratio: Fraction | float) -> float:
    """Return the least double that is at least the log of a ratio of 1 or more; log of infinity is infinity.

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
    terms = Counter(values)
    if math.inf in terms:
        return math.inf
    return sum((Fraction(term) * times for term, times in terms.items()), Fraction(0))


def promises(weights: np.ndarray, prior: Prior | None) -> dict[str, float]:
    """Return {"ldp", and with a prior "pml" and "pmc"} of rows of whole numbers with one sum, shape (N, M).

    ldp = log max_y max_x w_xy / min_x w_xy; pml and pmc compare with q_y = sum_x P_x w_xy, over secrets with P_x > 0.

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
        outer = _mean(whole[held], weights)
        scale = Fraction(common) * total
        found["pml"] = log_up(_greatest(weights.max(axis=0), outer) * scale)
        found["pmc"] = log_up(_greatest(outer, weights.min(axis=0)) / scale)
    return found


def _mean(shares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sum of rows, each so many times, in Python's integers; in halves where these fit."""
    if int(weights.max(initial=0)) >> HALVED or max(shares.tolist()).bit_length() > _WIDE:
        return shares @ weights.astype(object)
    return Checker(shares, Limits()).mass(weights)


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
    """Of statistics under pml or pmc: every value of the secret has this probability or more.

    0 where something is known of it and no such number: of several answers of a person, or under a set of priors.
    """
    adp: tuple[float, float] | None = None
    """Of statistics without a bound at every outcome: (epsilon, delta)."""
    table: str = ""
    """Whose answers these are: in a table that changed meanwhile, a person's may be others."""


def together(releases: Sequence[Spent], prior: Prior | None) -> dict[str, float]:
    """Return what several releases, drawn independently, guarantee together about the values of all their columns.

    Releases of the same columns of one table over the same secrets are one channel whose outcomes are the combinations,
    computed exactly while it has at most `MOST_CELLS` entries. Beyond that, and between different columns or tables,
    ldp adds up, and one pml (or pmc) may stand beside the ldp of all others: i(x; y, z) <= i(x; y) + ldp. Sums of pml
    bound nothing. Releases of the same columns under other priors have the pml of whoever holds the prior that is asked
    about, or the largest of all. `prior` is that of the releases of one group of columns; those over other columns use
    their own.

    >>> coin = Spent(("x",), IntegerChannel.of([["3/4", "1/4"], ["1/4", "3/4"]]), None)
    >>> half = Prior(["1/2", "1/2"])
    >>> {kind: round(value, 6) for kind, value in together([coin, coin], half).items()}
    {'ldp': 2.197225, 'pml': 0.587787, 'pmc': 1.609438}
    """
    return {kind: exact.double_above(value) for kind, value in exactly_together(releases, prior).items()}


def exactly_together(releases: Sequence[Spent], prior: Prior | None) -> dict[str, Fraction | float]:
    """Return the same as fractions, or infinity: what is rounded up where it is told need not be where it is kept."""
    groups = _groups([spent for spent in releases if spent.channel is not None])
    parts = [_total(group, prior) for group in groups]
    aggregates = [spent for spent in releases if spent.channel is None]
    beside = [added(spent.beside for spent in releases), added(spent.loss for spent in aggregates)]
    total = added([*beside, *(part["ldp"] for part in parts)])
    whole = {"ldp": total}
    for kind in ("pml", "pmc"):
        held = _held(groups, [added([part[kind], *beside, *(other["ldp"] for other in parts if other is not part)])
                              if kind in part else None for part in parts], prior)  # fmt: skip
        if held:
            whole[kind] = min(*held, total)
    priors = [spent.prior if prior is None else prior for spent in releases]
    concentrated = added([beside[0] ** 2 / 2, *(part["zcdp"] for part in parts)])
    least = [spent.least for spent in releases if spent.least is not None]
    least += [min(Fraction(p) for p in known.probabilities.tolist() if p > 0)
              for known in dict.fromkeys(priors) if known is not None]  # fmt: skip
    whole = _with_aggregates(whole, concentrated, aggregates, min(least, default=Fraction(0)))
    return whole | (_approximate(releases) if math.isinf(whole["ldp"]) else {})


def _held(
    groups: Sequence["_Group"], bounds: Sequence[Fraction | float | None], prior: Prior | None
) -> list[Fraction | float]:
    """Return, for each list of columns, the bound of whoever holds the prior, or of all who hold one of its releases'.

    Nobody holds two priors of one secret: where the prior that is asked about is one over the values of a group, it is
    the holder of that one; else the largest bound is that of each of them.
    """
    found: list[Fraction | float] = []
    for columns in dict.fromkeys(group.first.columns for group in groups):
        alike = [(group, bound) for group, bound in zip(groups, bounds, strict=True)
                 if bound is not None and group.first.columns == columns]  # fmt: skip
        asked = [bound for group, bound in alike if prior is not None and group.fits(prior)]
        if alike:
            found.append(min(asked) if asked else max(bound for _, bound in alike))
    return found


def summed_zcdp(releases: Sequence[Spent]) -> Fraction | float:
    """Return the zCDP of several releases, which adds up; epsilon-ldp has epsilon^2 / 2.

    >>> summed_zcdp([Spent((), None, None, 0.0, 0.5, math.inf), Spent((), None, None, 0.0, math.inf, 0.5)])
    Fraction(5, 8)
    """
    parts = [
        _total(group, None)["zcdp"] for group in _groups([spent for spent in releases if spent.channel is not None])
    ]
    known = [min(spent.rho, added([spent.loss]) ** 2 / 2) for spent in releases if spent.channel is None]
    return added([added(spent.beside for spent in releases) ** 2 / 2, *parts, *known])


def _approximate(releases: Sequence[Spent]) -> dict[str, Fraction | float]:
    """Return {"adp": epsilon, "delta": delta} that hold for all releases together, where one has no bound everywhere.

    Beside deltas that were asked for, what is concentrated alone takes as much again, or one in a million.
    """
    delta = added(spent.adp[1] for spent in releases if spent.adp is not None)
    delta += (delta or MILLIONTH) if _concentrated(releases) else 0
    epsilon = approximately_together(releases, delta) if 0 < delta < 1 else math.inf
    return {"adp": epsilon, "delta": delta} if math.isfinite(epsilon) else {}


def approximately_together(releases: Sequence[Spent], delta: Fraction | float) -> Fraction | float:
    """Return an epsilon that holds for all releases together at `delta`: epsilons add up, and so do deltas.

    Noise that is only concentrated adds up in zCDP, and has an epsilon at the delta that the others leave.

    >>> rare = Spent(("x",), None, None, loss=math.inf, rho=1.0, adp=(1.0, 1e-6))
    >>> float(approximately_together([rare, rare], 2e-6)), approximately_together([rare, rare], 1e-6)
    (2.0, inf)
    >>> gauss = Spent(("x",), None, None, loss=math.inf, rho=0.1)
    >>> round(float(approximately_together([rare, gauss], 2e-6)), 2)  # 1, and 2.14 at 1e-6
    3.14
    """
    concentrated = _concentrated(releases)
    pure = [spent for spent in releases if spent.adp is None and spent not in concentrated]
    approximate = [spent.adp for spent in releases if spent.adp is not None]
    left = Fraction(delta) - Fraction(added(missed for _, missed in approximate))
    if left < 0:
        return math.inf
    return added([
        exactly_together(pure, None)["ldp"] if pure else 0, *(epsilon for epsilon, _ in approximate),
        at(added(spent.rho for spent in concentrated), left) if concentrated else 0,
    ])  # fmt: skip


def _concentrated(releases: Sequence[Spent]) -> list[Spent]:
    """Return statistics without a bound at every outcome, nor one at a delta: what they have is zCDP."""
    return [spent for spent in releases if spent.channel is None and spent.loss == math.inf and spent.adp is None]


def at(rho: Fraction | float, delta: Fraction) -> float:
    """Return an epsilon of noise with a zCDP at a delta, which is rounded down.

    >>> round(float(at(Fraction(1, 10), Fraction(1, 10**6))), 2), at(math.inf, Fraction(1, 2))
    (2.14, inf)
    """
    if not delta > 0 or rho == math.inf:
        return math.inf
    enough = float(delta) if Fraction(float(delta)) <= delta else math.nextafter(float(delta), 0.0)
    return compose(ZcdpRelease(exact.double_above(rho))).epsilon(enough).upper if enough else math.inf


def _with_aggregates(
    whole: dict[str, Fraction | float],
    concentrated: Fraction | float,
    aggregates: Sequence[Spent],
    least: Fraction,
) -> dict[str, Fraction | float]:
    """Return the total with what follows from it for a secret whose values have at least a known probability.

    ldp of everything together is pml and pmc of such a secret; the least probability is that of all secrets of which
    something is known, since the total is about each of them. Without a bound at every outcome, zCDP adds up, of which
    epsilon-ldp spends epsilon^2 / 2; `concentrated` is that of the releases with a channel.
    """
    if not aggregates:
        return whole
    if 0 < least <= Fraction(1, 2):
        whole |= _following(whole, least)
    if math.isinf(whole["ldp"]):
        whole["zcdp"] = added([*(spent.rho for spent in aggregates), concentrated])
    return whole


def _following(whole: Mapping[str, Fraction | float], least: Fraction) -> dict[str, Fraction | float]:
    """Return pml and pmc as ldp and the least probability of a value bound them, where that is less."""
    follows: dict[str, Fraction | float] = {}
    for kind, bound in (("pml", pml_of_ldp), ("pmc", pmc_of_ldp)):
        if kind == "pml" or math.isfinite(whole["ldp"]):
            follows[kind] = exact.round_up(bound(exact.ball(whole["ldp"]), exact.arb(least)))
    return {kind: min(value, whole.get(kind, math.inf)) for kind, value in follows.items()}


def _prior_for(spent: Spent, prior: Prior | None) -> Prior | None:
    assert spent.channel is not None
    known = prior if prior is not None else spent.prior
    if known is None or not same_letters(known.secrets, spent.channel.secrets):
        known = spent.prior
    return None if known is None else known.aligned(spent.channel.secrets)


@dataclass(frozen=True, eq=False)
class Directions:
    """The outcomes of a channel, a row of entries each, without their common factors: what posteriors rest on.

    Every row is there once, in order, so that equal channels are equal.
    """

    outcomes: np.ndarray

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(np.ascontiguousarray(self.outcomes).data, digest_size=32).digest()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Directions) and np.array_equal(self.outcomes, other.outcomes)


@dataclass
class _Group:
    """Releases of the same columns over the same secrets: how many of them are equal, and the first prior of one."""

    first: Spent
    prior: Prior | None
    counts: dict[Directions, int]

    def fits(self, prior: Prior) -> bool:
        """Say whether a prior is one over the secrets of the group."""
        return self.first.channel is not None and same_letters(prior.secrets, self.first.channel.secrets)


def _total(group: _Group, prior: Prior | None) -> dict[str, Fraction | float]:
    """Return what the releases of a group guarantee together: {"ldp", "zcdp", and with a prior "pml" and "pmc"}.

    One block is the product of as many releases as fit (`MOST_CELLS`, `MOST_DIGITS`), counted before anything is
    multiplied. Beside it stand the others: i(x; y, z) <= i(x; y) + ldp, and what follows from ldp for the prior.
    """
    assert group.first.channel is not None
    known = _prior_for(replace(group.first, prior=group.prior), prior)
    alone = {one: _exact(_guarantees(((one, 1),), known)) for one in group.counts}
    taken = _fitting(group.counts, len(group.first.channel.secrets))
    parts: list[dict[str, Fraction | float]] = []
    if sum(taken.values()) > 1:
        parts.append(_exact(_guarantees(tuple(taken.items()), known)))
    else:
        taken = {}
    for one, many in group.counts.items():
        if left := many - taken.get(one, 0):
            others = added([alone[one]["ldp"]] * (left > 1)) * (left - 1)
            parts.append({kind: value + others for kind, value in alone[one].items()})
    total = added(part["ldp"] for part in parts)
    whole = {"ldp": total}
    if known is not None:
        for kind in ("pml", "pmc"):
            beside = ([other["ldp"] for other in parts if other is not part] for part in parts)
            whole[kind] = min(added([part[kind], *others]) for part, others in zip(parts, beside, strict=True))
        if len(parts) > 1:
            whole |= _following(whole, min(Fraction(p) for p in known.probabilities.tolist() if p > 0))
    whole["zcdp"] = added(added([part["ldp"]]) ** 2 / 2 * group.counts[one] for one, part in alone.items())
    return whole


def _exact(found: dict[str, float]) -> dict[str, Fraction | float]:
    return {kind: added([value]) for kind, value in found.items()}


def _groups(releases: Sequence[Spent]) -> list[_Group]:
    """Return releases by table, columns and secrets; the first prior that one of a group has is that of the group."""
    groups: list[_Group] = []
    places: dict[Any, tuple[_Group, Directions]] = {}
    for _, alike in groupby(releases, key=id):  # the ledger gives equal releases as one object, many times
        spent, *others = alike
        channel = spent.channel
        assert channel is not None
        key = spent.table, spent.columns, channel.secrets, channel.weights.shape, channel.weights.tobytes()
        if key not in places:
            group = next((one for one in groups if _alike(one.first, spent)), None)
            if group is None:
                group = _Group(spent, spent.prior, {})
                groups.append(group)
            assert group.first.channel is not None
            order = alignment(group.first.channel.secrets, channel.secrets, "mechanism", "an earlier one")
            places[key] = group, _directions(channel.weights if order is None else channel.weights[order])
        group, outcomes = places[key]
        group.counts[outcomes] = group.counts.get(outcomes, 0) + 1 + len(others)
        if group.prior is None:
            group.prior = spent.prior
    return groups


def _alike(first: Spent, second: Spent) -> bool:
    assert first.channel is not None
    assert second.channel is not None
    alike = (first.table, first.columns) == (second.table, second.columns)
    return alike and same_letters(first.channel.secrets, second.channel.secrets)


def _directions(weights: np.ndarray) -> Directions:
    """Return the columns of a channel without their common factors, each once and sorted: equal channels are equal."""
    some = weights[:, (weights != 0).any(axis=0)]
    primitive = np.ascontiguousarray((some // np.gcd.reduce(some, axis=0)).T, dtype=_ORDERED)
    rows = sorted({row.tobytes() for row in primitive})
    return Directions(np.frombuffer(b"".join(rows), dtype=_ORDERED).reshape(len(rows), -1).astype(np.int64))


_ORDERED = ">i8"
"""Whole numbers whose bytes, where none is negative, have the order of the numbers."""


def _fitting(counts: Mapping[Directions, int], secrets: int) -> dict[Directions, int]:
    """Return how many of each channel can be multiplied, the first ones first, within the limits.

    n equal channels with M outcomes have C(n + M - 1, M - 1) outcomes together that differ by more than their order.
    """
    taken: dict[Directions, int] = {}
    cells, digits = secrets, 0
    for one, many in counts.items():
        size = int(one.outcomes.max()).bit_length()

        def fits(
            n: int, own: int = len(one.outcomes), size: int = size, cells: int = cells, digits: int = digits
        ) -> bool:
            entries = cells * math.comb(n + own - 1, n)
            return entries <= MOST_CELLS and entries * (digits + n * size) <= MOST_DIGITS

        n = bisect_right(range(1, many + 1), 0, key=lambda n: 0 if fits(n) else 1)
        if n:
            taken[one] = n
            cells, digits = cells * math.comb(n + len(one.outcomes) - 1, n), digits + n * size
    return taken


@lru_cache(maxsize=256)
def _guarantees(counts: tuple[tuple[Directions, int], ...], prior: Prior | None) -> dict[str, float]:
    """Return what the product of channels guarantees, each as often as it is counted."""
    (first, once), *others = counts
    if once == 1 and not others:
        return promises(first.outcomes.T, prior)
    columns: set[tuple[int, ...]] = set()
    for i, (directions, many) in enumerate(counts):
        powers = _powers(directions, many)
        columns = {_primitive(map(mul, a, b)) for a in columns for b in powers} if i else powers
    return promises(np.array(sorted(columns), dtype=object).T, prior)


def _powers(directions: Directions, many: int) -> set[tuple[int, ...]]:
    """Return the directions of `many` draws from one channel: products of powers of its outcomes."""
    columns = list(map(tuple, directions.outcomes.tolist()))
    if many == 1:
        return set(columns)
    found: set[tuple[int, ...]] = set()
    tables = [[tuple(1 for _ in columns[0])] for _ in columns]
    for table, column in zip(tables, columns, strict=True):
        for _ in range(many):
            table.append(tuple(map(mul, table[-1], column)))
    last = many + len(columns) - 1
    for bars in combinations(range(last), len(columns) - 1):
        ends = (-1, *bars, last)
        times = [after - before - 1 for before, after in pairwise(ends)]
        column = reduce(lambda a, b: tuple(map(mul, a, b)), (t[n] for t, n in zip(tables, times, strict=True) if n))
        found.add(_primitive(column))
    return found


def _primitive(column: Iterable[int]) -> tuple[int, ...]:
    whole = tuple(column)
    common = math.gcd(*whole)
    return tuple(w // common for w in whole) if common > 1 else whole
