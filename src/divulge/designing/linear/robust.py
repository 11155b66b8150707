"""Designs for every prior of a set: guarantees that hold under each of them, and the score under the worst.

The linear program starts from a few priors of the set; after each round the worst prior of every column, and of the
score, joins them until none is worse. The guarantees are then decided on integers, over the whole set.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.clock import OutOfTime
from divulge.designing import rounding
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.certified import CertifiedChannel, unforbidden, used_outcomes
from divulge.designing.linear.score_program import Scoring, Solution
from divulge.designing.linear.scores import Score, dense
from divulge.designing.methods import solution_of
from divulge.designing.polytope.limits import Limits
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.robust import ConvexHull, L1Ball, LowerBounded, Polytope, PriorSet
from divulge.model.channel import Channel
from divulge.model.labels import Labels
from divulge.model.prior import Prior

_ROUNDS = 60
"""Rounds in which priors are added: sets have few corners that matter, and every round's bound holds."""
_HALF = 31
"""Bits of the lower half of an entry: sums of four billion halves are held by int64."""
_MOST = 2**62
"""Above every entry, which is at most 2^56."""
_NEAR = 1e-10
"""By so much a prior may break a limit without being added: the tolerance of the solver."""


def _over_bounded(priors: PriorSet, values: np.ndarray) -> Fraction:
    """Return c sum_x v_x + (1 - N c) min_x v_x."""
    assert isinstance(priors, LowerBounded)
    c, each = Fraction(priors.least_probability), values.tolist()
    return c * sum(each) + (1 - len(each) * c) * min(each)


def _over_ball(priors: PriorSet, values: np.ndarray) -> Fraction:
    """Return the mean under the center when radius / 2 of it moves from the largest values to the least."""
    assert isinstance(priors, L1Ball)
    weights, whole, moved = _in_integers(priors)
    each = values.tolist()
    falling = sorted(range(len(each)), key=each.__getitem__, reverse=True)
    least, total = each[falling[-1]], sum(p * v for p, v in zip(weights, each, strict=True))
    for x in falling[:-1]:
        taken = min(weights[x], moved)
        total, moved = total - taken * (each[x] - least), moved - taken
        if not moved:
            break
    return Fraction(total) / whole


def _in_integers(ball: L1Ball) -> tuple[list[int], int, int]:
    """Return the center and half the radius over one common denominator."""
    p, half = [Fraction(v) for v in ball.center.probabilities.tolist()], Fraction(ball.radius) / 2
    whole = math.lcm(half.denominator, *(v.denominator for v in p))
    return [int(v * whole) for v in p], whole, int(half * whole)


def _by_dual(priors: PriorSet, values: np.ndarray) -> Fraction:
    """Return a bound on the least mean of `values` over A P <= b, computed in fractions from float multipliers."""
    from scipy.optimize import linprog

    assert isinstance(priors, Polytope)
    a, b, scale = priors.matrix, priors.bounds, float(max(map(abs, values.tolist()))) or 1.0
    found = linprog(
        values.astype(float) / scale, A_ub=exact.as_floats(a), b_ub=exact.as_floats(b),
        A_eq=np.ones((1, len(values))), b_eq=[1.0],
    )  # fmt: skip
    dual = exact.as_fractions(np.maximum(-np.asarray(found.ineqlin.marginals), 0.0) * scale)
    reduced = values + exact.as_fractions(a).T @ dual
    return min(reduced.tolist()) - sum(exact.as_fractions(b) * dual)


def _over_hull(priors: PriorSet, values: np.ndarray) -> Fraction:
    """Return the least mean under a corner."""
    return Fraction(sum(p * v for p, v in zip(priors.least(values).tolist(), values.tolist(), strict=True)))


def _exact_hull(priors: ConvexHull) -> ConvexHull:
    if exact.is_exact(priors.corners):
        return priors
    rows = exact.as_fractions(priors.corners)
    return ConvexHull(rows / rows.sum(axis=1)[:, None], priors.secrets)


