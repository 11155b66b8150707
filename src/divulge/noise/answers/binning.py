"""From a continuous mechanism to a finite one: bins of secrets and outcomes with exact masses."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.noise.families.continuous import gaussian
from divulge.noise.families.noise import Noise
from divulge.noise.laws.choice import Subject
from divulge.noise.laws.continuous import ContinuousLaw
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.means import MeanLaw, NormalLaw, rounded
from divulge.noise.quadrature import integrals
from divulge.noise.secrets.expectations import quantile_marks
from divulge.noise.secrets.parse import normal

_FAR = 1e300
"""Stands for infinity where the distance to an infinite end is taken."""


def _edges(edges: Any, argument: str) -> np.ndarray:
    try:
        array = np.asarray(edges, dtype=np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of(argument, "hold numbers", "it", f"a {type(edges).__name__}") from None
    if not (array.size and np.isfinite(array).all() and (np.diff(array) > 0).all()):
        raise DivulgeError.of(argument, "be finite and strictly rising", "it", "empty, not finite or not rising")
    return array


def _labels(edges: np.ndarray) -> list[str]:
    marks = ["-inf", *(f"{e:.12g}" for e in edges), "inf"]
    return [f"({a}, {b}]" for a, b in pairwise(marks)]


def _mass(noise: Noise, low: Any, high: Any) -> np.ndarray:
    """Return P(low < Z <= high), taken on the side of the median where it is not a difference of numbers near 1."""
    with np.errstate(invalid="ignore"):
        from_below, from_above = noise.cdf(high) - noise.cdf(low), noise.sf(low) - noise.sf(high)
    return np.maximum(np.where(np.asarray(low) + np.asarray(high) > 0, from_above, from_below), 0.0)


def binned(mechanism: Subject, outcome_edges: Any, secret_edges: Any = None) -> Joint:
    """Return the joint of (bin of the secret, bin of the outcome); see `NoiseMechanism.binned`."""
    named = _edges(outcome_edges, "outcome_edges")
    cuts = named - mechanism.noise.loc
    law = mechanism.law
    if isinstance(law, FiniteLaw):
        rows = np.zeros((len(law.values), len(cuts) + 1))
        for i, share in enumerate(law.shares):
            rows[i] = np.exp(law.others.log_weights) @ _by_place(mechanism.noise, share + law.others.places, cuts)
        rows /= rows.sum(axis=1, keepdims=True)
        return Joint(Prior(np.exp(law.log_prior), [float(v) for v in law.values]), Channel(rows, None, _labels(named)))
    secret = mechanism.secret
    inner = _edges(secret_edges, "secret_edges") if secret_edges is not None else quantile_marks(secret)[1:-1]
    if isinstance(law, NormalLaw):  # y = x/n + the rest: one normal record, in other units
        n = law.records
        one = ContinuousLaw(gaussian(law.given_sd), normal(law.mean / n, law.sd / n))
        p_xy = _one_record(one, cuts - (n - 1) / n * law.mean, inner / n)
    else:
        p_xy = _several_records(law, cuts, inner) if isinstance(law, MeanLaw) else _one_record(law, cuts, inner)
    return Joint.from_matrix(p_xy / p_xy.sum(), _labels(inner), _labels(named))


def _by_place(noise: Noise, places: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the mass of each bin of outcomes when the noise is added at each place; shape (places, bins)."""
    z = np.concatenate([[-_FAR], cuts, [_FAR]]) - places[:, None]
    return _mass(noise, z[:, :-1], z[:, 1:])


def _one_record(law: Any, cuts: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return P(bin of X, bin of Y) by quadrature over the secret."""
    secret, noise = law.secret, law.noise
    ends = np.concatenate([[-_FAR], cuts, [_FAR]])
    bounds = np.concatenate([[secret.low], inner, [secret.high]])
    p_xy = np.zeros((len(bounds) - 1, len(cuts) + 1))
    fixed = quantile_marks(secret)
    marks = np.concatenate([fixed, (cuts[:, None] + noise.marks(fixed[-1] - fixed[0])).ravel()])
    for i, (low, high) in enumerate(pairwise(bounds)):
        edges = np.unique(np.clip(marks, max(low, fixed[0]), min(high, fixed[-1])))
        panels = np.broadcast_to(edges, (len(cuts) + 1, len(edges)))
        p_xy[i] = integrals(lambda x, j: secret.density(x) * _mass(noise, ends[j] - x, ends[j + 1] - x), panels)[0]
        for v, p in secret.atoms:
            if low < v <= high or (i == 0 and v == low):
                p_xy[i] += p * _mass(noise, ends[:-1] - v, ends[1:] - v)
    return p_xy


def _several_records(law: MeanLaw, cuts: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return P(bin of the one record, bin of Y): the record's part in each bin, convolved with the other records.

    All records are moved to the lattice of the law, means kept; its step bounds what that changes.
    """
    secret, n = law.secret, law.records
    cells = round((secret.high - secret.low) / (law.step * n))
    edges = np.concatenate([[-math.inf], inner, [math.inf]])
    mine, _ = rounded(secret, edges, secret.low, law.step * n, cells)
    others = np.zeros((n - 1) * cells + 1)
    at = np.round((law.others.places - (n - 1) / n * secret.low) / law.step).astype(int)
    others[at] = np.exp(law.others.log_weights)
    places = secret.low + law.step * np.arange(n * cells + 1)
    by_place = _by_place(law.noise, places, cuts)
    return np.stack([np.convolve(part, others) @ by_place for part in mine])
