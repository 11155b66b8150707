"""What a list of releases adds up to: two-sided bounds on delta(epsilon) and epsilon(delta) of their composition."""

import itertools
import math
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from divulge.dp.accounting.directions import (
    Direction,
    directions_of,
    for_group,
    highest_sum,
    infinite_mass,
    name_of,
    promises_of,
    raised,
    reaches,
    unknown_mass,
)
from divulge.dp.accounting.sampling import relation
from divulge.dp.accounting.screening import Screen
from divulge.dp.accounting.summing.engines import Engine, engine
from divulge.dp.accounting.summing.grids import COARSE_CELLS, MOST_CELLS
from divulge.dp.accounting.summing.merging import Part, merged
from divulge.dp.accounting.summing.sums import log_deltas
from divulge.dp.knowledge import Known, weakest
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.numbers import Bracket, order
from divulge.dp.loss.orders import Curve, between, per_order
from divulge.dp.loss.promised import dominating
from divulge.dp.subjects import ReleaseLike, SubjectLike, counted
from divulge.dp.variants.tradeoff import TradeOff, mu_at, mu_bounds, trade_off
from divulge.errors import DivulgeError
from divulge.model.entries import scalar, whole_number
from divulge.model.shown import Shown
from divulge.roots import crossing
from divulge.ties import first_largest
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWS = 10**15
"""Releases that are counted together; sums of more lose their whole numbers in doubles."""

MOST_LOSS = 1e9
"""A largest (or mean) loss beyond this is not composed; of Gaussian losses, which have a closed form, its square."""

_PROMISED = 1e-5
"""Width that is aimed at where a pair stands for a promised Renyi curve, to about which it does."""

_CURVE = 512
"""Points of a trade-off curve, which follows from delta at as many epsilons."""

MOST_CURVED = 300
"""Pairs of neighbors, each in its order, of which a curve is taken: each is summed, in a fifth of a second at worst."""

_COARSER = (1e4, 1e2)
_FINE, _SHARE = 1e-5, 1e-3
"""Above this tolerance a crossing is looked for to this share of it: its sums are bounds, and coarse. A trade-off curve
is no finer either: between its points lies more."""

_FEW = 8
"""Pairs of neighbors up to which bounds by Renyi divergences are not asked: they leave few of many."""

_FINER = 0.25
"""The factor on the tolerance where a bracket is too wide: a grid of so much finer cells takes four times as long."""
_ATTEMPTS = 4
"""Grids that are tried at most: the last is 64 times as fine as the first, and most sums need one or two."""
_WORTH = 0.7
"""Two finer grids, one after the other, that leave more than this share of the bracket are the last ones tried."""


ROUNDED = 1.001
"""Times the tolerance: a bracket up to so wide is as narrow as was asked, but for rounding."""


@dataclass(frozen=True, repr=False)
class WideBracket(Bracket):
    """A bracket on epsilon that is wider than was asked for, and says so where it is shown."""

    tolerance: float

    def __repr__(self) -> str:
        wide, asked = self.upper - self.lower, self.tolerance
        ends = f"Bracket(lower={self.lower!r}, upper={self.upper!r})"
        return f"{ends}, {wide:.2g} wide where {asked:.2g} was asked for: rely on its upper end"


