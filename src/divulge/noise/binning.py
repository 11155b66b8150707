"""From a continuous mechanism to a finite one: bins of secrets and outcomes with exact masses."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.noise.families import Noise
from divulge.noise.law import FiniteLaw
from divulge.noise.quadrature import integrals, quantile_marks

if TYPE_CHECKING:
    from divulge.noise.mechanism import NoiseMechanism

_FAR = 1e300
"""Stands for infinity where the distance to an infinite end is taken."""


def _edges(edges: Any, argument: str) -> np.ndarray:
    array = np.asarray(edges, dtype=np.float64).ravel()
    if not (array.size and np.isfinite(array).all() and (np.diff(array) > 0).all()):
        raise DivulgeError.of(argument, "be finite and strictly rising", "it", "empty, not finite or not rising")
    return array


def _labels(edges: np.ndarray) -> list[str]:
    marks = ["-inf", *(f"{e:.12g}" for e in edges), "inf"]
    return [f"({a}, {b}]" for a, b in pairwise(marks)]


def _mass(noise: Noise, low: Any, high: Any) -> np.ndarray:
    """Return P(low < Z <= high), taken on the side of the median where it is not a difference of numbers near 1."""
    above = noise.frozen.sf if noise.frozen is not None else None
    with np.errstate(invalid="ignore"):
        from_below = noise.cdf(high) - noise.cdf(low)
        if above is not None:
            from_above = above(low) - above(high)
        elif noise.step is None:
            from_above = noise.cdf(-low) - noise.cdf(-high)
        else:
            from_above = noise.cdf(-low - noise.step) - noise.cdf(-high - noise.step)
    return np.maximum(np.where(np.asarray(low) + np.asarray(high) > 0, from_above, from_below), 0.0)


def binned(mechanism: "NoiseMechanism", outcome_edges: Any, secret_edges: Any = None) -> Joint:
    """Return the joint of (bin of the secret, bin of the outcome).

    Outcome bins are (-inf, e_1], (e_1, e_2], ..., (e_k, inf]; a finite secret keeps its values, a continuous one is cut
    at `secret_edges` in the same way. Leakage of the result never exceeds that of the mechanism (post-processing) when
    secrets are kept, and tends to it as the bins shrink.
    """
    cuts = _edges(outcome_edges, "outcome_edges")
    law, ends = mechanism.law, np.concatenate([[-_FAR], cuts, [_FAR]])
    if isinstance(law, FiniteLaw) and law.slack == 0:
        rows = np.zeros((len(law.values), len(cuts) + 1))
        for i, share in enumerate(law.shares):
            z = ends - (share + law.others)[:, None]
            rows[i] = np.exp(law.log_others) @ _mass(mechanism.noise, z[:, :-1], z[:, 1:])
        rows /= rows.sum(axis=1, keepdims=True)
        return Joint(Prior(np.exp(law.log_prior), [float(v) for v in law.values]), Channel(rows, None, _labels(cuts)))
    if mechanism.records != 1 or mechanism.secret.continuous is None:
        raise DivulgeError.of("records", "be 1 to bin a continuous secret", "it", str(mechanism.records))
    secret = mechanism.secret
    inner = (
        _edges(secret_edges, "secret_edges") if secret_edges is not None else np.asarray(quantile_marks(secret)[1:-1])
    )
    bounds = np.concatenate([[secret.low], inner, [secret.high]])
    p_xy = np.zeros((len(bounds) - 1, len(cuts) + 1))
    for i, (low, high) in enumerate(pairwise(bounds)):
        marks = quantile_marks(secret)
        marks = np.concatenate([marks, (cuts[:, None] + mechanism.noise.marks(marks[-1] - marks[0])).ravel()])
        edges = np.unique(np.clip(marks, max(low, quantile_marks(secret)[0]), min(high, quantile_marks(secret)[-1])))
        panels = np.broadcast_to(edges, (len(cuts) + 1, len(edges)))
        p_xy[i] = integrals(
            lambda x, j: secret.continuous.pdf(x) * _mass(mechanism.noise, ends[j] - x, ends[j + 1] - x), panels
        )[0]
        for v, p in secret.atoms:
            if low < v <= high or (i == 0 and v == low):
                p_xy[i] += p * _mass(mechanism.noise, ends[:-1] - v, ends[1:] - v)
    return Joint.from_matrix(p_xy / p_xy.sum(), _labels(inner), _labels(cuts))
