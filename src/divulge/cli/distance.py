"""The option that says how far secrets are from each other, for commands that know metric privacy."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from divulge.errors import DivulgeError

if TYPE_CHECKING:
    from divulge.guarantees.guarantee import Guarantee
    from divulge.model.labels import Labels
    from divulge.model.metrics.metric import Metric

DistanceOption = Annotated[
    str | None,
    typer.Option(
        "--distance",
        metavar="FILE|line|grid:WxH:STEP",
        help="How far secrets are apart, for metric=EPS: a matrix of distances (CSV or JSON, labels on both axes), "
        "line for secrets that are numbers, or a grid such as grid:5x5:500m, x fastest.",
    ),
]

_GRID = re.compile(r"grid:(\d+)[x\u00d7](\d+)(?::(.+))?")


def metric_of(text: str | None, labels: "Labels | None" = None) -> "Metric | None":
    """Return the metric that --distance names; `line` is that of the labels, which must be numbers, or of positions.

    Examples
    --------
    >>> metric_of("grid:2x2:500m")
    grid of 2 x 2, step 1/2 km: 4 places, distances 0.5 to 0.707107 km
    >>> metric_of("line", ("10", "20")).diameter
    10.0
    """
    from divulge.model.metrics.metric import Metric

    if text is None:
        return None
    grid = _GRID.fullmatch(text.strip())
    if grid is not None:
        return Metric.grid(int(grid[1]), int(grid[2]), grid[3] or 1)
    if text.strip() == "line" or text.startswith("line:"):
        step = text.partition(":")[2] or 1
        if labels is None:
            hint = "give a matrix of distances, or grid:WxH:STEP."
            raise DivulgeError.of("--distance", "be of known secrets", "line", "about a prior or channel", hint)
        if isinstance(labels, range):
            return Metric.line(len(labels), step)
        found = Metric.line(list(labels), step)
        return Metric.of(found.matrix, labels, unit=found.unit) if any(isinstance(x, str) for x in labels) else found
    return _of_file(text)


def _of_file(path: str) -> "Metric":
    from divulge.files.channels.payoffs import read_payoffs
    from divulge.model.labels import same
    from divulge.model.metrics.metric import Metric

    found = read_payoffs(path)
    if found.actions is not None and found.secrets is not None and not same(found.actions, found.secrets):
        raise DivulgeError(f"{path}: must name the same places in its first row and first column, in one order.")
    return Metric.of(found.matrix, found.actions or found.secrets)


def parsed(texts: list[str], distance: str | None, labels: "Labels | None" = None) -> list["Guarantee"]:
    """Return the guarantees of a command line, those about distances with their metric."""
    from divulge.guarantees.catalog import parse

    metric = metric_of(distance, labels)
    return [parse(text, metric) for text in texts]