@dataclass(frozen=True, eq=False)
class Composition(Shown):
    """Several releases about the same data, made independently or adaptively: what they add up to.

    Every answer is the worst over the ordered pairs of neighbors. `delta` and `epsilon` are brackets that hold in spite
    of discretization, truncation and rounding; they are as narrow as rounding allows for Gaussian mechanisms and for
    mechanisms with finitely many losses, and about `tolerance` wide in epsilon otherwise. A bracket may stay wider
    where the finest grid does not tell more, as of a million samples at a rate of 1e-4: its ends say how wide. Of
    promises the lower end says only what is known.

    Attributes
    ----------
    releases : tuple of (mechanism, loss, channel or promise, count)
    directions : the ordered pairs of neighbors with the losses of every release
    tolerance : width of the bracket on epsilon that is aimed at, in nats

    Examples
    --------
    >>> found = dv.compose((dv.dp.LaplaceMechanism(scale=2.0), 10))
    >>> found.pure_epsilon, found.epsilon(0.0)  # ten times 1/2
    (5.0, Bracket(lower=5.0, upper=5.0))
    """

    releases: tuple[tuple[SubjectLike, int], ...]
    directions: tuple[Direction, ...]
    tolerance: float = 1e-6

    @cached_property
    def _engines(self) -> dict[int, dict[float, Engine]]:
        return {}

    @cached_property
    def known(self) -> Known:
        """What is known of all releases together: as little as of the least known."""
        return weakest(loss.known for loss, _ in self._losses)

    @property
    def _losses(self) -> Iterator[Part]:
        """The losses of all directions, with how often each counts."""
        return itertools.chain.from_iterable(turn.parts for turn in self.directions)

    @cached_property
    def _attained(self) -> "Composition":
        """The composition of data sets that there are: a promise may be kept by a release that says nothing."""
        losses = [(loss, loss.attained) for loss, _ in self._losses]
        if all(one is other for one, other in losses):
            return self
        there = tuple(
            replace(turn, parts=tuple(merged([(loss.attained, n) for loss, n in turn.parts if loss.attained])))
            for turn in self.directions
        )
        return replace(self, directions=there)

    def _engine(self, index: int, tolerance: float) -> Engine:
        made = self._engines.setdefault(index, {})
        if tolerance not in made:
            known = next(iter(made.values()), None)
            most = COARSE_CELLS if tolerance > max(self.tolerance * _COARSER[-1], _PROMISED) else MOST_CELLS
            made[tolerance] = (known or engine(self.directions[index].parts, tolerance)).roughly(tolerance, most)
        return made[tolerance]

    def delta(self, epsilon: float, unit: Unit = "nats") -> Bracket:
        """Return a bracket on the least delta with which the composition is (epsilon, delta)-differentially private.

        Parameters
        ----------
        epsilon : float, in `unit`
            Below 0, delta(epsilon) = 1 - e^epsilon + e^epsilon delta(-epsilon), for both orders of a pair are examined.

        Returns
        -------
        Bracket
            Bounds in [0, 1]; values below the smallest double are bounded by 0 and 5e-324.

        Examples
        --------
        >>> found = dv.compose((dv.dp.GaussianMechanism(10.0), 100)).delta(1.0)  # one Gaussian mechanism with mu = 1
        >>> found.lower <= 0.12693673750664397 <= found.upper
        True
        """
        epsilon = scalar(epsilon, "epsilon") * nats_per(unit)
        if epsilon < 0:
            back, shrink = self.delta(-epsilon), math.exp(epsilon)
            ends = (-math.expm1(epsilon) + shrink * end for end in (back.lower, back.upper))
            lower, upper = (end * (1 + sign * 1e-15) for sign, end in zip((-1, 1), ends, strict=True))
            return Bracket(max(0.0, lower), min(1.0, upper))
        found = self._worst(
            lambda index, tolerance: self._delta(index, epsilon, tolerance), lambda proved: proved.delta(epsilon)
        )[0]
        return found if self._attained is self else raised(self._attained.delta(epsilon).lower, found)

    def epsilon(self, delta: float, unit: Unit = "nats") -> Bracket:
        """Return a bracket on the least epsilon with which the composition is (epsilon, delta)-differentially private.

        Parameters
        ----------
        delta : float in [0, 1]

        Returns
        -------
        Bracket
            Bounds in [0, +inf], in `unit`; +inf when delta is less than the mass of infinite losses. One that is wider
            than `tolerance` says so where it is printed, but for promises, of which nothing is known from below.

        Examples
        --------
        >>> dv.compose((dv.dp.LaplaceMechanism(1.0), 10)).epsilon(0.0)
        Bracket(lower=10.0, upper=10.0)
        """
        found, scale = self._epsilon_and_pair(delta)[0], nats_per(unit)
        ends = found.lower / scale, found.upper / scale
        asked = self.known is Known.PROMISE or not self.tolerance * ROUNDED < found.upper - found.lower < math.inf
        return Bracket(*ends) if asked else WideBracket(*ends, self.tolerance / scale)

    def worst_pair(self, delta: float) -> tuple[Hashable, Hashable]:
        """Return the ordered pair of neighbors with the largest epsilon at `delta`.

        Examples
        --------
        >>> rows = [["1/2", "1/2"], ["1/2", "1/2"], ["1/10", "9/10"]]
        >>> dv.compose((rows, 2)).worst_pair(0.0)
        (0, 2)
        """
        return self.directions[self._epsilon_and_pair(delta)[1]].pair

    def _epsilon_and_pair(self, delta: float) -> tuple[Bracket, int]:
        delta = scalar(delta, "delta")
        if not 0 <= delta <= 1:
            raise DivulgeError.of("delta", "be in [0, 1]", "it", str(delta))
        found, index = self._worst(
            lambda index, tolerance: self._epsilon(index, delta, tolerance), lambda proved: proved.epsilon(delta)
        )
        return found if self._attained is self else raised(self._attained.epsilon(delta).lower, found), index

    def _worst(self, bounds: Callable[[int, float], Bracket], proved: Callable[[Screen], float]) -> tuple[Bracket, int]:
        """Return the largest bracket over the directions and its index: branch and bound, coarse bounds first.

        Of many pairs of rows `proved` bounds each by its Renyi divergences, which takes a hundredth of a sum.
        """
        candidates = list(range(len(self.directions)))
        limits = dict.fromkeys(candidates, math.inf)
        if len(candidates) > _FEW and all(isinstance(loss, AtomicLoss) for loss, _ in self._losses):
            limits = {i: proved(Screen.of(self.directions[i].parts)) for i in candidates}
        known: dict[int, Bracket] = {}
        for factor in _COARSER:
            if len(candidates) > 1:
                floor = 0.0
                for index in sorted(candidates, key=lambda i: -limits[i]):
                    if limits[index] < floor:
                        break
                    found = bounds(index, self.tolerance * factor)
                    known[index] = _of_both(found, known.get(index, found))
                    limits[index] = known[index].upper
                    floor = max(floor, known[index].lower)
                candidates = [index for index in candidates if limits[index] >= floor]
        whole = Bracket(0.0, math.inf)
        found = [_of_both(bounds(index, self.tolerance), known.get(index, whole)) for index in candidates]
        upper = [f.upper for f in found]
        return Bracket(max(f.lower for f in found), max(upper)), candidates[first_largest(upper, absolute=0.0)]

    def _delta(self, index: int, epsilon: float, tolerance: float) -> Bracket:
        parts = self.directions[index].parts
        infinite = infinite_mass(parts)
        promises = promises_of(parts)
        if infinite.lower == 1.0 or epsilon >= highest_sum(parts).upper:
            most = Bracket(infinite.lower, min(1.0, infinite.upper + unknown_mass(parts)))
            return raised(infinite.lower, Bracket(0.0, promises.delta(epsilon))) if promises else most
        low, high = self._engine(index, tolerance).near_epsilon(epsilon)
        lower = math.exp(low.log_delta(epsilon, -1)) * (1 - 1e-14) if epsilon < math.inf else infinite.lower
        upper = math.exp(high.log_delta(epsilon, 1)) * (1 + 1e-14) + 5e-324
        if promises:
            upper = min(upper, promises.delta(epsilon))
        return Bracket(min(max(lower, infinite.lower), upper), min(1.0, upper))

    def _epsilon(self, index: int, delta: float, tolerance: float) -> Bracket:
        parts = self.directions[index].parts
        infinite, largest = infinite_mass(parts), highest_sum(parts)
        if delta == 1 or not parts:
            return Bracket(0.0, 0.0)
        promises = promises_of(parts)
        tolerance = max(tolerance, _PROMISED) if promises else tolerance
        by_renyi = promises.epsilon(delta) if promises else math.inf
        if delta < infinite.lower:
            return Bracket(by_renyi, by_renyi)
        if delta <= infinite.upper:
            lower = largest.lower if infinite.lower == infinite.upper else 0.0
            return Bracket(lower, min(by_renyi, largest.upper if reaches(parts, delta) else math.inf))
        goal, lower, upper, widths = math.log(delta), 0.0, largest.upper, [math.inf, math.inf]
        for _ in range(_ATTEMPTS if tolerance == self.tolerance and not promises else 1):
            asked, enough = self._engine(index, tolerance), tolerance * _SHARE if tolerance > _FINE else 0.0
            (low, high), start, reach = asked.near_delta(goal)
            lower = max(lower, crossing(lambda e, low=low: low.log_delta(e, -1) - goal, start, -1, reach, enough))
            upper = min(upper, crossing(lambda e, high=high: high.log_delta(e, 1) - goal, start, 1, reach, enough))
            widths.append(upper - lower)
            if widths[-1] <= self.tolerance or widths[-1] > _WORTH * widths[-3] or by_renyi <= lower or asked.finest:
                break
            tolerance *= _FINER
        upper = min(upper, by_renyi)
        return Bracket(min(lower, upper), upper)

    def renyi(self, alpha: float, unit: Unit = "nats") -> float:
        """Return the Renyi divergence of order `alpha` >= 1 of the composition: the sum over the releases.

        Examples
        --------
        >>> dv.compose((dv.dp.GaussianMechanism(2.0), 100)).renyi(2.0)  # k alpha / (2 sigma^2)
        25.0
        """
        alpha = order(alpha)
        sums = (math.fsum(n * loss.renyi(alpha) for loss, n in turn.parts) for turn in self.directions)
        return max(sums) / nats_per(unit)

    @cached_property
    def zcdp(self) -> float:
        """An upper bound on the least rho with D_alpha <= rho alpha for every alpha > 1, in nats.

        The least one, to within 1e-6 of it, where every loss is Gaussian or bounded.
        """
        return max(_rho(turn.parts) for turn in self.directions)

    def mean(self, unit: Unit = "nats") -> float:
        """Return the expected privacy loss, KL(P || Q) of the composition: the sum over the releases.

        Examples
        --------
        >>> dv.compose((dv.dp.GaussianMechanism(2.0), 100)).mean()  # k / (2 sigma^2)
        12.5
        """
        return self.renyi(1.0, unit)

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta = 0, in nats: the sum of the largest losses, rounded up; may be +inf."""
        return max(self._epsilon(index, 0.0, self.tolerance).upper for index in range(len(self.directions)))

    @property
    def infinite(self) -> float:
        """The mass of the infinite loss, an upper bound: no delta is below it."""
        return max(infinite_mass(direction.parts).upper for direction in self.directions)

    def roughly(self, tolerance: float) -> "Composition":
        """Return the same composition with another width to aim at.

        Examples
        --------
        >>> dv.compose(dv.dp.LaplaceMechanism(1.0)).roughly(1e-3).tolerance
        0.001
        """
        return replace(self, tolerance=tolerance)

    def then(self, *releases: ReleaseLike) -> "Composition":
        """Return the composition of these releases with more.

        Examples
        --------
        >>> dv.compose(dv.dp.LaplaceMechanism(1.0)).then((dv.dp.LaplaceMechanism(2.0), 2)).pure_epsilon
        2.0
        """
        return compose(*self.releases, *releases, tolerance=self.tolerance)

    def times(self, count: int) -> "Composition":
        """Return the composition of `count` copies of these releases.

        Examples
        --------
        >>> dv.compose(dv.dp.LaplaceMechanism(1.0)).times(10).pure_epsilon
        10.0
        """
        count = whole_number(count, "count")
        return compose(*((subject, count * each) for subject, each in self.releases), tolerance=self.tolerance)

    def group(self, size: int) -> "Composition":
        """Return what the releases add up to for groups of `size` records, all of which may change together.

        Exact for mechanisms with a sensitivity, which is multiplied; a release that is eps-DP (with probability
        1 - delta) counts as one that is (size eps, delta (e^(size eps) - 1) / (e^eps - 1)), which is an upper bound.

        Examples
        --------
        >>> dv.compose(dv.dp.LaplaceMechanism(1.0)).group(3).pure_epsilon
        3.0
        """
        size = whole_number(size, "size")
        scaled = [(for_group(subject, size), count) for subject, count in self.releases]
        return compose(*scaled, tolerance=self.tolerance)

    def trade_off(self) -> TradeOff:
        """Return a convex curve below the trade-off of the two errors of any test.

        Of Gaussian mechanisms in closed form; else that of the pair whose delta is the largest convex one below those
        at 512 epsilons and 0.

        Examples
        --------
        >>> curve = dv.compose((dv.dp.GaussianMechanism(10.0), 100)).trade_off()
        >>> round(curve(0.06680720127), 9)  # N(0, 1) against N(1, 1): Phi(1.5 - 1)
        0.691462461
        """
        self._allow_a_curve()
        losses = tuple(loss for turn in self.directions for loss, n in turn.parts if n == len(turn.parts) == 1)
        if len(losses) == len(self.directions) and all(isinstance(loss, GaussianLoss) for loss in losses):
            return trade_off(losses)
        top = min(max(self.roughly(1e-2).epsilon(1e-9).upper, 1e-9), 700.0)
        epsilons = np.linspace(0.0, top, _CURVE)
        deltas = self.roughly(max(self.tolerance, _FINE)).deltas(epsilons, 1)
        return trade_off(AtomicLoss(**dominating(epsilons[1:], deltas[1:], float(deltas[0]))))

    def deltas(self, epsilons: np.ndarray, side: int) -> np.ndarray:
        """Return bounds on delta at many growing epsilons of at least 0, from two sums of each direction.

        Examples
        --------
        >>> dv.compose((dv.dp.LaplaceMechanism(1.0), 2)).deltas(np.array([0.0, 2.0]), 1).round(6).tolist()[1]
        0.0
        """
        found = np.zeros(len(epsilons))
        for index, turn in enumerate(self.directions):
            infinite, largest, promises = infinite_mass(turn.parts), highest_sum(turn.parts), promises_of(turn.parts)
            inside = (epsilons < largest.upper) & (infinite.lower < 1.0) & bool(turn.parts)
            bounds = np.full(len(epsilons), infinite.upper if side > 0 else infinite.lower)
            if inside.any():
                sums = self._engine(index, self.tolerance)
                ends = {
                    sums.near_epsilon(float(e))[side > 0] for e in epsilons[inside][[0, -1]]
                }  # each holds everywhere
                logs = [log_deltas(total, epsilons[inside], side) for total in ends]
                bounds[inside] = np.exp(np.min(logs, axis=0) if side > 0 else np.max(logs, axis=0)) * (1 + side * 1e-14)
            if promises and side > 0:
                bounds = np.minimum(bounds, [promises.delta(float(e)) for e in epsilons])
            found = np.maximum(found, np.clip(bounds, infinite.lower, 1.0))
        return found

    def _allow_a_curve(self) -> None:
        """Refuse what would be summed for many minutes."""
        if len(self.directions) > MOST_CURVED:
            raise DivulgeError.of(
                "subject", f"have at most {MOST_CURVED} pairs of neighbors for a curve over epsilon", "their number",
                f"{len(self.directions):,}", "take fewer rows, or ask `delta` and `epsilon`, which need few pairs.",
            )  # fmt: skip

    def gaussian_dp(self) -> Bracket:
        """Return bounds on the least mu for which the composition is mu-Gaussian DP.

        The upper one is sqrt(sum of the squares of the parts), exact for Gaussian mechanisms (Dong, Roth, Su,
        arXiv:1905.02383, Theorem 3.2); the lower one is that of delta at some epsilons.

        Examples
        --------
        >>> found = dv.compose((dv.dp.GaussianMechanism(10.0), 400)).gaussian_dp()
        >>> round(found.lower, 6), round(found.upper, 6)
        (2.0, 2.0)
        """
        self._allow_a_curve()
        squares = [
            math.fsum(n * mu_bounds(loss).upper ** 2 for loss, n in turn.parts) * (1 + 1e-14)
            for turn in self.directions
        ]
        upper = math.sqrt(max(squares))
        there = self._attained
        epsilons = np.linspace(0.0, min(there.roughly(1e-2).epsilon(1e-9).upper, 700.0), 24)
        lower = max(map(mu_at, epsilons.tolist(), there.deltas(epsilons, -1).tolist()))
        return Bracket(min(lower, upper), upper)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the bracket on delta(epsilon) over epsilon and return the matplotlib axes (extra: plot).

        Examples
        --------
        >>> dv.compose((dv.dp.GaussianMechanism(10.0), 100)).plot().get_xlabel()
        'epsilon [nats]'
        """
        from divulge.dp.pictures import composed

        return composed(self, ax)

    def __repr__(self) -> str:
        what = ", ".join(f"{count} x {name_of(subject)}" for subject, count in self.releases)
        return f"Composition of {what}"


