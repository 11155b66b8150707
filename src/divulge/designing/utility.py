"""What a design may maximize, as types: a mistyped name is found before anything runs."""

from collections.abc import Callable
from typing import Any, Literal, Protocol

from divulge.adversaries.adversary import Cost, Gain
from divulge.designing.linear.scores import Score
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.supports.correlated import About

UtilityName = Literal[
    "mutual-information", "total-variation", "chi-squared", "hellinger", "lautum-information", "le-cam", "hamming",
    "error", "absolute-distance", "squared-distance", "worst-hamming", "worst-absolute-distance", "estimation",
    "worst-estimation", "distance",
]  # fmt: skip
"""Utilities by name: functions of the lift, scores, errors of estimates; "distance" goes with `MetricPrivacy`."""


class Scores(Protocol):
    """A matrix of scores (N, M): an array, or a frame."""

    def __array__(self, *given: Any, **more: Any) -> Any: ...


Utility = (
    UtilityName | Callable[..., Any] | About | Score | Gain | Cost | SubConvex | Scores | list[Any] | tuple[Any, ...]
)
