"""The tail of the leakage after the worst post-processing of the outcome, and the leakage at a given tail."""

import math

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.answers.merged import envelope_bracket, threshold_bracket
from divulge.noise.answers.outcomes import Estimate
from divulge.noise.answers.tails import Bounded
from divulge.noise.laws.finite import FiniteLaw

_FIRST = 192
"""Cells inside the range of the answers to begin with, in two halves. A heuristic: doubtful ones are cut anyway."""
_PARTS = 6
"""The parts a doubtful cell is cut into: few programs in all, as each of them costs more than its cells."""
_ROUNDS = 9
"""Times that cells are cut, to 6^-9 = 1e-7 of the first: the bound is then as near as 1e-8, where the search ends."""
_MOST_VARIABLES = 20_000
"""Variables of a linear program: HiGHS takes seconds for so many."""

_TOO_RARE = 1e-13
"""Cells of less mass are left out of programs, which are solved to 1e-7 or so."""

_MOST_VALUES = 100
"""Up to so many values of a record there are programs."""

_TOLD = 1e-15
"""More than the rounding of an estimate and its error: beyond a tail by so much is beyond it."""

_STEPS = 60
"""Thresholds that are tried for one tail."""


def envelope(mechanism: Bounded, threshold: float, tail: float | None = None) -> Estimate:
    """Return sup over all post-processings Z of Y of P(pml(X -> Z) >= threshold), with a proved error.

    Outcomes above the threshold have a witness x, to which a share w_x(y) of y goes: the largest sum_x int q w_x under
    int w_x (f_x - e^threshold q) >= 0 and sum_x w_x <= 1. A linear program over cells of outcomes, with their exact
    masses, bounds it from below, as binning is a post-processing. Its multipliers l bound it from above, by

        int max(0, max_x q + l_x (f_x - e^threshold q)):

    under log-concave noise f_x / q lies, in a cell, between sums of monotone ratios, which tells in nearly all cells
    which x it is, or that none is; cells that are in doubt are cut. Where a `tail` is given, no longer than until it is
    told on which side of it the supremum is.
    """
    law = _few(mechanism)
    if law is None:
        return envelope_bracket(mechanism, threshold)
    level, limit = math.exp(min(threshold, 700.0)), float(np.exp(-law.log_prior).max())
    if level > limit * (1 + 1e-12):
        return Estimate(0.0, 0.0, True)
    if threshold == 0:
        return Estimate(1.0, 0.0, True)
    edges, found = _edges(law), (0.0, 1.0)
    for _ in range(_ROUNDS):
        cells = _Cells(law, edges, level)
        value, multipliers = _program(cells)
        alone, steepness = _one_by_one(cells)
        bounds = [cells.bound(multipliers), cells.bound(steepness)]
        upper, doubtful = min(bounds, key=lambda bound: bound[0])
        found = max(found[0], value, alone), min(found[1], upper)
        if tail is not None and (found[0] - _TOLD > tail or found[1] + _TOLD <= tail):
            break
        room = _MOST_VARIABLES // len(law.values) - len(edges)
        if not doubtful.any() or found[1] - found[0] <= 1e-8 * found[1] or room < _PARTS * int(doubtful.sum()):
            break
        left, right = edges[:-1][doubtful[1:-1]], edges[1:][doubtful[1:-1]]
        inner = left[:, None] + (right - left)[:, None] * np.arange(1, _PARTS) / _PARTS
        edges = np.unique(np.concatenate([edges, inner.ravel()]))
    low, high = found
    return Estimate((low + high) / 2, (high - low) / 2 + 4e-16, True)