def _of_both(one: Bracket, other: Bracket) -> Bracket:
    """Return what two brackets on the same number say together: a finer grid may be wider on one side."""
    upper = min(one.upper, other.upper)
    return Bracket(min(max(one.lower, other.lower), upper), upper)


def _rho(parts: tuple[Part, ...]) -> float:
    """Return sup D_alpha / alpha of the bounded losses and what all others add, rate alpha, to each divergence."""
    end = [math.inf if loss.infinite > 0 else loss.highest for loss, _ in parts]
    bounded = tuple(part for part, top in zip(parts, end, strict=True) if top < math.inf)
    others = tuple(part for part, top in zip(parts, end, strict=True) if top == math.inf)
    rate, rest, all_rate = (math.fsum(n * loss.rate for loss, n in some) for some in (bounded, others, parts))
    curve = Curve(
        lambda alpha: math.fsum(n * loss.renyi(alpha) for loss, n in bounded),
        highest_sum(bounded).upper,
        rate,
        lambda alpha: math.fsum(n * loss.curvature(alpha) for loss, n in bounded),
        max((loss.highest - loss.lowest for loss, _ in bounded), default=0.0),
    )
    return min(all_rate, between(curve, per_order(0.0)).upper + rest)


def compose(*releases: ReleaseLike, tolerance: float = 1e-6) -> Composition:
    """Return the composition of releases about the same data: brackets on delta(epsilon) and epsilon(delta).

    What adds up is what releases tell of one record or value. Others that are correlated with it are not covered:
    epsilon for one is n epsilon for n copies of it. Nor do levels under a prior add up: X xor Z and Z say nothing of X
    each, and together all. `Chain` and `Network` compute what correlated outputs say.

    Parameters
    ----------
    releases : each a mechanism, privacy loss, channel or promise, or a pair (release, count)
        Mechanisms such as `GaussianMechanism(10.0)`, sampled ones, `AdpRelease` and `ZcdpRelease` go by their
        dominating pairs, in both orders of the neighbors. Channels are local mechanisms about one and the same secret:
        every ordered pair of secrets is examined.
    tolerance : float
        The width of the bracket on epsilon that is aimed at, in nats, where there is no exact way. Finer grids are
        tried while they help; upper - lower is the width that was reached.

    Returns
    -------
    Composition
        `delta`, `epsilon`, `renyi`, `zcdp`, `pure_epsilon` of all releases together.

    Raises
    ------
    DivulgeError
        No releases, a count that is not a whole number of at least 1, channels over different secrets.

    References
    ----------
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots: Tighter Discrete Approximations of Privacy Loss
    Distributions", arXiv:2207.04380 (the grid); Zhu, Dong, Wang, arXiv:2106.08567 (dominating pairs).

    Examples
    --------
    >>> compose((dv.dp.GaussianMechanism(10.0), 1000)).epsilon(1e-6).upper.__round__(7)
    19.4236565
    >>> compose((dv.dp.RandomizedResponse(0.1), 1000)).epsilon(1e-6).upper.__round__(7)
    19.3446714
    """
    counts = tuple(counted(release) for release in releases)
    if not counts:
        raise DivulgeError.of("releases", "name at least one release", "it", "empty")
    if (most := max(count for _, count in counts)) > MOST_DRAWS:
        raise DivulgeError.of("count", f"be at most {MOST_DRAWS:g}", "it", f"{min(most, 10**300):g}")
    if not 0 < tolerance <= sys.float_info.max:
        raise DivulgeError.of("tolerance", "be positive and finite", "it", str(tolerance))
    if {"removed", "replaced"} <= {relation(subject) for subject, _ in counts}:
        hint = (
            "neighbors differ in a record added or removed for a Poisson sample (but for neighbors='replaced'), in one "
            "replaced for a fixed size and for shuffled reports."
        )
        raise DivulgeError.of("releases", "be sampled in one way", "one", "of the other kind", hint)
    directions = directions_of(counts)
    for loss, _ in itertools.chain.from_iterable(turn.parts for turn in directions):
        largest = loss.highest if loss.highest < math.inf else loss.mean() if loss.infinite == 0 else 0.0
        if not largest <= (MOST_LOSS**2 if isinstance(loss, GaussianLoss) else MOST_LOSS):
            hint = "such a release tells everything: nothing that is added up with it matters."
            raise DivulgeError.of("releases", f"have losses up to {MOST_LOSS:g} nats", "one", f"{largest:.3g}", hint)
    return Composition(counts, directions, tolerance)
