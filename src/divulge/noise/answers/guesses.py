"""Adversaries who guess a number: L^p cost and alpha-loss, before and after an outcome, by sums or by quadrature."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.measures.numeric.powers import nearest_in_power
from divulge.noise import quadrature
from divulge.noise.laws.choice import Subject
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.integrated import peaks
from divulge.noise.secrets.expectations import mean, quantile_marks

_MOST_MISSED = 1e-6
"""A posterior whose integral is further than this from 1 is not known well enough."""


@dataclass(frozen=True)
class Guess:
    """The least expected cost before and after an outcome; `leakage` is log(before / after) in nats, at most pmc(y)."""

    before: float
    after: float

    @property
    def leakage(self) -> float:
        """Return log(before / after); 0/0 is 0 and a/0 is +inf."""
        if self.before == self.after:
            return 0.0
        return math.inf if self.after == 0 else math.log(self.before / self.after)


def power_cost(mechanism: Subject, y: float, p: float) -> Guess:
    """Return the least E|X - w|^p over guesses w, before and after the outcome `y`, for p >= 1.

    Costs are sums for finitely many values, else estimates by quadrature and search; `leakage` is at most pmc(y).

    Source: "Information Density Bounds for Privacy", Theorem 3, arXiv:2407.01167: no cost function leaks more.

    >>> cost = power_cost(dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0), 0.7, 2)
    >>> round(cost.before, 6), round(cost.after, 6)  # variances
    (1.0, 0.5)
    """
    if not (1 <= p < math.inf):
        raise DivulgeError.of("p", "be finite and at least 1", "it", str(p))
    return Guess(*(_least_power(total, p) for total in before_and_after(mechanism, y)))


def alpha_loss(mechanism: Subject, y: float, alpha: float) -> Guess:
    """Return the least expected alpha-loss a/(a-1) (1 - ||f||_a), before and after the outcome `y`, for a > 1.

    For a secret with a density f the guess is a density too, and the loss is a cost only while ||f||_a <= 1. Costs are
    sums for finitely many values, else estimates by quadrature; `leakage` is at most pmc(y).

    Source: "Information Density Bounds for Privacy", Theorem 3, arXiv:2407.01167: no cost function leaks more.

    >>> cost = alpha_loss(dv.NoiseMechanism("laplace", "rademacher()", scale=1.0), 1.0, 2.0)
    >>> round(cost.before, 6)  # 2 (1 - sqrt(1/2))
    0.585786
    """
    if not alpha > 1:
        raise DivulgeError.of("alpha", "be above 1 (inf allowed)", "it", str(alpha))
    if mechanism.secret.atoms:
        hint = "bin it: mechanism.binned(...)."
        condition = "have finitely many values or a density for alpha-loss"
        raise DivulgeError.of("secret", condition, "it", "both, as it was clipped", hint)
    losses: list[float] = []
    for total in before_and_after(mechanism, y):
        norm = _peak(total) if math.isinf(alpha) else total(lambda _, w: w**alpha) ** (1 / alpha)
        if not norm <= 1 + 1e-12:
            hint = "measure the secret in smaller units, or bin it: mechanism.binned(...)."
            condition = "have a density with alpha-norm at most 1, or finitely many values"
            raise DivulgeError.of("secret", condition, "the norm", f"{norm:g}", hint)
        factor = 1.0 if math.isinf(alpha) else alpha / (alpha - 1)
        losses.append(factor * max(0.0, 1 - norm))
    return Guess(*losses)


def before_and_after(mechanism: Subject, y: float) -> "tuple[Integral, Integral]":
    """Return the distribution of the record before and after the outcome `y`."""
    law, point = mechanism.law, mechanism.points(y)
    if isinstance(law, FiniteLaw):
        posterior = law.log_prior + law.log_given(point)[0] - law.log_outcome(point)[0]
        return Masses(law.values, np.exp(law.log_prior)), Masses(law.values, np.exp(posterior))
    secret, fixed, n, likely = mechanism.secret, quantile_marks(mechanism.secret), mechanism.records, float(point[0])
    if n > 1:  # the record for which y is what is expected of the mean
        likely = n * likely - (n - 1) * mean(secret)
    between = np.linspace(float(np.median(fixed)), likely, 65)  # where a posterior far out may lie
    marks = np.concatenate([fixed, between, likely + n * mechanism.noise.marks(1.0)])

    def log_posterior(x: np.ndarray, row: Any = None) -> np.ndarray:
        given = law.log_given(np.full(x.size, point[0]), x.ravel()) - law.log_outcome(point)[0]
        return secret.log_density(x) + given.reshape(x.shape)

    edges = peaks(log_posterior, np.unique(np.clip(marks, secret.low, secret.high))[None, :])[0][0]
    atoms = np.array(secret.atoms).reshape(-1, 2)
    places, masses = atoms[:, 0], atoms[:, 1]
    given = law.log_given(np.full(len(places), point[0]), places) - law.log_outcome(point)[0]
    after = Density(lambda x: np.exp(log_posterior(x)), edges, places, masses * np.exp(given))
    whole = after(lambda _, w: w)
    if not abs(whole - 1) <= _MOST_MISSED:
        hint = "ask about outcomes less far out, or give the secret as values(...) or a sample."
        condition = "be an outcome near enough to the secrets"
        raise DivulgeError.of("y", condition, "the posterior", "beyond what is integrated", hint)
    after = Density(lambda x: np.exp(log_posterior(x)) / whole, edges, places, masses * np.exp(given) / whole)
    return Density(secret.density, fixed, places, masses), after


@dataclass(frozen=True, eq=False)
class Density:
    """The integral against a density over panels between edges, and against atoms."""

    density: Callable[[np.ndarray], np.ndarray]
    edges: np.ndarray
    places: np.ndarray
    masses: np.ndarray

    def __call__(self, h: Callable[[np.ndarray, np.ndarray], np.ndarray], kink: float | None = None) -> float:
        """Return the integral; panels end at the kink."""
        cut = self.edges if kink is None else np.unique([*self.edges, np.clip(kink, *self.edges[[0, -1]])])
        body = quadrature.integral(lambda x: h(x, self.density(x)), cut)[0]
        return body + math.fsum(h(self.places, self.masses).tolist())

    def mass(self, first: float, last: float) -> float:
        """Return the mass of [first, last]."""
        inside = self.edges[(self.edges > first) & (self.edges < last)]
        cut = np.unique([max(first, self.edges[0]), *inside, min(last, self.edges[-1])])
        atoms = math.fsum(self.masses[(self.places >= first) & (self.places <= last)].tolist())
        return atoms + (quadrature.integral(self.density, cut)[0] if len(cut) > 1 and cut[0] < cut[-1] else 0.0)


@dataclass(frozen=True, eq=False)
class Masses:
    """The sum over finitely many values."""

    values: np.ndarray
    masses: np.ndarray

    def __call__(self, h: Callable[[np.ndarray, np.ndarray], np.ndarray], kink: float | None = None) -> float:
        """Return the sum."""
        return math.fsum(h(self.values, self.masses).tolist())


Integral = Density | Masses
"""The sum or integral of h(x, w) over secrets x with mass or density w."""


def _least_power(total: Integral, p: float) -> float:
    from scipy.optimize import minimize_scalar

    if p == 2:
        mean = total(lambda x, w: x * w)
        return total(lambda x, w: (x - mean) ** 2 * w)
    if isinstance(total, Masses):
        return float(nearest_in_power(total.values, total.masses.reshape(-1, 1), p)[1][0])
    low, high = total.edges[[0, -1]].tolist()

    def cost(guess: float) -> float:
        return total(lambda x, w: np.abs(x - guess) ** p * w, kink=guess)

    found: Any = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10 * (high - low)})
    return float(found.fun)


def _peak(total: Integral) -> float:
    top = 0.0

    def look(_: np.ndarray, w: np.ndarray) -> np.ndarray:
        nonlocal top
        top = max(top, float(np.max(w)))
        return w

    total(look)
    return top