def threshold_at(mechanism: Bounded, tail: float) -> Estimate:
    """Return the smallest threshold whose `envelope` is at most `tail`, in nats, by bisection on proved bounds."""
    if not 0 < tail <= 1:
        raise DivulgeError.of("delta", "be in (0, 1]", "it", repr(tail))
    law = _few(mechanism)
    if tail == 1:
        return Estimate(0.0, 0.0, True)
    if law is None:
        return threshold_bracket(mechanism, tail)
    rarest = -float(law.log_prior.min())
    below, above, high = 0.0, rarest, rarest * (1 + 1e-15)  # `below` fails for sure, `high` holds for sure
    for _ in range(_STEPS):
        middle = (below + high) / 2
        if high - below <= 1e-9 * max(1.0, high):
            break
        found = envelope(mechanism, middle, tail)
        if found.value + found.error <= tail:
            high = middle
        elif found.value - found.error > tail:
            below = middle
        else:  # as well as it can be told
            return Estimate(high, high - max(below, _sure(mechanism, below, middle, tail)), True)
    return Estimate(min(above, high), min(above, high) - below, True)


def _sure(mechanism: Bounded, below: float, doubtful: float, tail: float) -> float:
    """Return a threshold near `doubtful` whose envelope exceeds `tail` for sure."""
    for part in (1e-6, 1e-4, 1e-2):
        trial = doubtful - part * (doubtful - below)
        found = envelope(mechanism, trial, tail)
        if found.value - found.error > tail:
            return trial
    return below


def _few(mechanism: Bounded) -> FiniteLaw | None:
    """Return the law of at most 100 values under log-concave noise, which programs take; None for another bounded one.

    An unbounded record has E e^pml = int sup_x f(y | x) dy = +inf under noise that reaches it, so that merging outcomes
    far out with all others may raise each of them; no bound below 1 is known then.
    """
    law, noise = mechanism.law, mechanism.noise
    if not law.bounded:
        raise DivulgeError.of(
            "secret", "be bounded for an envelope", "it", mechanism.secret.description,
            "bin it: tail_envelope(mechanism.binned(edges), threshold) bounds the envelope from below.",
        )  # fmt: skip
    single = isinstance(law, FiniteLaw) and len(law.others.places) == 1 and len(law.values) <= _MOST_VALUES
    plain = noise.log_concave and noise.of_family and noise.step is None
    return law if plain and single and isinstance(law, FiniteLaw) else None


