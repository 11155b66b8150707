"""From a continuous mechanism to a finite one: bins of secrets and outcomes with exact masses."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.noise.law import FiniteLaw
from divulge.noise.quadrature import panels, quantile_marks

if TYPE_CHECKING:
    from divulge.noise.mechanism import NoiseMechanism


def _edges(edges: Any, argument: str) -> np.ndarray:
    array = np.asarray(edges, dtype=np.float64).ravel()
    if not (array.size and np.isfinite(array).all() and (np.diff(array) > 0).all()):
        raise DivulgeError.of(argument, "be finite and strictly rising", "it", "empty, not finite or not rising")
    return array


def _labels(edges: np.ndarray) -> list[str]:
    marks = ["-inf", *(f"{e:.12g}" for e in edges), "inf"]
    return [f"({a}, {b}]" for a, b in zip(marks[:-1], marks[1:], strict=True)]


def _masses(mechanism: "NoiseMechanism", edges: np.ndarray, location: np.ndarray) -> np.ndarray:
    """Return P(outcome bin | location), shape location.shape + (bins,), by differences on the lighter side."""
    noise = mechanism.noise
    z = edges - location[..., None]
    below = np.concatenate([np.zeros((*location.shape, 1)), noise.cdf(z), np.ones((*location.shape, 1))], axis=-1)
    upper = noise.frozen.sf(z) if noise.frozen is not None else 1 - noise.cdf(z)
    if noise.frozen is None and noise.step is None:
        upper = noise.cdf(-z)
    above = np.concatenate([np.ones((*location.shape, 1)), upper, np.zeros((*location.shape, 1))], axis=-1)
    mass = np.where(below[..., :-1] < 0.5, np.diff(below, axis=-1), -np.diff(above, axis=-1))
    return np.maximum(mass, 0.0)


def binned(mechanism: "NoiseMechanism", outcome_edges: Any, secret_edges: Any = None) -> Joint:
    """Return the joint of (bin of the secret, bin of the outcome).

    Outcome bins are (-inf, e_1], (e_1, e_2], ..., (e_k, inf]; a finite secret keeps its values, a continuous one is cut
    at `secret_edges` in the same way. Leakage of the result never exceeds that of the mechanism (post-processing) when
    secrets are kept, and tends to it as the bins shrink.
    """
    cuts = _edges(outcome_edges, "outcome_edges")
    law = mechanism.law
    if isinstance(law, FiniteLaw) and law.slack == 0:
        rows = np.zeros((len(law.values), len(cuts) + 1))
        for i, share in enumerate(law.shares):
            rows[i] = np.exp(law.log_others) @ _masses(mechanism, cuts, share + law.others)
        rows /= rows.sum(axis=1, keepdims=True)
        return Joint(Prior(np.exp(law.log_prior), [float(v) for v in law.values]), Channel(rows, None, _labels(cuts)))
    if mechanism.records != 1 or mechanism.secret.continuous is None:
        raise DivulgeError.of("records", "be 1 to bin a continuous secret", "it", str(mechanism.records))
    secret = mechanism.secret
    inner = _edges(secret_edges, "secret_edges") if secret_edges is not None else np.asarray(quantile_marks(secret)[1:-1])
    bounds = np.concatenate([[secret.low], inner, [secret.high]])
    p_xy = np.zeros((len(bounds) - 1, len(cuts) + 1))
    for i, (low, high) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        marks = quantile_marks(secret)
        marks = np.concatenate([marks, (cuts[:, None] + mechanism.noise.marks(marks[-1] - marks[0])).ravel()])
        edges = np.unique(np.clip(marks, max(low, quantile_marks(secret)[0]), min(high, quantile_marks(secret)[-1])))
        for j in range(len(cuts) + 1):
            value, _ = panels(
                lambda x, j=j: secret.continuous.pdf(x) * _masses(mechanism, cuts, x)[..., j], edges[None, :], 1e-12
            )
            p_xy[i, j] = value[0]
        for v, p in secret.atoms:
            if low < v <= high or (i == 0 and v == low):
                p_xy[i] += p * _masses(mechanism, cuts, np.array([v]))[0]
    p_xy = p_xy[p_xy.sum(axis=1) > 0] if not math.isfinite(p_xy.sum()) else p_xy
    return Joint.from_matrix(p_xy / p_xy.sum(), _labels(inner), _labels(cuts))
