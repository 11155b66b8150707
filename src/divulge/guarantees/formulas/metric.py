"""What a rate per distance says of leakages and capacities, on python-flint balls."""

from collections.abc import Callable
from typing import Any

import numpy as np

from divulge import exact
from divulge.guarantees.formulas.density import INFINITY, log_inverse
from divulge.model.metrics.metric import Metric
from divulge.model.prior import Prior

_NEAR = 1e-9
"""Places whose sums of doubles come so near to the extreme are summed in balls: doubles are off by far less."""


def pml_of_metric(epsilon: Any, metric: Metric, prior: Prior) -> Any:
    """Return max over x of -log sum_x' p(x') e^-d(x, x'), d = epsilon distance, over the x that can occur.

    P(y) = sum p(x') C(y|x') >= C(y|x) sum p(x') e^-d(x, x').
    """
    if not epsilon.is_finite():
        return log_inverse(exact.ball(prior.p_min))
    return _extreme(-epsilon, metric, prior, least=True)


def pmc_of_metric(epsilon: Any, metric: Metric, prior: Prior) -> Any:
    """Return max over x of log sum_x' p(x') e^d(x, x'), d = epsilon distance, over the x that can occur."""
    return _extreme(epsilon, metric, prior, least=False) if epsilon.is_finite() else INFINITY()


def _extreme(rate: Any, metric: Metric, prior: Prior, *, least: bool) -> Any:
    """Return the largest of -log S_x, or of log S_x, with S_x = sum p(x') e^(rate d(x, x'))."""
    order = metric.order_of(prior.secrets, "prior")
    inside = metric.matrix[np.ix_(order, order)]
    p, support = prior.floats, np.flatnonzero(prior.support)
    exponents = float(rate.mid()) * inside[np.ix_(support, support)]
    peak = exponents.max(axis=1, keepdims=True)
    logs = peak[:, 0] + np.log(np.exp(exponents - peak) @ p[support])
    falling = -logs if least else logs
    near = support[np.flatnonzero(falling >= falling.max() - _NEAR * max(1.0, abs(falling.max())))]
    mass = [exact.ball(v) for v in prior.probabilities[support].tolist()]
    powers: dict[int, Any] = {}
    found = [
        _sum(rate, metric, int(order[i]), zip(order[support].tolist(), mass, strict=True), powers)
        for i in near.tolist()
    ]
    best = found[0]
    for one in found[1:]:
        best = best.min(one) if least else best.max(one)
    return (-best.log() if least else best.log()).max(0 * rate)


def _sum(rate: Any, metric: Metric, i: int, masses: Any, powers: dict[int, Any]) -> Any:
    by_class: dict[int, Any] = {}
    for j, p in masses:
        k = int(metric.classes[i, j])
        by_class[k] = by_class[k] + p if k in by_class else p
    return sum((p * _power(rate, metric, k, powers) for k, p in by_class.items()), 0 * rate)


def _power(rate: Any, metric: Metric, k: int, powers: dict[int, Any]) -> Any:
    if k not in powers:
        powers[k] = (rate * metric.length(k)).exp()
    return powers[k]


def ldp_of_metric(epsilon: Any, metric: Metric, number: Callable[[Any], Any]) -> Any:
    """Return epsilon times the largest distance; 0 where there is one place only."""
    if len(metric) == 1:
        return number(0)
    return epsilon * metric.length(len(metric.lengths) - 1, number)


def metric_of_ldp(epsilon: Any, metric: Metric, number: Callable[[Any], Any]) -> Any:
    """Return epsilon over the least distance of two places."""
    return number(0) if len(metric) == 1 else epsilon / metric.length(1, number)


def metric_of_metric(epsilon: Any, given: Metric, wanted: Metric, number: Callable[[Any], Any]) -> Any:
    """Return epsilon times the largest ratio of the two distances of a pair; +inf where the places are others."""
    if len(given) != len(wanted) or len(given) == 1:
        return number(0) * epsilon if len(given) == len(wanted) else INFINITY()
    order = given.order_of(wanted.labels, "metric")
    one, other = given.classes[np.ix_(order, order)], wanted.classes
    off = ~np.eye(len(wanted), dtype=bool)
    pairs = np.unique(np.column_stack([one[off], other[off]]), axis=0)
    ratios = given.floats[pairs[:, 0]] / wanted.floats[pairs[:, 1]]
    near = pairs[ratios >= ratios.max() * (1 - _NEAR)].tolist()
    best = number(0)
    for a, b in near:
        best = best.max(_ratio(given, wanted, a, b, number))
    return epsilon * best


def _ratio(given: Metric, wanted: Metric, a: int, b: int, number: Callable[[Any], Any]) -> Any:
    """Return one distance over another; of two squared ones the root is taken once, and may be rational."""
    if given.rooted and wanted.rooted:
        return number(given.lengths[a] / wanted.lengths[b]).sqrt()
    return given.length(a, number) / wanted.length(b, number)


def capacity_of_metric(epsilon: Any, metric: Metric) -> Any:
    """Return a bound on max{sum w : e^-d w <= 1, w >= 0}: sum z of any z >= 0 with e^-d z >= 1, the program's dual.

    Where the z with e^-d z = 1 is not negative, it is the optimum of both, the magnitude of the metric space. Else z is
    that of a linear program in doubles. Either is divided by its least row in balls, so that it is feasible for sure.
    """
    if not epsilon.is_finite():
        return exact.ball(len(metric))
    similarity = np.exp(-float(epsilon.mid()) * metric.matrix)
    weights = _weights(similarity)
    powers: dict[int, Any] = {}
    balls = [exact.ball(float(w)) for w in weights]
    held = np.flatnonzero(weights > 0).tolist()
    least = INFINITY()
    for i in range(len(metric)):
        least = least.min(_sum(-epsilon, metric, i, ((j, balls[j]) for j in held), powers))
    return (sum(balls, 0 * epsilon) / least).min(exact.ball(len(metric))).max(exact.ball(1))


def _weights(similarity: np.ndarray) -> np.ndarray:
    """Return z >= 0 with similarity z >= 1, up to rounding, and the least sum."""
    try:
        magnitude = np.linalg.solve(similarity, np.ones(len(similarity)))
    except np.linalg.LinAlgError:
        magnitude = np.full(len(similarity), -1.0)
    if (magnitude >= 0).all():
        return magnitude
    from divulge.extras import require

    optimize = require("scipy.optimize", "science")
    found = optimize.linprog(np.ones(len(similarity)), A_ub=-similarity, b_ub=-np.ones(len(similarity)), method="highs")
    if found.x is None:
        return np.ones(len(similarity))
    return _polished(similarity, np.maximum(found.x, 0.0), np.maximum(-found.ineqlin.marginals, 0.0))


def _polished(similarity: np.ndarray, z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the basic solution that z is, solved again: its support, and as many rows, those with a multiplier."""
    columns, rows = (np.flatnonzero(v > _USED * v.max()) for v in (z, w))
    if len(columns) != len(rows):
        return z
    try:
        solved = np.linalg.solve(similarity[np.ix_(rows, columns)], np.ones(len(rows)))
    except np.linalg.LinAlgError:
        return z
    out = np.zeros(len(z))
    out[columns] = solved
    return out if (solved >= 0).all() and (similarity @ out >= 1 - _NEAR).all() else z


_USED = 1e-9
"""Weights and multipliers below this share of the largest are the solver's zeros."""