LEAST_MEAN: dict[type[PriorSet], tuple[Callable[[Any], PriorSet], Callable[[PriorSet, np.ndarray], Fraction]]] = {
    LowerBounded: (lambda s: LowerBounded(s.secrets, Fraction(s.least_probability)), _over_bounded),
    L1Ball: (lambda s: L1Ball(_exact_prior(s.center), Fraction(s.radius)), _over_ball),
    Polytope: (lambda s: s, _by_dual),
    ConvexHull: (_exact_hull, _over_hull),
}
"""Kind of set -> (the set in exact arithmetic, a lower bound on the least mean of a function, in fractions)."""


def _exact_prior(prior: Prior) -> Prior:
    p = exact.as_fractions(prior.probabilities)
    return Prior(p / sum(p.tolist()), prior.secrets)


@dataclass(frozen=True, eq=False)
class RobustChecker(rounding.Checker):
    """Exact checks of integer columns under every prior of a set; `prior` is one inside it."""

    priors: PriorSet
    least_mean: Callable[[PriorSet, np.ndarray], Fraction]
    effort: Effort

    @classmethod
    def over(cls, priors: PriorSet, inside: np.ndarray, limits: Limits, effort: Effort) -> "RobustChecker":
        """Return the checker over a set, of which `inside` is one prior, and exact limits; raises OutOfTime."""
        exactly, least_mean = LEAST_MEAN[type(priors)]
        base = rounding.Checker.of(inside, limits)
        return cls(base.prior, base.limits, exactly(priors), least_mean, effort)

    def keeps(self, columns: np.ndarray) -> np.ndarray:
        """Say for each column whether it keeps low, high and ratio under every prior; shape (M,)."""
        good, limits = super().keeps(columns), self.limits
        some = columns[:, good]
        top, bottom = some.max(axis=0, initial=0).astype(object), some.min(axis=0, initial=_MOST).astype(object)
        kept = np.ones(some.shape[1], dtype=bool)
        if limits.high != math.inf:
            kept &= (top <= limits.high * least_means(self.priors, some, self.effort)).astype(bool)
        if limits.low > 0:
            kept &= (bottom >= limits.low * -least_means(self.priors, -some, self.effort)).astype(bool)
        good[good] = kept
        return good


def least_means(priors: PriorSet, columns: np.ndarray, effort: Effort = NO_HURRY) -> np.ndarray:
    """Return lower bounds, in fractions, of the least mean of each integer column (N, M) over an exact set.

    All of them are attained but those over a polytope. Raises OutOfTime.
    """
    if type(priors) in _AT_ONCE:
        return _AT_ONCE[type(priors)](priors, columns, effort)
    found, least_mean = np.zeros(columns.shape[1], dtype=object), LEAST_MEAN[type(priors)][1]
    for y, column in enumerate(columns.T.astype(object)):
        in_time(effort)
        found[y] = least_mean(priors, column)
    return found


