"""The option that says how far secrets are from each other, for commands that know metric privacy."""

from typing import TYPE_CHECKING, Annotated

import typer

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


def metric_of(text: str | None, labels: "Labels | None" = None, unit: str = "") -> "Metric | None":
    """Return the metric that --distance names; None where it is not given."""
    from divulge.files import distances

    return None if text is None else distances.metric_of(text, labels, unit)


def parsed(texts: list[str], distance: str | None, labels: "Labels | None" = None) -> list["Guarantee"]:
    """Return the guarantees of a command line, those about distances with their metric."""
    from divulge.files.distances import of_file
    from divulge.guarantees.catalog import parse
    from divulge.model.metrics.quantities import unit_of_rates

    unit = unit_of_rates(texts, "guarantee") if distance is not None and of_file(distance) else ""
    metric = metric_of(distance, labels, unit)
    return [parse(text, metric) for text in texts]