def _edges(law: FiniteLaw) -> np.ndarray:
    scale = law.noise.scale
    outer = np.geomspace(0.02, 45.0, 48) * scale
    inner = np.linspace(law.low, law.high, _FIRST // 2)
    near = np.add.outer(law.locations, np.linspace(-6, 6, 25) * scale).ravel() if len(law.locations) <= 8 else inner
    return np.unique(np.concatenate([inner, near, law.low - outer, law.high + outer]))


class _Cells:
    """Cells between edges and the two beyond: masses given each secret, and the range of f_x / q inside."""

    def __init__(self, law: FiniteLaw, edges: np.ndarray, level: float) -> None:
        noise, x, p = law.noise, law.locations_of_values, np.exp(law.log_prior)
        self.level = level
        ends = np.concatenate([[-1e300], edges, [1e300]])
        z = ends - x[:, None]
        below, above = noise.cdf(z), noise.sf(z)
        given = np.where(z[:, :-1] + z[:, 1:] > 0, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
        self.given = np.maximum(given, 0.0)
        self.outcome = p @ self.given
        logs = noise.relative(edges[:, None], x, law.center(edges)[:, None])
        # f_j / f_x for all pairs at the edges, and its limits beyond: each is monotone in y
        apart = x[None, :] - x[:, None]
        first, last = (np.where(sign * apart > 0, math.inf, np.where(apart == 0, 0.0, -math.inf)) for sign in (-1, 1))
        pairs = np.concatenate([first[None], logs[:, None, :] - logs[:, :, None], last[None]])
        low, high = np.minimum(pairs[:-1], pairs[1:]), np.maximum(pairs[:-1], pairs[1:])
        with np.errstate(over="ignore"):
            self.most = (1 / (np.exp(low) @ p)).T * (1 + 1e-12)
            self.least = (1 / (np.exp(high) @ p)).T * (1 - 1e-12)

    def bound(self, multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the upper bound that the multipliers give, and which cells are in doubt."""
        slopes = multipliers[:, None]
        low, high = 1 + slopes * (self.least - self.level), 1 + slopes * (self.most - self.level)
        low, high = (np.concatenate([part, np.zeros((1, part.shape[1]))]) for part in (low, high))  # none: 0
        best = low.argmax(axis=0)
        others = high.copy()
        np.put_along_axis(others, best[None], -math.inf, axis=0)
        sure = low.max(axis=0) >= others.max(axis=0)
        exact = self.outcome + slopes * (self.given - self.level * self.outcome)
        exact = np.concatenate([exact, np.zeros((1, exact.shape[1]))])
        chosen = np.take_along_axis(exact, best[None], axis=0)[0]
        most = self.outcome * high.max(axis=0)
        value = np.where(sure, np.minimum(chosen, most), most)
        doubtful = ~sure & (self.outcome > 1e-18)
        return min(1.0, math.fsum(np.maximum(value, 0.0).tolist()) * (1 + 1e-12)), doubtful


def _program(cells: _Cells) -> tuple[float, np.ndarray]:
    """Return (the value of shares that are feasible, rounded down; the multipliers of the witnesses), by HiGHS."""
    from scipy import sparse
    from scipy.optimize import linprog

    matter = cells.outcome > _TOO_RARE  # the others serve no witness
    q = cells.outcome[matter]
    gain = cells.given[:, matter] - cells.level * q
    size = np.maximum(np.abs(gain).max(axis=1), 1e-300)
    n, m = gain.shape
    witness = sparse.csr_array(((-gain / size[:, None]).ravel(), (np.repeat(np.arange(n), m), np.arange(n * m))))
    shares = sparse.csr_array((np.ones(n * m), (np.tile(np.arange(m), n), np.arange(n * m))), shape=(m, n * m))
    answer = linprog(
        -np.tile(q, n),
        A_ub=sparse.vstack([witness, shares]),
        b_ub=np.concatenate([np.zeros(n), np.ones(m)]),
        bounds=(0, None),
        method="highs",
    )
    if answer.status != 0:  # the witnesses alone still prove something
        return 0.0, np.zeros(n)
    multipliers = np.maximum(-answer.ineqlin.marginals[:n] / size, 0.0)
    shares = np.maximum(answer.x.reshape(n, m), 0.0)
    shares /= np.maximum(shares.sum(axis=0), 1.0)
    kept = 0.0
    for part, surplus in zip(shares, gain, strict=True):  # HiGHS keeps balances to 1e-7 only
        over, short = float(part @ np.maximum(surplus, 0.0)), float(part @ np.maximum(-surplus, 0.0))
        kept += float(part @ np.where(surplus < 0, q * min(1.0, over / short if short else 1.0), q))
    return kept * (1 - 1e-12), multipliers


def _one_by_one(cells: _Cells) -> tuple[float, np.ndarray]:
    """Return (the most that one witness carries alone, rounded down; for each witness the multiplier that proves it).

    All outcomes where f_x / q is largest, until e^threshold is used up (Neyman and Pearson; a fractional knapsack).
    """
    best, multipliers, q = 0.0, np.zeros(len(cells.given)), cells.outcome
    for x, given in enumerate(cells.given):
        ratio = np.where(q > 0, given / np.where(q > 0, q, 1.0), 0.0)
        order = np.argsort(-ratio, kind="stable")
        balance, mass = np.cumsum((given - cells.level * q)[order]), np.cumsum(q[order])
        last = int(np.argmax(balance < 0)) if (balance < 0).any() else len(order) - 1
        before = (float(mass[last - 1]), float(balance[last - 1])) if last else (0.0, 0.0)
        short = cells.level - float(ratio[order[last]])
        if short > 0:
            multipliers[x] = 1 / short
            best = max(best, before[0] + max(before[1], 0.0) / short)
    return min(best, 1.0) * (1 - 1e-12), multipliers