def float_means(priors: PriorSet, columns: np.ndarray, effort: Effort = NO_HURRY) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest mean of each float column (N, M) over a set; raises OutOfTime."""
    n = len(columns)
    if isinstance(priors, LowerBounded):
        least = float(priors.least_probability)
        sure, free = least * columns.sum(axis=0), 1 - least * n
        return sure + free * columns.min(axis=0), sure + free * columns.max(axis=0)
    if isinstance(priors, ConvexHull):
        means = exact.as_floats(priors.corners) @ columns
        return means.min(axis=0), means.max(axis=0)
    if isinstance(priors, L1Ball):
        p, half = priors.center.floats, float(priors.radius) / 2
        mean = p @ columns
        return mean - _moved(p, half, columns), mean + _moved(p, half, -columns)
    ends: list[tuple[float, float]] = []
    for column in columns.T:
        in_time(effort)
        low, high = (float(priors.least(sign * column) @ column) for sign in (1.0, -1.0))
        ends.append((low, high))
    low, high = np.array(ends).T
    return low, high


def _moved(p: np.ndarray, half: float, columns: np.ndarray) -> np.ndarray:
    """Return by how much each mean falls when so much of a prior moves from the largest values to the least."""
    order = np.argsort(-columns, axis=0)
    values, shares = np.take_along_axis(columns, order, axis=0), p[order]
    shares[-1] = 0.0
    taken = np.clip(half - (np.cumsum(shares, axis=0) - shares), 0.0, shares)
    return (taken * (values - values[-1])).sum(axis=0)


def _means_over_bounded(priors: LowerBounded, columns: np.ndarray, effort: Effort) -> np.ndarray:
    """Return c sum_x v_x + (1 - N c) min_x v_x of each column v."""
    in_time(effort)
    c = Fraction(priors.least_probability)
    total = ((columns >> _HALF).sum(axis=0).astype(object) << _HALF) + (columns & ((1 << _HALF) - 1)).sum(axis=0)
    return c * total + (1 - len(columns) * c) * columns.min(axis=0).astype(object)


def _means_over_ball(priors: L1Ball, columns: np.ndarray, effort: Effort) -> np.ndarray:
    """Return the mean of each column when half the radius moves from its largest values to the least.

    Doubles say which secrets are emptied; integers check it, and mend it where a sum is within rounding.
    """
    in_time(effort)
    (weights, whole, moved), n = _in_integers(priors), len(columns)
    checker = rounding.Checker(np.array(weights, dtype=object), Limits())
    order, places = np.argsort(-columns, axis=0, kind="stable"), np.arange(columns.shape[1])
    before = np.cumsum(np.array([w / whole for w in weights])[order], axis=0)
    emptied = np.minimum((before <= moved / whole).sum(axis=0), n - 1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n)[:, None], axis=0)
    while True:
        in_time(effort)
        gone = rank < emptied
        rest = moved - checker.mass(gone.astype(np.int64))
        too_many, own = rest < 0, checker.prior[order[np.minimum(emptied, n - 1), places]]
        too_few = (rest > own) & (emptied < n - 1)
        if not (too_many | too_few).any():
            break
        emptied = emptied + too_few.astype(int) - too_many.astype(int)
    least = columns[order[-1], places]
    rise = columns - least
    last = np.where(emptied < n - 1, rise[order[np.minimum(emptied, n - 1), places], places], 0).astype(object)
    return (checker.mass(columns) - checker.mass(np.where(gone, rise, 0)) - rest * last) * Fraction(1, whole)


def _means_over_hull(priors: ConvexHull, columns: np.ndarray, effort: Effort) -> np.ndarray:
    """Return the least mean of each column under a corner, exact under those that rounding leaves open."""
    corners, values = exact.as_floats(priors.corners), columns.astype(np.float64)
    means = corners @ values
    room = len(corners[0]) * 2.0**-50 * np.abs(values).max(axis=0, initial=0.0)
    open_to = means <= means.min(axis=0) + room
    found = np.full(columns.shape[1], math.inf, dtype=object)
    for k in np.flatnonzero(open_to.any(axis=1)).tolist():
        in_time(effort)
        some, corner = np.flatnonzero(open_to[k]), rounding.Checker.of(priors.corners[k], Limits())
        found[some] = np.minimum(found[some], corner.mass(columns[:, some]) * Fraction(1, int(corner.prior.sum())))
    return found


_AT_ONCE: dict[type[PriorSet], Callable[[Any, np.ndarray, Effort], np.ndarray]] = {
    LowerBounded: _means_over_bounded, L1Ball: _means_over_ball, ConvexHull: _means_over_hull,
}  # fmt: skip
"""Kind of set -> the least means of all columns at once: one by one, of a hundred outcomes and more, takes seconds."""


def in_time(effort: Effort) -> None:
    """Raise OutOfTime once the time is up."""
    clock.in_time(effort.deadline, "to decide the guarantees for all priors of the set", "allow it longer.")


def robust(
    priors: PriorSet, limits: Limits, score: Score, scores: np.ndarray, names: Labels, bits: int, effort: Effort,
    method: str | None, named: Callable[[rounding.Checker, np.ndarray, np.ndarray], np.ndarray] | None = None,
    leads: np.ndarray | None = None, floors: np.ndarray | None = None,
) -> tuple[CertifiedChannel, np.ndarray, float]:  # fmt: skip
    """Return (the certified channel with its bound, the worst prior of its score, the score there) over the set.

    The priors of the linear program are rounded, and may lie outside the set by that much: the bound allows for it.
    """
    if type(priors) not in LEAST_MEAN:
        known = ", ".join(kind.__name__ for kind in LEAST_MEAN)
        raise DivulgeError.of("prior", f"be a prior or one of the sets {known}", "it", f"a {type(priors).__name__}")
    if not priors.possible().all():
        raise DivulgeError.of("prior", "be a set in which every secret is possible", "a secret", "impossible in it")
    if named is not None:
        return _robust(priors, limits, score, scores, names, bits, effort, method, named, leads, floors)
    try:
        return _robust(priors, limits, score, scores, names, bits, effort, method)
    except OutOfTime:
        if np.isneginf(scores).any():
            raise
        return _told_nothing(priors, score, scores, names, bits)


def _told_nothing(
    priors: PriorSet, score: Score, scores: np.ndarray, names: Labels, bits: int
) -> tuple[CertifiedChannel, np.ndarray, float]:
    """Return what `robust` returns, of the outcome that is best whatever the secret is; it keeps any guarantee.

    No channel scores more than the best outcome of each secret does, under one prior of the set.
    """
    n = len(priors.secrets)
    exactly, least_mean = LEAST_MEAN[type(priors)]
    one = priors.least(np.zeros(n)).astype(np.float64)
    best = int(np.argmax(scores.min(axis=0) if score.worst else one @ scores))
    each, most = scores[:, best], scores.max(axis=1)
    worst = priors.least(each).astype(np.float64)
    value = float(each.min() if score.worst else least_mean(exactly(priors), exact.as_fractions(each)))
    bound = float(most.min() if score.worst else one @ most) + 2.0**-44 * n * float(np.abs(scores).max())
    integers = np.full((n, 1), 2**bits, dtype=np.int64)
    found = CertifiedChannel(
        integers, [names[best]], np.array([best]), score.sign * bound, "time-limit", score.sign * value
    )
    return found, worst, score.sign * value


def _robust(
    priors: PriorSet, limits: Limits, score: Score, scores: np.ndarray, names: Labels, bits: int, effort: Effort,
    method: str | None, named: Callable[[rounding.Checker, np.ndarray, np.ndarray], np.ndarray] | None = None,
    leads: np.ndarray | None = None, floors: np.ndarray | None = None,
) -> tuple[CertifiedChannel, np.ndarray, float]:  # fmt: skip
    """Return what `robust` does; raises OutOfTime.

    A quarter of the time is left for the certification, which may take half as long again as was allowed.
    """
    effort, whole = effort.less(math.inf), effort
    if whole.left < math.inf:
        whole = replace(whole, deadline=whole.deadline + (whole.deadline - whole.started) / 2)
    scoring, method, solution = _converged(
        priors, tightened_over(priors, limits, whole), score, scores, effort, method, leads, floors
    )
    kept = np.arange(len(names)) if named else used_outcomes(solution.channel, scoring.reference)
    if np.isneginf(scoring.scores[:, kept]).any():
        raise DivulgeError.of("utility", "allow every outcome for a set of priors", "one", "forbidden for some secret")
    checker = RobustChecker.over(priors, scoring.reference, limits, whole)
    if named is not None:
        integers = named(checker, scoring.reference, solution.channel)
    else:
        weights = scoring.reference @ solution.channel[:, kept]
        integers = rounding.certified(weights, np.maximum(solution.channel[:, kept], 0.0) / weights, checker, bits)
    if integers.shape[1] < len(kept):
        kept = np.array([int(np.argmax((scoring.judges @ scoring.scores).min(axis=0)))])
    each = (integers / 2.0**bits * scoring.scores[:, kept]).sum(axis=1)
    worst = priors.least(each).astype(np.float64)
    value = float(each.min() if score.worst else checker.least_mean(checker.priors, exact.as_fractions(each)))
    outside = 2.0**-44 * len(worst) * float(np.abs(scoring.finite).max())
    labels = [names[y] for y in kept.tolist()]
    combination = (solution.channel * scoring.finite).sum(axis=1)
    unrounded = float(combination.min() if score.worst else priors.least(combination).astype(np.float64) @ combination)
    bound = score.sign * (solution.bound + outside) + 0.0
    found = CertifiedChannel(integers, labels, kept, bound, method, score.sign * unrounded)
    return found, worst, score.sign * value


def of_each_secret(priors: PriorSet, effort: Effort, sign: float = 1.0) -> list[np.ndarray]:
    """Return a prior of the set in which each secret is least likely, or likeliest with sign -1; raises OutOfTime."""
    found: list[np.ndarray] = []
    for row in np.eye(len(priors.secrets)):
        in_time(effort)
        found.append(np.asarray(priors.least(sign * row), dtype=np.float64))
    return found


def tightened_over(priors: PriorSet, limits: Limits, effort: Effort) -> Limits:
    """Return equal float limits without slack: of all priors of the set, the smallest probability leaves the most."""
    n = len(priors.secrets)
    p_min = min(float(prior[x]) for x, prior in enumerate(of_each_secret(priors, effort)))
    return limits.floats().tightened(p_min, n) if p_min > 0 else limits.floats()


def _converged(
    priors: PriorSet, limits: Limits, score: Score, scores: np.ndarray, effort: Effort, method: str | None,
    leads: np.ndarray | None = None, floors: np.ndarray | None = None,
) -> tuple[Scoring, str, Solution]:  # fmt: skip
    """Return the last linear program and its solution; every bound holds, the last is the least."""
    n = len(priors.secrets)
    corners = _distinct(of_each_secret(priors, effort, -1.0))
    judges = np.eye(n) if score.worst else corners
    guards, free = _guards(priors, corners)
    scoring = Scoring(unforbidden(scores, limits), limits, guards, judges, leads, floors, free)
    method = method if leads is None else "linear-program"
    for _ in range(_ROUNDS):
        name, solution = solution_of(scoring, effort, method)
        if not effort.spend():
            return scoring, name, solution
        worse = _worse_guards(priors, limits, solution.channel, effort)
        means = (solution.channel * scoring.finite).sum(axis=1)
        reached = float((scoring.judges @ means).min())
        hardest = priors.least(means).astype(np.float64)
        harder = [] if score.worst or hardest @ means >= reached - _NEAR * np.abs(means).max() else [hardest]
        if not (worse or harder):
            return scoring, name, solution
        scoring = replace(
            scoring,
            guards=np.array([*scoring.guards, *worse]),
            free=np.append(scoring.loose, np.zeros(len(worse))),
            judges=scoring.judges if score.worst else _distinct([*scoring.judges, *harder]),
        )
    return scoring, *solution_of(scoring, effort, method)


def _guards(priors: PriorSet, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the priors that the program starts with, and the share of each that may lie on any secrets.

    Where only the least probability is known one row stands for all corners, which are dense and as many as secrets.
    """
    if isinstance(priors, LowerBounded):
        n, least = len(priors.secrets), float(priors.least_probability)
        return np.full((1, n), least), np.array([max(0.0, 1 - n * least)])
    return corners, np.zeros(len(corners))


