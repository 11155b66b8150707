"""How an adversary scores: the best expected payoff of an action, for unnormalized beliefs.

A rule knows three things. `value(weights)` is the payoff of the best action under each column of `weights` (shape
(N, K), entries at least 0, any sum: the value scales with it). `action(weight)` is that best action for one column,
and `payoff(action)` what it pays for every secret, so that value(w) = sum_x w_x payoff(action(w))_x. Families with very
many actions (k tries, orders of guessing, distributions) never list them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from divulge import exact
from divulge.measures.numeric.convex import log_probabilities
from divulge.measures.numeric.powers import nearest_in_power
from divulge.model.record import Record
from divulge.ties import RELATIVE, falling, first_largest, first_smallest


class Rule(Protocol):
    """A family of actions with the payoff of each."""

    @property
    def exact(self) -> bool:
        """Whether the value of exact weights is exact."""
        ...

    def in_fractions(self) -> "Rule | None":
        """Return the same rule whose value of exact weights is exact; None when it is irrational."""
        ...

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return the payoff of the best action under each column, shape (K,)."""
        ...

    def action(self, weight: np.ndarray) -> Any:
        """Return the best action under one vector of weights, shape (N,)."""
        ...

    def payoff(self, action: Any) -> np.ndarray:
        """Return what the action pays for each secret, shape (N,)."""
        ...


def _columns(vector: np.ndarray) -> np.ndarray:
    return vector.reshape(-1, 1)


def _falling(weight: np.ndarray) -> np.ndarray:
    """Return the secrets in order of falling weight, ties by position."""
    return falling(weight, absolute=0.0)


class _Counting:
    """A rule with no numbers of its own: exact beliefs have an exact value."""

    exact = True

    def in_fractions(self) -> Self:
        return self


@dataclass(frozen=True, eq=False)
class _Numbered(Record):
    """A rule with numbers of its own, used as they are for exact beliefs and as floats for others."""

    numbers: np.ndarray

    @property
    def exact(self) -> bool:
        return exact.is_exact(self.numbers)

    def in_fractions(self) -> Self:
        return self if self.exact else replace(self, numbers=exact.as_fractions(self.numbers))

    @cached_property
    def _floats(self) -> np.ndarray:
        return exact.as_floats(self.numbers)

    def _in_arithmetic_of(self, weights: np.ndarray) -> np.ndarray:
        return self.numbers if weights.dtype == object else self._floats


@dataclass(frozen=True, eq=False)
class Table(_Numbered):
    """A matrix of payoffs, actions x secrets; `largest` says whether the best action has the largest payoff."""

    largest: bool

    @property
    def matrix(self) -> np.ndarray:
        """All the payoffs, actions x secrets."""
        return self.numbers

    def _expected(self, weights: np.ndarray) -> np.ndarray:
        if weights.dtype == object:
            return exact.product(self.numbers, weights)
        return self._floats @ weights

    def value(self, weights: np.ndarray) -> np.ndarray:
        expected = self._expected(weights)
        return expected.max(axis=0) if self.largest else expected.min(axis=0)

    def action(self, weight: np.ndarray) -> int:
        expected = self._expected(_columns(weight / weight.sum()))[:, 0]
        return first_largest(expected) if self.largest else first_smallest(expected)

    def payoff(self, action: int) -> np.ndarray:
        return self.numbers[action]


@dataclass(frozen=True, eq=False)
class Diagonal(_Numbered):
    """Guess the secret; a right guess of x pays numbers_x, a wrong one nothing."""

    @property
    def matrix(self) -> np.ndarray:
        """All the payoffs, shape (N, N)."""
        return np.stack([self.payoff(action) for action in range(len(self.numbers))])

    def value(self, weights: np.ndarray) -> np.ndarray:
        return (_columns(self._in_arithmetic_of(weights)) * weights).max(axis=0)

    def action(self, weight: np.ndarray) -> int:
        return first_largest(self._in_arithmetic_of(weight) * weight, absolute=0.0)

    def payoff(self, action: int) -> np.ndarray:
        out = self.numbers * 0
        out[action] = self.numbers[action]
        return out


@dataclass(frozen=True)
class Tries(_Counting):
    """Guess the secret in k tries; a right guess pays 1. The best tries are the k likeliest secrets."""

    k: int
    n: int

    def value(self, weights: np.ndarray) -> np.ndarray:
        return np.sort(weights, axis=0)[-self.k :].sum(axis=0)

    def action(self, weight: np.ndarray) -> tuple[int, ...]:
        return tuple(_falling(weight)[: self.k].tolist())

    def payoff(self, action: tuple[int, ...]) -> np.ndarray:
        return _indicator(self.n, action)


def _indicator(n: int, members: tuple[int, ...]) -> np.ndarray:
    return exact.as_fractions([int(i in set(members)) for i in range(n)])


@dataclass(frozen=True)
class ZeroOne(_Counting):
    """Guess the secret; a wrong guess costs 1. The least expected cost is the weight off the likeliest secret."""

    n: int

    def value(self, weights: np.ndarray) -> np.ndarray:
        others = weights.copy()
        others[weights.argmax(axis=0), np.arange(weights.shape[1])] = 0
        return others.sum(axis=0)

    def action(self, weight: np.ndarray) -> int:
        return first_largest(weight, absolute=0.0)

    def payoff(self, action: int) -> np.ndarray:
        return 1 - _indicator(self.n, (action,))


