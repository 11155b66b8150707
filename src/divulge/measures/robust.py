"""Leakage when the prior is only known to lie in a set: the worst prior of the set, named.

The set answers one question, a linear program over it: what is the least (or largest) mean of a function of the secret?
With the least q_y the largest information density follows, with the largest q_y the smallest.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.errors import DivulgeError
from divulge.measures.numeric.columns import extremes
from divulge.measures.pointwise.density import DensityBounds, log_ratio
from divulge.model import labels as _labels
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_prior
from divulge.model.entries import entries, normalized, open_share
from divulge.model.labels import Labels
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import Shown, promised
from divulge.programs import cheapest, refined
from divulge.ties import LAST_BITS, first_largest, first_smallest
from divulge.units import Unit

_ROUNDED = 1e-12
"""What rounding leaves of a probability that is 0: programs in doubles are refined to about as much."""


@dataclass(frozen=True, eq=False, repr=False)
class Robust(Record, Shown):
    """One value per outcome, the worst over a set of priors, with the prior and the secret that make it so.

    Where the value is approached, not reached, because the worst prior rules the secret out, it is the supremum.

    Examples
    --------
    >>> worst = LowerBounded(2, "1/4").pml([["3/4", "1/4"], ["1/4", "3/4"]], unit="bits")
    >>> worst.to_dict(), worst.secrets
    ({0: 1.0, 1: 1.0}, (0, 1))
    >>> worst.prior.probabilities.tolist()  # of outcome 0, which P(1) = 3/4 makes least likely
    [Fraction(1, 4), Fraction(3, 4)]
    """

    name: str
    values: np.ndarray
    outcomes: Labels
    secrets: tuple[Hashable, ...]
    priors: tuple[Prior, ...]
    unit: str

    def max(self) -> float:
        """Return the largest value over outcomes and priors.

        Examples
        --------
        >>> round(dv.measures.LowerBounded(2, "1/4").pml([["3/4", "1/4"], ["1/4", "3/4"]]).max(), 9)  # log 2
        0.693147181
        """
        return float(self.values.max())

    def argmax(self) -> Hashable:
        """Return the outcome with the largest value, the first of those that tie up to rounding.

        Examples
        --------
        >>> dv.measures.LowerBounded(2, "1/4").pml([["3/4", "1/4"], ["1/2", "1/2"]]).argmax()
        1
        """
        return self.outcomes[first_largest(self.values)]

    @property
    def prior(self) -> Prior:
        """The worst prior, for the worst outcome."""
        return self.priors[first_largest(self.values)]

    def to_dict(self) -> dict[Hashable, float]:
        """Return {outcome: value}.

        Examples
        --------
        >>> found = dv.measures.LowerBounded(2, "1/4").pml([["3/4", "1/4"], ["1/4", "3/4"]]).to_dict()
        >>> {outcome: round(value, 6) for outcome, value in found.items()}
        {0: 0.693147, 1: 0.693147}
        """
        return dict(zip(self.outcomes, self.values.tolist(), strict=True))

    def __repr__(self) -> str:
        worst = dict(zip(self.prior.secrets, self.prior.floats.round(6).tolist(), strict=True))
        return f"{self.name} [{self.unit}]: max {promised(self.max())} at outcome {self.argmax()!r} under prior {worst}"


class PriorSet(Record, ABC):
    """A set of priors over `secrets`, which answers linear programs.

    Its measures ask one for each outcome: where these take longer than `time_limit` seconds, they refuse.
    """

    secrets: Labels

    @abstractmethod
    def least(self, values: np.ndarray) -> np.ndarray:
        """Return a prior of the set, shape (N,), with the least mean of `values`."""

    def possible(self) -> np.ndarray:
        """Return which secrets some prior of the set allows, boolean of shape (N,)."""
        return _allowed(self, 0.0, math.inf)

    def pml(self, channel: ChannelLike, unit: Unit = "nats", *, time_limit: float | None = None) -> Robust:
        """Return sup over the set of max_x log C_xy / q_y for each outcome, in nats, in [0, +inf].

        Examples
        --------
        >>> coin = [["3/4", "1/4"], ["1/4", "3/4"]]
        >>> round(dv.measures.L1Ball(["1/2", "1/2"], "1/4").pml(coin).max(), 9)  # log (3/4) / (7/16), at (3/8, 5/8)
        0.538996501
        """
        return _worst("pml", self, channel, unit, clock.deadline(time_limit), leaking=True)

    def pmc(self, channel: ChannelLike, unit: Unit = "nats", *, time_limit: float | None = None) -> Robust:
        """Return sup over the set of max_x log q_y / C_xy for each outcome, in nats, in [0, +inf].

        Examples
        --------
        >>> coin = [["3/4", "1/4"], ["1/4", "3/4"]]
        >>> round(dv.measures.L1Ball(["1/2", "1/2"], "1/4").pmc(coin).max(), 9)  # log (9/16) / (1/4), at (5/8, 3/8)
        0.810930216
        """
        return _worst("pmc", self, channel, unit, clock.deadline(time_limit), leaking=False)

    def lift(self, channel: ChannelLike, *, time_limit: float | None = None) -> float | Fraction:
        """Return sup over the set of the lift, a ratio in [1, +inf]; a Fraction for an exact set and channel.

        Examples
        --------
        >>> dv.measures.L1Ball(["1/2", "1/2"], "1/4").lift([["3/4", "1/4"], ["1/4", "3/4"]])  # (3/4) / (7/16)
        Fraction(12, 7)
        """
        worst = _extremes(self, channel, clock.deadline(time_limit), leaking=True)
        return math.inf if (worst.below == 0).any() else exact.as_number((worst.above / worst.below).max())

    def alip(self, channel: ChannelLike, unit: Unit = "nats", *, time_limit: float | None = None) -> DensityBounds:
        """Return the least (lower, upper) with -lower <= i(x; y) <= upper under every prior of the set.

        Examples
        --------
        >>> found = dv.measures.L1Ball(["1/2", "1/2"], "1/4").alip([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> round(found.lower, 6), round(found.upper, 6)  # log 9/4, log 12/7
        (0.81093, 0.538997)
        """
        until = clock.deadline(time_limit)
        falls, rises = (_worst("", self, channel, unit, until, leaking=leaking).max() for leaking in (False, True))
        return DensityBounds(falls, rises)

    def lip(self, channel: ChannelLike, unit: Unit = "nats", *, time_limit: float | None = None) -> float:
        """Return sup over the set of max |i(x; y)|.

        Examples
        --------
        >>> round(dv.measures.L1Ball(["1/2", "1/2"], "1/4").lip([["3/4", "1/4"], ["1/4", "3/4"]]), 6)  # log 9/4
        0.81093
        """
        both = self.alip(channel, unit, time_limit=time_limit)
        return max(both.lower, both.upper)


@dataclass(frozen=True, eq=False)
class _Extremes:
    """For each outcome that can occur the ratio above / below of the worst prior, and above - below, shape (M,)."""

    channel: Channel
    columns: list[int]
    above: np.ndarray
    below: np.ndarray
    difference: np.ndarray
    at: np.ndarray
    priors: list[np.ndarray]


def _extremes(priors: PriorSet, channel: Any, until: float, *, leaking: bool) -> _Extremes:
    """Return max_x C_xy / least q_y for each y, or largest q_y / min_x C_xy; differences keep their digits.

    Raises OutOfTime.
    """
    channel = _matched(priors, channel)
    ends = extremes(channel.matrix, np.flatnonzero(_able(priors, until)))
    columns = np.flatnonzero(ends.top > 0).tolist()
    found: list[np.ndarray] = []
    means: list[Any] = []
    gaps: list[Any] = []
    for j in columns:
        _in_time(until)
        values = channel.column(channel.outcomes[j])
        prior = priors.least(values if leaking else -values)
        gap = ends.top[j] - values if leaking else values - ends.bottom[j]
        if not (channel.exact and exact.is_exact(prior)):
            values, gap = exact.as_floats(values), exact.as_floats(gap)
        weights = prior if exact.is_exact(values) else exact.as_floats(prior)
        found.append(prior)
        means.append(weights @ values)
        gaps.append(max(weights @ gap, 0))
    q, end = np.array(means), (ends.top if leaking else ends.bottom)[columns]
    if not exact.is_exact(q, end):
        q, end = exact.as_floats(q), exact.as_floats(end)
    above, below = (end, q) if leaking else (q, end)
    at = (ends.top_at if leaking else ends.bottom_at)[columns]
    return _Extremes(channel, columns, above, below, np.array(gaps), at, found)


def _able(priors: PriorSet, until: float) -> np.ndarray:
    """Return `priors.possible()`; where that asks a program for each secret, by a deadline."""
    if isinstance(priors, Polytope):
        return _allowed(priors, 0.0 if exact.is_exact(priors.matrix) else _ROUNDED, until)
    return _allowed(priors, 0.0, until) if type(priors).possible is PriorSet.possible else priors.possible()


def _allowed(priors: PriorSet, least: float, until: float) -> np.ndarray:
    """Return which secrets have more than `least` under some prior; what one prior shows is not asked again."""
    known = np.zeros(len(priors.secrets), dtype=bool)
    for x, row in enumerate(np.eye(len(known))):
        if not known[x]:
            _in_time(until)
            known |= (priors.least(-row) > least).astype(bool)
    return known


def _in_time(until: float) -> None:
    clock.in_time(until, "for the worst prior of every outcome", "allow it longer, or merge outcomes.")


def _worst(name: str, priors: PriorSet, channel: Any, unit: Unit, until: float, *, leaking: bool) -> Robust:
    worst = _extremes(priors, channel, until, leaking=leaking)
    secrets, outcomes = worst.channel.secrets, worst.channel.outcomes
    return Robust(
        name,
        log_ratio(worst.above, worst.below, unit, worst.difference),
        tuple(outcomes[j] for j in worst.columns),
        tuple(secrets[i] for i in worst.at.tolist()),
        tuple(Prior(p, secrets) for p in worst.priors),
        unit,
    )


def _matched(priors: PriorSet, channel: Any) -> Channel:
    """Return the channel with its rows in the order of the set's secrets."""
    return as_channel(channel).aligned(priors.secrets, "channel", "the set of priors")


@dataclass(frozen=True, eq=False)
class LowerBounded(PriorSet):
    """All priors with P_x >= `least_probability` for every secret, 0 <= least_probability <= 1/N.

    Examples
    --------
    >>> round(LowerBounded(2, "1/4").pml([["3/4", "1/4"], ["1/4", "3/4"]]).max(), 9)  # log 2
    0.693147181
    """

    secrets: Any
    least_probability: Any

    def __post_init__(self) -> None:
        letters = _alphabet(self.secrets)
        bound = entries([self.least_probability], "least_probability", 1, lambda _: "it").tolist()[0]
        if not bound * len(letters) <= 1:
            raise DivulgeError.of("least_probability", f"be at most 1/N = 1/{len(letters)}", "it", str(bound))
        object.__setattr__(self, "secrets", letters)
        object.__setattr__(self, "least_probability", bound)

    def possible(self) -> np.ndarray:
        """Return that every secret is possible.

        Examples
        --------
        >>> LowerBounded(3, 0.1).possible().tolist()
        [True, True, True]
        """
        return np.ones(len(self.secrets), dtype=bool)

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return the bound everywhere and what is left on the smallest value.

        Examples
        --------
        >>> LowerBounded(3, 0.1).least(np.array([3.0, 1.0, 2.0])).round(9).tolist()
        [0.1, 0.8, 0.1]
        """
        n, c = len(self.secrets), self.least_probability
        prior = np.full(n, c, dtype=float if isinstance(c, float) else object)
        lowest = first_smallest(values, relative=LAST_BITS, absolute=0.0)
        prior[lowest] = type(c)(max(Fraction(c), 1 - (n - 1) * Fraction(c)))
        return prior


@dataclass(frozen=True, eq=False)
class L1Ball(PriorSet):
    """All priors within l1 distance `radius` of `center`: at most radius/2 of probability moves.

    Examples
    --------
    >>> ball = L1Ball(["1/2", "1/2"], "1/2")
    >>> ball.pml([["3/4", "1/4"], ["1/4", "3/4"]]).prior.probabilities.tolist()
    [Fraction(1, 4), Fraction(3, 4)]
    """

    center: Any
    radius: Any
    secrets: Labels = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", as_prior(self.center))
        object.__setattr__(self, "secrets", self.center.secrets)
        object.__setattr__(self, "radius", entries([self.radius], "radius", 1, lambda _: "it").tolist()[0])

    @classmethod
    def from_samples(cls, counts: Mapping[Hashable, int] | Sequence[int], confidence: float = 0.95) -> "L1Ball":
        r"""Return the ball around the frequencies of `counts` that holds the true prior with probability `confidence`.

        With m samples of N secrets and delta = 1 - confidence, its radius is the smaller of two bounds that each hold
        with that probability: sqrt(2 log((2^N - 2) / delta) / m), and sqrt((N - 1) / m) + sqrt(2 log(1 / delta) / m),
        which is tighter from about N = 150 on. `counts` must have an entry, maybe 0, for every secret there is.

        References
        ----------
        Weissman, Ordentlich, Seroussi, Verdu, Weinberger, "Inequalities for the L1 deviation of the empirical
        distribution", 2003. The second bound is the mean of the deviation and McDiarmid's inequality.

        Examples
        --------
        >>> round(L1Ball.from_samples({"yes": 500, "no": 500}).radius, 4)
        0.0859
        """
        center = Prior.from_counts(counts)
        numbers = entries(list(counts.values() if isinstance(counts, Mapping) else counts), "counts", 1, lambda _: "it")
        confidence = open_share(confidence, "confidence")
        m, n, delta = float(sum(numbers.tolist())), len(center), 1 - confidence
        if n == 1:
            return cls(center, 0.0)
        weissman = math.sqrt(2 * (n * math.log(2) + math.log1p(-(2.0 ** (1 - n))) - math.log(delta)) / m)
        mcdiarmid = math.sqrt((n - 1) / m) + math.sqrt(-2 * math.log(delta) / m)
        return cls(center, min(weissman, mcdiarmid, 2.0) * (1 + 1e-12))

    def possible(self) -> np.ndarray:
        """Return which secrets some prior of the ball allows: all, unless the radius is 0.

        Examples
        --------
        >>> L1Ball(["1/2", "1/2"], "1/4").possible().tolist()
        [True, True]
        """
        return np.asarray(self.center.support) | bool(self.radius > 0)

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return the center after radius/2 moved from the largest values to the smallest.

        Examples
        --------
        >>> L1Ball([0.5, 0.5], 0.25).least(np.array([2.0, 1.0])).tolist()
        [0.375, 0.625]
        """
        fractions, total, begun = self._center
        lowest = first_smallest(values, relative=LAST_BITS, absolute=0.0)
        budget = min(Fraction(self.radius) / 2, total - fractions[lowest])
        changed = {lowest: fractions[lowest] + budget}
        for x in np.argsort(-values, kind="stable").tolist():
            if not budget > 0:
                break
            if x != lowest:
                moved = min(budget, fractions[x])
                changed[x] = fractions[x] - moved
                budget -= moved
        prior = begun.copy()
        for x, share in changed.items():
            prior[x] = share if exact.is_exact(begun) else exact.as_float(share)
        return prior

    @cached_property
    def _center(self) -> tuple[np.ndarray, Fraction, np.ndarray]:
        """The center in fractions, their sum, and what the priors of the ball begin as: these, or doubles."""
        fractions = exact.as_fractions(self.center.probabilities)
        sharp = self.center.exact and not isinstance(self.radius, float)
        return fractions, sum(fractions.tolist(), Fraction(0)), fractions if sharp else exact.as_floats(fractions)


@dataclass(frozen=True, eq=False)
class Polytope(PriorSet):
    """All priors with A P <= b, where `matrix` A has shape (K, N) and `bounds` b shape (K,).

    An equality is a pair of opposite inequalities. An empty set is refused. Fractions, ints and text such as "1/2" make
    the set exact: the simplex method in fractions, for tens of secrets. Floats go to HiGHS, whose answers are refined;
    a secret that no prior allows more than 1e-12 is then impossible.

    Examples
    --------
    >>> order = Polytope([[1, -1]], [0])  # P_0 <= P_1
    >>> order.lift([["3/4", "1/4"], ["1/4", "3/4"]])  # at outcome 0, under P = (0, 1): (3/4) / (1/4)
    Fraction(3, 1)
    """

    matrix: Any
    bounds: Any
    secrets: Any = None

    def __post_init__(self) -> None:
        a, b = _signed(self.matrix), _signed(self.bounds)
        if a.ndim != 2 or a.shape[1] == 0 or b.shape != a.shape[:1]:
            raise DivulgeError.of(
                "matrix", "have shape (K, N), bounds shape (K,), all finite", "what was given", f"{a.shape}, {b.shape}"
            )
        if not exact.is_exact(a, b):
            a, b = exact.as_floats(a), exact.as_floats(b)
        object.__setattr__(self, "matrix", a)
        object.__setattr__(self, "bounds", b)
        object.__setattr__(self, "secrets", _labels.alphabet(self.secrets, a.shape[1], "secrets"))
        super().__post_init__()
        self.least(np.zeros(a.shape[1]))

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return a prior of the set with the least mean of `values`, a vertex.

        Examples
        --------
        >>> Polytope([[1, -1, 0]], [0]).least(np.array([1.0, 2.0, 3.0])).astype(float).round(9).tolist()  # P_0 <= P_1
        [0.5, 0.5, 0.0]
        """
        n, sharp = len(self.secrets), exact.is_exact(self.matrix)
        cost = exact.as_fractions(values)
        cost = cost - min(cost.tolist())
        cost = cost / (max(cost.tolist()) or 1)
        rows, target = self._program
        costs = np.concatenate([cost, exact.as_fractions([0] * (len(target) - 1))])
        found = cheapest(rows, target, costs)[0] if sharp else refined(rows, target, costs, self._as_read)
        if found is None:
            raise DivulgeError.of(
                "matrix", "leave at least one prior", "the set", "empty", "check the signs of A P <= b."
            )
        return found[:n] if sharp else exact.as_floats(found[:n])

    @cached_property
    def _program(self) -> tuple[np.ndarray, np.ndarray]:
        """Equations of P and of what each bound leaves, [A 1; 1 0] (P, s) = (b, 1), signed so that no b is negative."""
        k, n = self.matrix.shape
        last = exact.as_fractions([[1] * n + [0] * k])
        rows = np.hstack([exact.as_fractions(self.matrix), exact.as_fractions(np.eye(k, dtype=int))])
        signs = np.where(self.bounds < 0, -1, 1)
        return np.vstack([rows * signs[:, None], last]), exact.as_fractions([*(self.bounds * signs).tolist(), 1])

    @cached_property
    def _as_read(self) -> tuple[np.ndarray, Any]:
        """The matrix of `_program` in doubles and in python-flint's fractions."""
        rows, _ = self._program
        return exact.as_floats(rows), exact.fmpq_mat(rows)

    def possible(self) -> np.ndarray:
        """Return which secrets some prior of the polytope allows, beyond what rounding allows of a float one.

        Examples
        --------
        >>> Polytope([[1, 0, 0]], [0]).possible().tolist()  # P_0 <= 0
        [False, True, True]
        """
        return _allowed(self, 0.0 if exact.is_exact(self.matrix) else _ROUNDED, math.inf)


@dataclass(frozen=True, eq=False)
class ConvexHull(PriorSet):
    """All mixtures of given priors: a credal set by its extreme points.

    Of the posteriors of all groups of a table it holds what somebody believes who knows all of the columns, some or
    none.

    Attributes
    ----------
    corners : array of shape (K, N), each row a prior
        Fractions make the set exact. Rows that are mixtures of others do no harm.
    secrets : labels, optional

    Examples
    --------
    >>> two = ConvexHull([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> two.lift([["2/3", "1/3"], ["1/3", "2/3"]])  # at outcome 0, under (1/4, 3/4): (2/3) / (5/12)
    Fraction(8, 5)
    """

    corners: Any
    secrets: Any = None

    def __post_init__(self) -> None:
        rows = entries(self.corners, "corners", 2, lambda i: f"row {i}")
        if not all(rows.shape):
            raise DivulgeError.of(
                "corners", "have shape (K, N) with at least one prior", "it", f"of shape {rows.shape}"
            )
        rows = normalized(rows, "corners", lambda i: "have rows that sum to" if i < 0 else f"row {i} sums to")
        object.__setattr__(self, "corners", rows)
        object.__setattr__(self, "secrets", _labels.alphabet(self.secrets, rows.shape[1], "secrets"))

    def possible(self) -> np.ndarray:
        """Return which secrets some corner allows.

        Examples
        --------
        >>> ConvexHull([[1, 0, 0], [0, 1, 0]]).possible().tolist()
        [True, True, False]
        """
        return (self.corners > 0).any(axis=0)

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return the corner with the least mean of `values`, the first of those that tie up to rounding.

        Examples
        --------
        >>> ConvexHull([[0.5, 0.5], [0.25, 0.75]]).least(np.array([1.0, 2.0])).tolist()
        [0.5, 0.5]
        """
        near = self._near(exact.as_floats(values))
        if exact.is_exact(self.corners, values):
            means: Any = [sum(p * v for p, v in zip(row, values.tolist(), strict=True)) for row in near.tolist()]
            return near[means.index(min(means))].copy()
        means = exact.as_floats(near) @ exact.as_floats(values)
        return near[first_smallest(means, relative=LAST_BITS, absolute=0.0)].copy()

    def _near(self, values: np.ndarray) -> np.ndarray:
        """Return the corners of which rounding leaves open whether they have the least mean, in their order."""
        means = self._floats @ values
        return self.corners[means <= means.min() + len(values) * LAST_BITS * float(np.abs(values).max(initial=0.0))]

    @cached_property
    def _floats(self) -> np.ndarray:
        return exact.as_floats(self.corners)


def _signed(values: Any) -> np.ndarray:
    """Return finite numbers of any sign: a float array, or fractions when all are whole, fractions or text."""
    try:
        cells = np.array(values, dtype=object)
        plain = [v.item() if isinstance(v, np.generic) else v for v in cells.ravel().tolist()]
        numbers = [v if isinstance(v, float) else Fraction(v) for v in plain]
    except (TypeError, ValueError, ZeroDivisionError):
        numbers, cells = [math.nan], np.zeros(1)
    if not all(math.isfinite(exact.as_float(v)) for v in numbers):
        raise DivulgeError.of("matrix", "be an array of finite numbers, like bounds", "one", "something else")
    out = np.empty(cells.shape, dtype=float if any(isinstance(v, float) for v in numbers) else object)
    out.ravel()[:] = numbers
    return out


def _alphabet(secrets: int | Iterable[Hashable]) -> Labels:
    if isinstance(secrets, int) and not isinstance(secrets, bool) and secrets >= 1:
        return range(secrets)
    if isinstance(secrets, Iterable) and not isinstance(secrets, (str, bytes)):
        letters = list(secrets)
        if letters:
            return _labels.alphabet(letters, len(letters), "secrets")
    raise DivulgeError.of("secrets", "be a positive number of secrets or their labels", "it", repr(secrets))
