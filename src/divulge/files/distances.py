"""How far secrets are from each other, as a command line and a request name it: a file, a line, or a grid."""

import re
from typing import Any

from divulge.errors import DivulgeError
from divulge.files.channels.payoffs import read_payoffs
from divulge.model.labels import Labels, same
from divulge.model.metrics.metric import Metric

_GRID = re.compile(r"grid:(\d+)[x\u00d7](\d+)(?::(.+))?")
_LINE = re.compile(r"line(?::(.+))?")


def of_file(text: str) -> bool:
    """Say whether a text names a file, whose distances are numbers alone, and no line or grid.

    >>> of_file("words.csv"), of_file("line"), of_file("grid:2x2:500m")
    (True, False, False)
    """
    return not (_GRID.fullmatch(text.strip()) or _LINE.fullmatch(text.strip()))


def metric_of(text: str, labels: Labels | None = None, unit: str = "") -> Metric:
    """Return the metric that a text names; `line` is that of the labels, which must be numbers, or of positions.

    `text` is "grid:WxH:STEP", "line", "line:STEP", or the path of a matrix of distances in `unit`, with labels on both
    axes.

    >>> metric_of("grid:2x2:500m")
    grid of 2 x 2, step 1/2 km: 4 places, distances 0.5 to 0.707107 km
    >>> metric_of("line", ("10", "20")).diameter
    10.0
    """
    if (grid := _GRID.fullmatch(text.strip())) is not None:
        return Metric.grid(int(grid[1]), int(grid[2]), grid[3] or 1)
    if (line := _LINE.fullmatch(text.strip())) is not None:
        return _line(line[1] or 1, labels)
    found = read_payoffs(text, "--distance")
    if found.actions is not None and found.secrets is not None and not same(found.actions, found.secrets):
        raise DivulgeError(f"{text}: must name the same places in its first row and first column, in one order.")
    return Metric.of(found.matrix, found.actions or found.secrets, unit=unit)


def _line(step: Any, labels: Labels | None) -> Metric:
    """Return the metric of labels that are numbers, or of their positions."""
    if labels is None:
        raise DivulgeError.of("--distance", "be of known secrets", "line", "about a prior or channel",
                              "give a matrix of distances, or grid:WxH:STEP.")  # fmt: skip
    if isinstance(labels, range):
        return Metric.line(len(labels), step)
    named: Any = labels
    found = Metric.line(list(named), step)
    return Metric.of(found.matrix, named, unit=found.unit) if any(isinstance(x, str) for x in labels) else found
