"""Runs of a publication on two tables that differ in one unit, for an audit of what it claims."""

import math
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.settings import current, using
from divulge.files.tables.source import TableLike
from divulge.guarantees.guarantee import GuaranteesLike
from divulge.model.entries import whole_number
from divulge.publishing.counting.engines import counted
from divulge.publishing.noising.families import Noise
from divulge.publishing.noising.noise import noisy
from divulge.publishing.preparing import ready
from divulge.publishing.request import Publish
from divulge.publishing.statistics import Statistics
from divulge.publishing.task import task
from divulge.releasing.estimating.counting import EngineName
from divulge.releasing.request import Request
from divulge.units import Unit

MOST_RUNS = 10_000_000
"""Runs on each table: they know a frequency to 1 / sqrt(runs), 3e-4, and are listed as one row each."""

_BINS = 9
"""Outcomes are told apart by the log-likelihood ratio, in so many steps."""


def repeated_runs(
    table: TableLike,
    neighbor: TableLike,
    statistics: Statistics,
    *,
    times: int,
    guarantee: GuaranteesLike,
    engine: EngineName = "local",
    unit: Unit = "nats",
    **options: Any,
) -> Any:
    """Return many runs of `publish` on each of two tables: which table it was, and what was seen, for `audit`.

    What is seen is the log-likelihood ratio of all noisy numbers under the noise that was announced, in steps that do
    not depend on the runs: the best test of one table against the other. The rows are for an audit: published, they
    would average the noise away.

    Parameters
    ----------
    table, neighbor : tables that differ in one unit, as for `publish`
    statistics : as for `publish`, without quantiles
    times : int
        Runs on each table.
    guarantee : as for `publish`
    engine : "local" or "spark"
    unit : "nats" or "bits"
    **options
        As for `publish`: person, at_most, neighbors, prior, values, noise, split, ...

    Returns
    -------
    pyarrow.Table
        Columns "table" ("first" or "second") and "outcome", 2 `times` rows.

    Raises
    ------
    DivulgeError
        When the tables cannot be published, give other queries, or are told apart by nothing.

    Examples
    --------
    >>> here, there = {"ill": ["yes", "no"]}, {"ill": ["no", "no"]}
    >>> runs = repeated_runs(here, there, dv.Count("ill"), times=10, guarantee="dp=1", values={"ill": ["yes", "no"]})
    >>> runs.num_rows, sorted(set(runs["table"].to_pylist()))
    (20, ['first', 'second'])
    """
    options["record_prior"] = options.pop("prior", options.get("record_prior"))
    request: Any = Request.of(
        "publish", statistics=statistics, guarantee=guarantee, engine=engine, unit=unit, **options
    )
    return _runs(request, table, neighbor, times)


def runs_of(request: Publish, neighbor: Any, *, times: int) -> Any:
    """Return such runs of a request on its own table and on a neighbor of it."""
    with using(**request.settings):
        return _runs(request, request.source, neighbor, times)


def _runs(request: Publish, table: Any, neighbor: Any, times: int) -> Any:
    times = whole_number(times, "times", 1, MOST_RUNS)
    asked = task(request)
    if asked.values_from_data:
        raise DivulgeError.of("values", "be listed, the same for both tables", "values_from_data", "True")
    plans = [ready(asked, one, request.engine) for one in (table, neighbor)]
    if plans[0].plan.queries != plans[1].plan.queries or plans[0].threshold is not None or plans[0].pending:
        raise DivulgeError.of("neighbor", "give the same queries as the table", "it", "of another kind")
    queries, noises = plans[0].plan.queries, plans[0].noise.noises
    if any(query.kind == "ranks" for query in queries):
        raise DivulgeError.of(
            "statistics", "be counts, sums, means, proportions or variances", "one of them", "quantiles"
        )
    exact = [counted(made.table, queries, made.values, asked.unit, asked.null_as).totals for made in plans]
    pairs = [
        (noise, first.ravel(), second.ravel())
        for noise, first, second in zip(noises, *exact, strict=True)
        if noise.scale and (first != second).any()
    ]
    if not pairs:
        raise DivulgeError.of("neighbor", "differ from the table in what is published", "the difference", "none")
    moved = max(int((first != second).sum()) for _, first, second in pairs)
    current().limits.allow("the runs, times the cells in which the tables differ,", "cells", times * moved)
    edges = _edges(pairs)
    seen = [np.searchsorted(edges, _ratios(pairs, which, times)) for which in (0, 1)]
    pa = require("pyarrow", "tables")
    names = np.array([f"loss {i + 1} of {_BINS}" for i in range(_BINS)])
    return pa.table({"table": ["first"] * times + ["second"] * times, "outcome": [*names[seen[0]], *names[seen[1]]]})


def _ratios(pairs: list[tuple[Noise, np.ndarray, np.ndarray]], which: int, times: int) -> np.ndarray:
    """Return log P(y | first) / P(y | second) of the noise that is announced, of so many fresh draws on one table."""
    total = np.zeros(times)
    for noise, first, second in pairs:
        moved = np.flatnonzero(first != second)
        a, b = first[moved], second[moved]
        y = noisy(np.tile((a, b)[which], (times, 1)), noise)
        total += noise.log_ratio(y, a, b)
    return total


def _edges(pairs: list[tuple[Noise, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return where the steps of the log-likelihood ratio end: between its ends, or in standard deviations."""
    if all(noise.bounded for noise, _, _ in pairs):
        top = math.fsum(float(noise.loss(int(abs(a - b).sum()))) for noise, a, b in pairs)
        return np.linspace(-top, top, _BINS + 1)[1:-1]
    spread = math.sqrt(math.fsum(float(((a - b) ** 2).sum()) / noise.scale**2 for noise, a, b in pairs))
    return np.linspace(-2.5 * spread, 2.5 * spread, _BINS - 1)