def _worse_guards(priors: PriorSet, limits: Limits, channel: np.ndarray, effort: Effort) -> list[np.ndarray]:
    """Return the priors of the set under which a column exceeds the limits."""
    found: list[np.ndarray] = []
    for column in channel.T:
        if not column.max() > 1e-12:
            continue
        if effort.left <= 0:  # those so far join; what they leave is decided on integers
            break
        low, high = (priors.least(sign * column).astype(np.float64) for sign in (1.0, -1.0))
        if column.max() > limits.high * (low @ column) * (1 + _NEAR):
            found.append(low)
        if column.min() < limits.low * (high @ column) * (1 - _NEAR):
            found.append(high)
    return found


def decided(priors: PriorSet, score: Score, outcomes: Labels | None, channel: Channel) -> float | None:
    """Return the utility of a channel under the worst prior of a set, its outcomes read as those that are scored.

    The best reading, which may be random, is that of a linear program to which the worst priors join; None where every
    reading may be forbidden. Under `worst` the outcomes must bear the names of those that are scored.
    """
    from scipy.optimize import linprog

    if score.worst:
        return score.decided(np.ones(len(priors.secrets)), channel, priors.secrets, outcomes)
    scores, names = score.table(priors.secrets, outcomes)
    entries = dense(channel)
    (n, m), many = entries.shape, len(names)
    gains = entries[:, :, None] * np.where(np.isfinite(scores), scores, 0.0)[:, None, :]
    may = (entries > 0).T.astype(float) @ np.isneginf(scores) == 0
    if not may.any(axis=1).all():
        return None
    judges, rows = [priors.least(row).astype(np.float64) for row in np.eye(n)], np.kron(np.eye(m), np.ones(many))
    limits = [*((0.0, float(one)) for one in may.ravel().tolist()), (None, None)]
    while True:
        above = np.column_stack([-(np.array(judges) @ gains.reshape(n, -1)), np.ones(len(judges))])
        found = linprog(
            np.append(np.zeros(m * many), -1.0), A_ub=above, b_ub=np.zeros(len(judges)),
            A_eq=np.column_stack([rows, np.zeros(m)]), b_eq=np.ones(m), bounds=limits,
        )  # fmt: skip
        each = gains.reshape(n, -1) @ found.x[:-1]
        worst = priors.least(each).astype(np.float64)
        if worst @ each >= found.x[-1] - _NEAR * np.abs(each).max() or len(judges) > _ROUNDS + n:
            return score.sign * float(worst @ each)
        judges.append(worst)


def _distinct(rows: list[np.ndarray]) -> np.ndarray:
    return np.unique(np.array([np.asarray(row, dtype=np.float64) for row in rows]).round(15), axis=0)


MEASURED: dict[str, Callable[[PriorSet, Channel], tuple[float | Fraction, ...]]] = {
    "pml": lambda s, c: (s.pml(c).max(),),
    "pmc": lambda s, c: (s.pmc(c).max(),),
    "lip": lambda s, c: (s.lip(c),),
    "alip": lambda s, c: (s.alip(c).lower, s.alip(c).upper),
    "lift": lambda s, c: (s.lift(c),),
}
"""Kind of guarantee about a joint -> its levels in the worst case over a set of priors."""


def strongest(guarantee: Guarantee, priors: PriorSet, channel: Channel) -> Guarantee:
    """Return the strongest guarantee of the same kind that the channel has under every prior of the set."""
    kind = type(guarantee)
    if kind.about != "joint" or guarantee.kind not in MEASURED:
        return kind.of(channel)
    levels = MEASURED[guarantee.kind](priors, channel)
    values: dict[str, Any] = {name: math.nextafter(v, math.inf) for name, v in zip(kind.bounded(), levels, strict=True)}
    return kind(**values)
