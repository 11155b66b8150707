"""From scores to error rates at every threshold, with exact bounds, and to what these rates show."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.auditing.bands import lower_band, upper_band
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.channel import Channel
from divulge.model.record import Record
from divulge.releasing.estimating.intervals import clopper_pearson

IN, OUT = "in the data", "not in the data"

OF_PAIRS = ("ldp", "dp", "lift-capacity", "adp", "tv", "kl", "rdp", "zcdp", "bounded-cdp", "tcdp", "tcdp-capped", "gdp")
"""Kinds of claims about any two data sets that survive post-processing: error rates refute them."""

_SAFE = 1e-12
"""By more than a bound is off by rounding, relatively."""


@dataclass(frozen=True, eq=False)
class Rates(Record):
    """Error rates of the events score >= threshold, the strictest first; all bounds hold at once.

    thresholds : float array of shape (K,)
    true_positives, false_positives : int arrays of shape (K,); how many members, and how many others, score at least so
        high
    lower : float array of shape (K,); lower bounds on the true-positive rate
    upper : float array of shape (K,); upper bounds on the false-positive rate

    >>> found = Rates.of(np.arange(20.0), np.arange(20) >= 10, 0.05)
    >>> int(found.true_positives[9]), int(found.false_positives[9]), round(float(found.upper[9]), 3)
    (10, 0, 0.429)
    """

    thresholds: np.ndarray
    true_positives: np.ndarray
    false_positives: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    members: int
    others: int

    @classmethod
    def of(cls, scores: np.ndarray, member: np.ndarray, risk: float, cut: float | None = None) -> "Rates":
        """Return the rates at every score that occurs, in a band; or at one threshold that was fixed beforehand.

        Each side, members and others, has half of the risk. Scores that tie are on the same side of every threshold.
        """
        inside, outside = scores[member], scores[~member]
        if cut is None:
            thresholds = np.unique(scores)[::-1]
            hits, alarms = _counts(inside, thresholds), _counts(outside, thresholds)
            low = lower_band(hits, len(inside), risk / 2)
            high = upper_band(alarms, len(outside), risk / 2)
        else:
            thresholds = np.array([cut])
            hits, alarms = _counts(inside, thresholds), _counts(outside, thresholds)
            return cls.fixed(thresholds, hits, alarms, (len(inside), len(outside)), risk)
        return cls(thresholds, hits, alarms, *_apart(low, high), len(inside), len(outside))

    @classmethod
    def fixed(
        cls, thresholds: np.ndarray, hits: np.ndarray, alarms: np.ndarray, of: tuple[int, int], risk: float
    ) -> "Rates":
        """Return the rates of events that were fixed before these rows were looked at, each with its share of the risk.

        >>> found = Rates.fixed(np.zeros(1), np.array([50]), np.array([1]), (1000, 1000), 0.05)
        >>> round(float(found.epsilons()[0]), 10)
        1.9045372594
        """
        members, others = of
        low, _ = clopper_pearson(hits, np.full(len(hits), members), risk / len(hits))
        _, high = clopper_pearson(alarms, np.full(len(alarms), others), risk / len(alarms))
        return cls(thresholds, hits, alarms, *_apart(low, high), members, others)

    def epsilons(self, delta: float = 0.0) -> np.ndarray:
        """Return log (TPR - delta) / FPR, or that of the complement where it is larger, bounded from below.

        >>> found = Rates.of(np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999]), np.arange(2000) < 1000, 0.05, cut=0.5)
        >>> round(float(found.epsilons()[0]), 10)
        1.9045372594
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.log(np.maximum(self.lower - delta, 0.0) / self.upper)
            below = np.log(np.maximum(1 - self.upper - delta, 0.0) / (1 - self.lower))
        return np.maximum(np.nan_to_num(np.maximum(above, below), nan=0.0, neginf=0.0), 0.0)

    def mus(self) -> np.ndarray:
        """Return the mu of Gaussians that have such error rates, bounded from below.

        >>> Rates.of(np.arange(20.0), np.arange(20) >= 10, 0.05).mus().max().round(2).item()
        0.36
        """
        ndtri = require("scipy.special", "science").ndtri
        with np.errstate(invalid="ignore"):
            found = ndtri(self.lower) - ndtri(self.upper)
        return np.maximum(np.nan_to_num(found, nan=0.0, neginf=0.0), 0.0)

    def least_channel(self) -> Channel:
        """Return the mechanism that tells least of all whose error rates the bounds allow.

        Its trade-off is the concave hull of the bounds. What every allowed mechanism is can be made into it by
        forgetting: a promise that survives post-processing, and that it breaks, is broken (Blackwell).

        >>> rates = Rates.of(np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999]), np.arange(2000) < 1000, 0.05, cut=0.5)
        >>> rates.least_channel().floats[:, 0].round(6).tolist()
        [0.037335, 0.005559]
        """
        corners = self._hull()
        rows = np.diff(corners, axis=0).T[::-1]
        return Channel(rows, [IN, OUT], [f"event {i + 1}" for i in range(rows.shape[1])])

    def _hull(self) -> np.ndarray:
        """Return the corners (FPR, TPR) of the upper concave hull of the bounds, (0, 0) and (1, 1) (Andrew)."""
        useful = self.lower > self.upper
        points = np.column_stack([self.upper[useful], self.lower[useful]])
        points = points[np.lexsort((-points[:, 1], points[:, 0]))]
        first = np.concatenate([[True], points[1:, 0] > points[:-1, 0]]) if len(points) else np.zeros(0, bool)
        best = points[first]
        rising = np.concatenate([[True], best[1:, 1] > np.maximum.accumulate(best[:, 1])[:-1]]) if len(best) else first
        corners: list[tuple[float, float]] = [(0.0, 0.0)]
        for x, y in [*map(tuple, best[rising].tolist()), (1.0, 1.0)]:
            while len(corners) > 1:
                (x0, y0), (x1, y1) = corners[-2:]
                if (x1 - x0) * (y - y0) < (x - x0) * (y1 - y0):
                    break
                corners.pop()
            corners.append((x, y))
        return np.array(corners)

    def tpr_at(self, fpr: float) -> float:
        """Return a lower bound on the true-positive rate at a false-positive rate, by tests that mix thresholds.

        >>> Rates.of(np.arange(20.0), np.arange(20) >= 10, 0.05).tpr_at(0.5).__round__(3)
        0.624
        """
        least = float(self.upper.min(initial=1.0))
        if not least <= fpr <= 1:
            raise DivulgeError.of(
                "fpr", f"be from {least:.3g}, the least rate that {self.others:,} others show, to 1", "it", f"{fpr:g}",
                "more people who are not in the data show smaller rates.",
            )  # fmt: skip
        corners = self._hull()
        return float(np.interp(fpr, corners[:, 0], corners[:, 1]))


def _apart(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds moved outward by more than rounding."""
    return np.maximum(low * (1 - _SAFE), 0.0), np.minimum(high * (1 + _SAFE), 1.0)


def _counts(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return how many scores are at least as large as each threshold."""
    return len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left")


def membership_lift(ratio: Any, base_rate: float) -> float:
    """Return by what a share pi of members grows among those who are `ratio` times as probable to be seen when in.

    r / (pi r + 1 - pi), at most 1 / pi.

    >>> round(membership_lift(9.0, 0.1), 9), membership_lift(math.inf, 0.1)
    (5.0, 10.0)
    """
    return 1 / base_rate if ratio == math.inf else ratio / (base_rate * ratio + 1 - base_rate)
