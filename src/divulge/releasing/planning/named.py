"""Mechanisms, priors and models of how rows follow one another, given by the name of a file or of what all know."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from divulge.errors import DivulgeError
from divulge.files import read_channel, read_prior
from divulge.files.distances import metric_of
from divulge.files.opening import divided
from divulge.files.tables.table import open_table
from divulge.model.convert import as_channel
from divulge.model.metrics.metric import Metric
from divulge.releasing.column import Release
from divulge.releasing.estimating.counting import by_spark
from divulge.releasing.planning import protecting
from divulge.releasing.planning.listed import read_values
from divulge.releasing.planning.purposes import NAMED
from divulge.releasing.records.ran.following import Following
from divulge.releasing.records.ran.placed import MetricNoise

WORDS = ("lower", "noisy", "groups")
"""Sets of priors that are given as WORD=NUMBER, or WORD=COLUMNS."""


def file_of(prior: Any) -> str | None:
    """Return the file that a prior names, as PATH or TABLE:COLUMN; None for words and for priors themselves.

    >>> file_of("uniform"), file_of("lower=1/8"), file_of("census.csv:race")
    (None, None, 'census.csv:race')
    """
    if not isinstance(prior, (str, os.PathLike)) or prior == "uniform":
        return None
    return None if "=" in str(prior) and str(prior).partition("=")[0] in WORDS else os.fspath(prior)


def mechanism_in(given: Any, argument: str = "mechanism") -> Any:
    """Return the channel of a file; what is no path, and the name of a mechanism, as it is."""
    if not isinstance(given, (str, os.PathLike)) or (given in NAMED and not Path(given).exists()):
        return given
    if given != "-" and not Path(given).exists() and "." not in Path(given).name:
        raise DivulgeError.unknown(argument, given, NAMED, "be a channel, the file of one, or one of")
    return read_channel(given)


def prior_in(given: Any, mechanism: Any, source: Any, columns: Sequence[str], argument: str = "prior") -> Any:
    """Return the prior of a file, which must not be the released column itself; what is no path as it is."""
    path = file_of(given)
    if path is None:
        return given
    table, column = divided(path)
    is_path = isinstance(source, (str, os.PathLike)) and table and Path(table).exists()
    if is_path and [column] == list(columns) and Path(table).resolve() == Path(source).resolve():
        raise DivulgeError.of(
            argument, "be public", "it", "the released column itself, whose counts the mechanism would tell",
            "take another survey, uniform, lower=P or noisy=E; prior_from_data=True (--prior-from-data) takes it, and "
            "the statement says so.",
        )  # fmt: skip
    if path != "-" and not table and not Path(path).exists() and "." not in Path(path).name:
        known = "be a prior, the file of one, 'uniform', 'lower=P', 'noisy=E' or 'groups=A,B'"
        raise DivulgeError.of(argument, known, "it", repr(path))
    return read_prior(path, None if mechanism is None or isinstance(mechanism, str) else mechanism)


def distance_in(request: Release, values: Any) -> Metric | None:
    """Return the metric that a request names, in the unit of its rate."""
    given = request.distance
    if given is None or isinstance(given, Metric):
        return given
    labels = None if values is None else tuple(values[request.columns[0]])
    (promise,) = request.guarantee
    return metric_of(os.fspath(given), labels, promise.metric.unit)


def resolved(request: Release, source: Any) -> Release:
    """Return the request with the mechanism and the prior of files in the place of their names."""
    mechanism = mechanism_in(request.mechanism)
    prior = prior_in(request.prior, mechanism, source, request.columns)
    only = request.columns[0] if len(request.columns) == 1 else None
    values = None if request.values is None else read_values(request.values, only)
    if isinstance(request.protect, (str, os.PathLike)) and not by_spark(source, request.engine):
        law = protecting.law_in(request.protect, open_table(source), request.columns)
        request = replace(request, protect=law)
    distance = distance_in(request, values)
    values = None if distance is not None else values  # its places are the answers
    return replace(request, mechanism=mechanism, prior=prior, values=values, distance=distance)


def followed(choice: Release, mechanism: Any) -> Following | None:
    """Return how a row of a person follows another, in the order of the mechanism; None where none is given."""
    if choice.chain is None:
        return None
    given = choice.chain
    model = read_channel(given) if isinstance(given, (str, os.PathLike)) else as_channel(given)
    if isinstance(mechanism, MetricNoise):
        return Following.of(model, None, mechanism.numbered, mechanism.times)
    prior = mechanism.assumed.alone if mechanism.assumed.public else None
    return Following.of(model, prior, mechanism.channel.secrets, mechanism.times)
