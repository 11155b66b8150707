"""The sum of independent records: its values and log probabilities."""

import math
from fractions import Fraction

import numpy as np

from divulge.errors import DivulgeError

_MOST_SUMS = 200_000

_LEAST_LOG = -11_300.0
"""About the log of the smallest long double."""


def _lattice_step(values: np.ndarray) -> float | None:
    """Return the step of a lattice that holds all values to 1e-12 of their span, or None."""
    span = float(values[-1] - values[0])
    shares = ((values - values[0]) / span).tolist()
    gaps = [Fraction(share).limit_denominator(1_000_000) for share in shares]
    if any(abs(float(g) - share) > 1e-12 for g, share in zip(gaps, shares, strict=True)):
        return None
    denominator = math.lcm(*(g.denominator for g in gaps))
    numerator = math.gcd(*(int(g * denominator) for g in gaps))
    return span * (numerator / denominator)


def sums(values: np.ndarray, probabilities: np.ndarray, count: int, on_lattice: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (values, log probabilities) of the sum of `count` independent records."""
    if len(values) == 1:
        return values * count, np.zeros(1)
    if len(values) == 2:
        from scipy.stats import binom

        k = np.arange(count + 1)
        return values[0] * count + k * (values[1] - values[0]), binom.logpmf(k, count, probabilities[1])
    step = values[1] - values[0] if on_lattice else _lattice_step(values)
    if step is not None and (values[-1] - values[0]) / step * count <= _MOST_SUMS:
        if not on_lattice and count * math.log(min(probabilities[0], probabilities[-1])) < _LEAST_LOG:
            raise DivulgeError.of(
                "records", "leave every sum a probability above 1e-4900", "the rarest sum", "rarer",
                "use fewer records, or merge rare values at the ends.",
            )  # fmt: skip
        where = np.round((values - values[0]) / step).astype(int)
        base = np.zeros(where[-1] + 1, dtype=np.float64 if on_lattice else np.longdouble)
        base[where] = probabilities
        pmf = _power(base, count)
        keep = pmf > 0
        return (values[0] * count + np.arange(len(pmf)) * step)[keep], np.log(pmf[keep]).astype(np.float64)
    found, unit = {0.0: 1.0}, float(values[-1] - values[0]) * 1e-13
    for _ in range(count):
        merged: dict[float, float] = {}
        for s, p in found.items():
            for v, w in zip(values.tolist(), probabilities.tolist(), strict=True):
                key = round((s + v) / unit) * unit
                merged[key] = merged.get(key, 0.0) + p * w
        found = merged
        if len(found) > _MOST_SUMS:
            raise DivulgeError.of(
                "records", "leave few enough distinct sums to enumerate", "their number", f"over {_MOST_SUMS}",
                "round the values to a common grid.",
            )  # fmt: skip
    order = sorted(found)
    return np.array(order), np.log(np.array([found[s] for s in order]))


def _power(base: np.ndarray, count: int) -> np.ndarray:
    """Return the count-fold convolution of a distribution by repeated squaring (sums of positive terms only)."""
    result: np.ndarray | None = None
    while True:
        if count & 1:
            result = base if result is None else np.convolve(result, base)
        count >>= 1
        if not count:
            assert result is not None
            return result
        base = np.convolve(base, base)
