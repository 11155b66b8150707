"""Adversaries who guess a number: L^p cost and alpha-loss, before and after an outcome, by sums or by quadrature."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise import quadrature
from divulge.noise.laws.choice import Subject
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.secrets.expectations import mean, quantile_marks

Integral = Callable[[Callable[[np.ndarray, np.ndarray], np.ndarray]], float]
"""Takes h(x, w): x secrets and w their mass or density; returns the sum or integral of h."""


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

    Returns
    -------
    Guess
        Costs >= 0, sums for finitely many values, else estimates by quadrature and search. Its `leakage` is at most
        pmc(y).

    Raises
    ------
    DivulgeError
        If p is below 1 or infinite, or `y` is no finite number.

    References
    ----------
    "Information Density Bounds for Privacy", Theorem 3, arXiv:2407.01167: no cost function leaks more.

    Examples
    --------
    >>> from divulge.noise.mechanism import NoiseMechanism
    >>> cost = power_cost(NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0), 0.7, 2)
    >>> round(cost.before, 6), round(cost.after, 6)  # variances
    (1.0, 0.5)
    """
    if not (1 <= p < math.inf):
        raise DivulgeError.of("p", "be finite and at least 1", "it", str(p))
    return Guess(*(_least_power(mechanism, total, p) for total in _before_and_after(mechanism, y)))


def alpha_loss(mechanism: Subject, y: float, alpha: float) -> Guess:
    """Return the least expected alpha-loss a/(a-1) (1 - ||f||_a), before and after the outcome `y`, for a > 1.

    For a secret with a density f the guess is a density too, and the loss is a cost only while ||f||_a <= 1.

    Returns
    -------
    Guess
        Costs in [0, a/(a-1)], sums for finitely many values, else estimates by quadrature. Its `leakage` is at most
        pmc(y).

    Raises
    ------
    DivulgeError
        If alpha is at most 1, a norm is above 1, or the secret has both a density and atoms.

    References
    ----------
    "Information Density Bounds for Privacy", Theorem 3, arXiv:2407.01167: no cost function leaks more.

    Examples
    --------
    >>> from divulge.noise.mechanism import NoiseMechanism
    >>> cost = alpha_loss(NoiseMechanism("laplace", "rademacher()", scale=1.0), 1.0, 2.0)
    >>> round(cost.before, 6)  # 2 (1 - sqrt(1/2))
    0.585786
    """
    if not alpha > 1:
        raise DivulgeError.of("alpha", "be above 1 (inf allowed)", "it", str(alpha))
    if mechanism.secret.atoms:
        raise DivulgeError.of(
            "secret", "have finitely many values or a density for alpha-loss", "it", "both, as it was clipped",
            "bin it: mechanism.binned(...).",
        )  # fmt: skip
    losses: list[float] = []
    for total in _before_and_after(mechanism, y):
        norm = _peak(total) if math.isinf(alpha) else total(lambda _, w: w**alpha) ** (1 / alpha)
        if not norm <= 1 + 1e-12:
            raise DivulgeError.of(
                "secret", "have a density with alpha-norm at most 1, or finitely many values", "the norm", f"{norm:g}",
                "measure the secret in smaller units, or bin it: mechanism.binned(...).",
            )  # fmt: skip
        factor = 1.0 if math.isinf(alpha) else alpha / (alpha - 1)
        losses.append(factor * max(0.0, 1 - norm))
    return Guess(*losses)


def _before_and_after(mechanism: Subject, y: float) -> tuple[Integral, Integral]:
    law, point = mechanism.law, mechanism.points(y)
    if isinstance(law, FiniteLaw):
        posterior = law.log_prior + law.log_given(point)[0] - law.log_outcome(point)[0]
        return _sum(law.values, np.exp(law.log_prior)), _sum(law.values, np.exp(posterior))
    density = mechanism.secret.density
    marks = quantile_marks(mechanism.secret)
    near = _likely(mechanism, float(point[0])) + mechanism.records * mechanism.noise.marks(1.0)
    edges = np.unique(np.clip(np.concatenate([marks, near]), marks[0], marks[-1]))

    def ratio(x: np.ndarray) -> np.ndarray:
        given = law.log_given(np.full(x.size, point[0]), x.ravel()) - law.log_outcome(point)[0]
        return np.exp(given).reshape(x.shape)

    def integral(weight: Callable[[np.ndarray], np.ndarray]) -> Integral:
        atoms = np.array(mechanism.secret.atoms).reshape(-1, 2)
        mass = atoms[:, 1] * weight(atoms[:, 0])
        return lambda h: (
            quadrature.integral(lambda x: h(x, density(x) * weight(x)), edges)[0]
            + math.fsum(h(atoms[:, 0], mass).tolist())
        )

    return integral(np.ones_like), integral(ratio)


def _sum(values: np.ndarray, weights: np.ndarray) -> Integral:
    return lambda h: math.fsum(h(values, weights).tolist())


def _likely(mechanism: Subject, y: float) -> float:
    """Return the value of the record for which y is what is expected of the mean."""
    n = mechanism.records
    return y if n == 1 else n * y - (n - 1) * mean(mechanism.secret)


def _span(mechanism: Subject) -> tuple[float, float]:
    values = mechanism.secret.values
    marks = quantile_marks(mechanism.secret) if values is None else values
    return float(marks[0]), float(marks[-1])


def _least_power(mechanism: Subject, total: Integral, p: float) -> float:
    from scipy.optimize import minimize_scalar

    if p == 2:
        mean = total(lambda x, w: x * w)
        return total(lambda x, w: (x - mean) ** 2 * w)
    law = mechanism.law
    low, high = _span(mechanism)

    def cost(guess: float) -> float:
        return total(lambda x, w: np.abs(x - guess) ** p * w)

    if isinstance(law, FiniteLaw) and p == 1:
        return min(cost(v) for v in law.values)
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
