"""Certification: integers over 2^bits that keep a rate per distance, decided exactly."""

import math

import numpy as np

from divulge.errors import DivulgeError
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.model.channel import Channel
from divulge.model.labels import Labels
from divulge.model.metrics.metric import Metric

LOWEST = 1e-9
"""The rate times the least distance of two places is at least so large: below, whole numbers of 53 bits have to be
mixed with a millionth of a constant mechanism and more, for rounding alone."""

_RAREST = 1e-9
"""Outcomes that no secret leads to with more probability are left out."""

_TRIES = 8
"""Constants that are mixed in, each four times the one before: the last costs 4^8 = 65,536 units of the integers."""
_MOST = 1e15
"""A constraint with a larger factor is kept by any entry that an integer can hold."""

_CELLS = 1 << 22
"""Products that are made at a time: 32 MB of doubles."""


def certified(found: np.ndarray, promise: MetricPrivacy, secrets: Labels, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (integers of shape (N, M'), which outcomes they are) near a channel, keeping the promise exactly.

    A channel whose column y breaks C_ay <= E C_by by v_y (E - 1) at most keeps it after it is mixed with a share t of
    the constant mechanism q ~ v, t / (1 - t) = sum v. Rounding to integers is a break of one unit in each entry.
    """
    kept = np.flatnonzero(found.max(axis=0) > _RAREST)
    channel = found[:, kept] / found[:, kept].sum(axis=1, keepdims=True)
    metric = promise.metric.reordered(secrets)
    broken, least = _broken(channel, metric, float(promise.epsilon))
    unit = (least + 1) / (least - 1) * 2.0**-bits
    for power in range(_TRIES):
        gap = broken + 4 ** (power + 1) * unit
        total = float(gap.sum())
        mixed = (channel + gap[None, :]) / (1 + total)
        integers = _integers(mixed, bits)
        if promise.holds_for(Channel.from_weights(integers, 2**bits, secrets)).holds:
            return integers, kept
    raise DivulgeError.of(
        "bits", "be enough for the promise", "it", str(bits), "ask for more bits, or a coarser metric."
    )


def _broken(channel: np.ndarray, metric: Metric, epsilon: float) -> tuple[np.ndarray, float]:
    """Return by how much each column breaks the constraints, over E - 1, and the least E; rounded up."""
    i, j = metric.pairs
    factors = np.exp(np.minimum(epsilon * metric.matrix[i, j] * (1 - 1e-14), math.log(_MOST)))
    worst = np.zeros(channel.shape[1])
    for part in np.array_split(np.arange(len(i)), -(-len(i) * channel.shape[1] // _CELLS)):
        e = factors[part, None]
        for a, b in ((i[part], j[part]), (j[part], i[part])):
            worst = np.maximum(worst, ((channel[a] - e * channel[b]) / (e - 1)).max(axis=0))
    return worst, float(factors.min())


def _integers(channel: np.ndarray, bits: int) -> np.ndarray:
    """Return whole numbers near 2^bits times each row, which sum to 2^bits: the largest remainders are rounded up."""
    scaled = channel * 2.0**bits
    whole = np.floor(scaled).astype(np.int64)
    for row, rest in zip(whole, scaled - whole, strict=True):
        lacking = 2**bits - int(row.sum())
        order = np.argsort(-rest, kind="stable")
        while lacking:  # a row of doubles sums to 1 up to its rounding
            some = order[: min(abs(lacking), len(row))]
            step = np.sign(lacking) * np.ones(len(some), dtype=np.int64)
            row[some] += step
            lacking -= int(step.sum())
    return whole