@dataclass(frozen=True)
class Guesswork(_Counting):
    """Guess until right; each guess costs 1. The best order is that of falling probability."""

    n: int

    def value(self, weights: np.ndarray) -> np.ndarray:
        ranks = np.arange(self.n, 0, -1)
        return (_columns(ranks) * np.sort(weights, axis=0)).sum(axis=0)

    def action(self, weight: np.ndarray) -> tuple[int, ...]:
        return tuple(_falling(weight).tolist())

    def payoff(self, action: tuple[int, ...]) -> np.ndarray:
        rank = {x: i + 1 for i, x in enumerate(action)}
        return exact.as_fractions([rank[x] for x in range(self.n)])


@dataclass(frozen=True, eq=False)
class Median(_Numbered):
    """Name a number w; the cost is |x - w|. The best w is a median, which is one of the secrets' numbers."""

    def value(self, weights: np.ndarray) -> np.ndarray:
        points = self._in_arithmetic_of(weights)
        order = np.argsort(points, kind="stable")
        sorted_weights = weights[order]
        below = np.minimum(np.cumsum(sorted_weights, axis=0)[:-1], np.cumsum(sorted_weights[::-1], axis=0)[::-1][1:])
        gaps = _columns(np.diff(points[order]))
        return (gaps * below).sum(axis=0) if len(gaps) else weights[0] * 0

    def action(self, weight: np.ndarray) -> Any:
        order = np.argsort(self.numbers, kind="stable")
        sums = np.cumsum(weight[order])
        half = sums[-1] / 2 if sums.dtype == object else sums[-1] / 2 * (1 - RELATIVE)
        return self.numbers[order[int(np.argmax(sums >= half))]]

    def payoff(self, action: Any) -> np.ndarray:
        return abs(self.numbers - action)


@dataclass(frozen=True, eq=False)
class Mean(_Numbered):
    """Name a number w; the cost is (x - w)^2. The best w is the mean, and the least cost the variance.

    Distances are taken from the likeliest point first, so that a belief in one point alone has a variance of 0.
    """

    def value(self, weights: np.ndarray) -> np.ndarray:
        points = self._in_arithmetic_of(weights)
        total = weights.sum(axis=0)
        gaps = _columns(points) - points[weights.argmax(axis=0)]
        offsets = gaps - (gaps * weights).sum(axis=0) / np.where(total > 0, total, 1)
        return (weights * offsets * offsets).sum(axis=0)

    def action(self, weight: np.ndarray) -> Any:
        points = self._in_arithmetic_of(weight)
        return (points * weight).sum() / weight.sum()

    def payoff(self, action: Any) -> np.ndarray:
        return (self.numbers - action) ** 2


@dataclass(frozen=True, eq=False)
class Power(Record):
    """Name a number w; the cost is |x - w|^p, p above 0."""

    points: np.ndarray
    p: float
    exact = False

    def in_fractions(self) -> None:
        return None

    def value(self, weights: np.ndarray) -> np.ndarray:
        return nearest_in_power(self.points, exact.as_floats(weights), self.p)[1]

    def action(self, weight: np.ndarray) -> float:
        return float(nearest_in_power(self.points, _columns(exact.as_floats(weight)), self.p)[0][0])

    def payoff(self, action: float) -> np.ndarray:
        return np.abs(self.points - action) ** self.p


@dataclass(frozen=True)
class AlphaLoss:
    """Name a distribution Q; the cost is a/(a-1) (1 - Q(x)^((a-1)/a)), and -log Q(x) at a = 1.

    The best Q is proportional to P^a and costs a/(a-1) (1 - ||P||_a): Shannon's entropy at a = 1.
    """

    alpha: float
    exact = False

    def in_fractions(self) -> None:
        return None

    def value(self, weights: np.ndarray) -> np.ndarray:
        total = weights.sum(axis=0)
        p = weights / np.where(total > 0, total, 1.0)
        logs = log_probabilities(p)
        if self.alpha == 1:
            return total * -(p * logs).sum(axis=0) + 0.0
        a = self.alpha
        log_norm = _log_power_sum(p, logs, a) / a
        return total * (a / (a - 1)) * -np.expm1(log_norm) + 0.0

    def action(self, weight: np.ndarray) -> tuple[float, ...]:
        tilted = (weight / weight.max()) ** self.alpha
        return tuple((tilted / tilted.sum()).tolist())

    def payoff(self, action: tuple[float, ...]) -> np.ndarray:
        a, q = self.alpha, np.array(action)
        with np.errstate(divide="ignore"):
            return -np.log(q) if a == 1 else a / (a - 1) * -np.expm1((a - 1) / a * np.log(q))


def _log_power_sum(p: np.ndarray, logs: np.ndarray, a: float) -> np.ndarray:
    """Return log sum_x p_x^a, accurately near a = 1, near a point mass, and for large a."""
    with np.errstate(over="ignore", invalid="ignore"):
        shift = (p * np.expm1((a - 1) * np.where(p > 0, logs, 0.0))).sum(axis=0)
    top = logs[p.argmax(axis=0), np.arange(p.shape[1])]
    ratios = np.where(p > 0, np.exp(a * (logs - top)), 0.0)
    direct = a * top + np.log(np.maximum(ratios.sum(axis=0), 1.0))
    return np.where(np.abs(shift) < 0.5, np.log1p(np.maximum(shift, -0.5)), direct)
