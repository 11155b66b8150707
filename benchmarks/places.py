"""The best mechanism under a metric, and planar noise, beside qif in one run: mean distance, level, processor time.

Run: python benchmarks/places.py [quick]. Levels of ours are decided in integers and rounded up. qif gives doubles whose
rows need not sum to 1, which are no mechanism: their level is the largest ratio of the entries, to some 1e-14.
"""

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import divulge as dv

EPSILON = 1.0
"""Per step, of the designs."""

NOISE = 0.5
"""Per step, of planar noise."""


def counts(w: int) -> list[int]:
    """Return how many people are at each place of a w x w grid, x fastest: one town, and a suburb."""
    return [
        1 + 60 // (1 + (x - 1) ** 2 + (y - 1) ** 2) ** 2 + 30 // (1 + (x - w + 2) ** 2 + (y - w + 3) ** 2)
        for y in range(w)
        for x in range(w)
    ]


def apart(w: int) -> np.ndarray:
    """Return the distances of the places of a w x w grid."""
    x, y = np.arange(w * w) % w, np.arange(w * w) // w
    return np.hypot(x[:, None] - x, y[:, None] - y)


def designed_by_qif(w: int) -> np.ndarray:
    """Return the channel with the least mean distance that qif finds."""
    import qif

    qif.set_default_type(qif.double)
    people, distance = np.array(counts(w), dtype=float), apart(w)
    return np.asarray(
        qif.mechanism.d_privacy.min_loss_given_d(
            people / people.sum(),
            w * w,
            lambda a, b: EPSILON * distance[a, b],
            lambda a, b: float(distance[a, b]),
        )
    )


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what a function returns, and the seconds of processor time, of all threads, that it took."""
    started = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - started


def row(name: str, channel: Any, epsilon: float, w: int, seconds: float) -> str:
    """Return what a channel has: mean distance, level, what it is above epsilon, how far rows are from 1."""
    people = dv.Prior.from_counts(counts(w))
    if isinstance(channel, np.ndarray):
        if not channel.size:
            return f"{name:36}{'an empty matrix':14}{seconds:51.2f}"
        loss = float((people.floats[:, None] * channel * apart(w)).sum())
        level, sums = of_entries(channel, w), float(np.abs(channel.sum(axis=1) - 1).max())
    else:
        loss = dv.adversaries.expected_distance(people, channel, dv.Metric.grid(w, w))
        level, sums = exactly(channel, w), 0.0
    return f"{name:36}{loss:14.9f}{level:14.9f}{level - epsilon:12.1e}{sums:10.1e}{seconds:9.2f}"


def exactly(channel: Any, w: int) -> float:
    """Return the least rate that a mechanism keeps, decided in integers and rounded up."""
    return float(dv.MetricPrivacy.of(channel, dv.Metric.grid(w, w)).epsilon)


def of_entries(entries: np.ndarray, w: int) -> float:
    """Return the same of entries that are no channel to the last digit: the largest ratio over the distance."""
    distance = apart(w)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(entries, 0.0))
        ratios = np.nan_to_num(logs[:, None, :] - logs[None, :, :], nan=0.0, posinf=math.inf).max(axis=2)
    off = ~np.eye(w * w, dtype=bool)
    return float((ratios[off] / distance[off]).max())


def main() -> None:
    import qif

    sizes = (5,) if "quick" in sys.argv else (5, 7)
    dv.design(dv.Prior.from_counts(counts(3)), dv.MetricPrivacy(EPSILON, dv.Metric.grid(3, 3)), utility="distance")
    print(f"{'':36}{'mean distance':>14}{'level':>14}{'- epsilon':>12}{'rows - 1':>10}{'seconds':>9}")
    for w in sizes:
        people, grid = dv.Prior.from_counts(counts(w)), dv.Metric.grid(w, w)
        best, seconds = timed(lambda p, g: dv.design(p, dv.MetricPrivacy(EPSILON, g), utility="distance"), people, grid)
        print(row(f"design N={w * w}, divulge", best.channel, EPSILON, w, seconds), f" gap {best.gap:.1e}", flush=True)
        theirs, seconds = timed(designed_by_qif, w)
        print(row(f"design N={w * w}, qif", theirs, EPSILON, w, seconds), flush=True)
    for w in () if "quick" in sys.argv else (10, 20):  # too large for the program of qif here
        people, grid = dv.Prior.from_counts(counts(w)), dv.Metric.grid(w, w)
        best, seconds = timed(lambda p, g: dv.design(p, dv.MetricPrivacy(EPSILON, g), utility="distance"), people, grid)
        shown = row(f"design N={w * w}, divulge", best.channel, EPSILON, w, seconds)
        print(shown, f" gap {best.gap:.3f}, {best.method}", flush=True)
    w = 10
    ours, seconds = timed(dv.mechanisms.planar_geometric, dv.Metric.grid(w, w), NOISE)
    print(row(f"planar geometric N={w * w}, divulge", ours, NOISE, w, seconds), flush=True)
    for name in ("planar_geometric_grid", "planar_laplace_grid"):
        theirs, seconds = timed(getattr(qif.mechanism.geo_ind, name), w, w, 1.0, NOISE)
        print(row(f"{name} N={w * w}, qif", theirs, NOISE, w, seconds), flush=True)


if __name__ == "__main__":
    main()
