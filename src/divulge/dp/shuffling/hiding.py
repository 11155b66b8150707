"""Among how many others a person hides when reports are shuffled: a local mechanism in four numbers.

Let b(y) be the least probability of report y over all secrets. Whatever the others hold, each of them draws from b with
probability sum b, whoever is changed, and the adversary may know who did not. Of two secrets with rows P and Q,

    delta(e) = E (H_1 + ... + H_n)_+ / n,  H = (P(y) - e^e Q(y)) / b(y) with probability b(y), else 0

(Balle, Bell, Gascon, Nissim, arXiv:1903.02837). A spread of (P / b, Q / b) that keeps its mean raises this at every e,
so three points and the origin stand for all: (p, 1), (1, p), each with probability alpha = TV / (p - 1), and (m, m)
with (1 - alpha (p + 1)) / m, where p is the largest ratio and m makes room for the points between. This is the
variation-ratio reduction (Wang et al., arXiv:2304.05007) with the reports in which P and Q agree kept apart: where
these are counted among all that the others may say, delta can come out below that of a mechanism. More total
variation is one more such spread: of all eps-DP mechanisms randomized response, where alpha = 1 / (p + 1) and no
reports agree, has the largest delta, which is the bound of Feldman, McMillan and Talwar (arXiv:2208.04591).
"""

import math
import sys
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from divulge.dp.mechanisms import RandomizedResponse
from divulge.dp.subjects import as_subject
from divulge.errors import DivulgeError
from divulge.exact import as_floats
from divulge.model.channel import Channel

UP = 1e-12
"""More than the relative rounding of the numbers of a mechanism, each of which moves to the safe side."""

_LARGEST = 300.0
"""An epsilon of which e^epsilon has a square that is a double; at a larger one no number of people hides anybody."""


@dataclass(frozen=True)
class Hiding:
    """A local mechanism as a person hides among the others."""

    epsilon: float  # of the local mechanism
    odds: float  # p, the largest ratio of two rows
    share: float  # alpha, of each of the two points that tell
    equal: float  # of the point that does not
    height: float  # m, how much rarer that point is among the others

    @classmethod
    def of(cls, local: Any) -> "Hiding":
        """Return the numbers of a mechanism, a channel, or an epsilon alone."""
        if is_number(local):
            return cls.worst(_bounded(float(min(local, sys.float_info.max))))
        if isinstance(local, RandomizedResponse):
            p = _odds(_bounded(local.epsilon))
            share = 1 / (p + local.categories - 1)
            return cls(local.epsilon, p, share, (local.categories - 2) * share, 1.0)
        subject = as_subject(local)
        if isinstance(subject, Channel):
            return _of_rows(as_floats(subject.matrix.toarray() if subject.sparse else subject.matrix))
        return cls.worst(_bounded(max(math.inf if one.infinite > 0 else one.highest for one in subject)))

    @classmethod
    def worst(cls, epsilon: float) -> "Hiding":
        """Return the numbers of all mechanisms with this epsilon together."""
        p = _odds(epsilon)
        return cls(epsilon, p, 1 / (p + 1), 0.0, 1.0)


def is_number(local: Any) -> bool:
    """Say whether a local mechanism is given by its epsilon alone."""
    return isinstance(local, Real) and local is not True and local is not False


def _odds(epsilon: float) -> float:
    return math.exp(epsilon) * (1 + UP)


def _bounded(epsilon: float) -> float:
    if not 0 < epsilon <= _LARGEST:
        hint = "a mechanism without a largest loss may tell who said what, however many take part."
        raise DivulgeError.of(
            "local", f"have an epsilon above 0 and of at most {_LARGEST:g}", "its", f"{epsilon:g}", hint
        )
    return epsilon


def _of_rows(rows: np.ndarray) -> Hiding:
    """Return the numbers of the worst over all pairs of rows."""
    seen = rows[:, rows.max(axis=0) > 0]
    least = seen.min(axis=0)
    epsilon = float(np.log(seen.max(axis=0) / least).max()) if (least > 0).all() else math.inf
    if epsilon <= UP:
        return Hiding(0.0, 1.0, 0.0, 1.0, 1.0)
    p = _odds(_bounded(epsilon * (1 + UP)))
    far, height, scaled = 0.0, 1.0, seen / least
    for i in range(len(seen) - 1):
        first, others = seen[i], seen[i + 1 :]
        far = max(far, float(np.maximum(others - first, 0.0).sum(axis=1).max()))
        above, below = p - np.maximum(scaled[i], scaled[i + 1 :]), np.minimum(scaled[i], scaled[i + 1 :]) - 1
        between = above + below > UP * p * 4  # neither of the points that tell
        if between.any():
            height = max(height, float(((p * below + above)[between] / (above + below)[between]).max()))
    share = min(far * (1 + UP) / (p - 1), 1 / (p + 1))
    height = min(height * (1 + UP), p)
    return Hiding(epsilon, p, share, max(0.0, 1 - share * (p + 1)) / height, height)
