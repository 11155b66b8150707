"""A metric as JSON holds it: its different distances, exactly, and which of them each pair has."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.entries import rational
from divulge.model.labels import alphabet
from divulge.model.metrics.checks import refuse_no_metric
from divulge.model.metrics.metric import MOST_PLACES, Metric

KEYS = {"places", "unit", "squared", "lengths", "which"}
"""What a metric is made of; `lengths` are squares where `squared`."""


def as_data(metric: Metric) -> dict[str, Any]:
    """Return a metric as plain data.

    >>> as_data(Metric.line(["1", "3"]))["lengths"], as_data(Metric.line(["1", "3"]))["which"]
    (['0', '2'], [[0, 1], [1, 0]])
    """
    return {"places": list(metric.labels), "unit": metric.unit, "squared": metric.rooted,
            "lengths": [str(length) for length in metric.lengths], "which": metric.classes.tolist()}  # fmt: skip


def of_data(found: Mapping[str, Any]) -> Metric:
    """Return the metric that `as_data` described; what is none is refused.

    >>> of_data(as_data(Metric.grid(2, 1, "500m"))).diameter
    0.5
    """
    places, lengths, which = found["places"], found["lengths"], found["which"]
    kind = "have distances of all pairs of its places"
    n = len(places) if isinstance(places, list) else 0
    try:
        classes = np.array(which, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of("metric", kind, "they", "malformed") from None
    if not (1 <= n <= MOST_PLACES and classes.shape == (n, n) and isinstance(lengths, list) and lengths
            and classes.min() >= 0 and classes.max() < len(lengths)
            and isinstance(found["unit"], str) and isinstance(found["squared"], bool)):  # fmt: skip
        raise DivulgeError.of("metric", kind, "they", "malformed")
    exactly = tuple(rational(length) for length in lengths)
    if list(exactly) != sorted(set(exactly)) or exactly[0] != 0:
        raise DivulgeError.of("metric", "list its distances once each, rising from 0", "they", "listed otherwise")
    labels: Any = range(n) if places == list(range(n)) else alphabet(places, n, "places")
    made = Metric(labels, classes.astype(np.int32), exactly, found["squared"], f"matrix of {n} places", found["unit"])
    refuse_no_metric(made.matrix, labels)
    return made
