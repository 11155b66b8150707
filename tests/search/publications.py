"""`python -m search.publications --draws 10000` compares all that can be seen of neighbors.

For each kind of statistic and each option two tables that differ in one row, or one person, are published many times
from the same counts. The attacker looks at everything: every number, width, error and note, how many there are, how
long the file is. Half of the draws choose the event that tells most and a direction, the others test it: what is
printed is a lower bound, at 1 - 5e-10, on the epsilon that this event shows beyond delta, beside the one promised.
"""

import argparse
import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import beta

import divulge as dv
from divulge.publishing.counting.bounds import EDGES, ends_of, histogram
from divulge.publishing.counting.engines import counted
from divulge.publishing.counting.unknown import occurring, published, thresholded
from divulge.publishing.describing import described
from divulge.publishing.noising.estimates import Drawn, Estimates, drawn, draws_of
from divulge.publishing.noising.noise import each, half_width, noisy
from divulge.publishing.preparing import Ready, between_bounds, listed, ready
from divulge.publishing.publication import finished
from divulge.publishing.request import Publish
from divulge.publishing.task import task

BY: dict[str, Any] = {"by": "sex"}
STATISTICS: dict[str, list[Any]] = {
    "counts": [dv.Count("sex"), dv.Count("sex", "ill")],
    "sums": [dv.Sum("age", (0, 60), **BY)],
    "means": [dv.Mean("age", (0, 60), **BY), dv.Mean("age", (0, 60))],
    "variances": [dv.Variance("age", (0, 60), **BY)],
    "shares": [dv.Proportion("ill", "yes", **BY)],
    "people": [dv.People("sex")],
    "quantiles": [dv.Quantiles("age", (0, 60), **BY, step=5, probabilities=(0.5,))],
    "many ways": [dv.Sum("age", (0, 60), by=by) for by in ("sex", "ill", ("sex", "ill"))],
}
UNLISTED: dict[str, list[Any]] = {
    "unlisted": [dv.Count("sex")], "named": [dv.Count("sex"), dv.Mean("age", (0, 60), **BY)],
}  # fmt: skip
"""Statistics by values that nobody listed, which show themselves: the last row is the only one that has its value."""

CHOSEN: dict[str, list[Any]] = {
    "bounds": [dv.Sum("age", "auto")], "bounds of means": [dv.Mean("age", "auto", **BY), dv.Count("sex")],
}  # fmt: skip
"""Statistics between bounds that noise chooses, which are seen too: the last row has a number far from all others."""

FILLED: dict[str, list[Any]] = {
    "filled": [dv.Mean("age", (0, 60), **BY), dv.Mean("age", (0, 60)), dv.Variance("age", (0, 60))],
    "cut": [dv.Sum("age", (0, 30))],
    "numbers": [dv.Sum("age", (0, 60))],
}  # fmt: skip
"""Statistics in which a missing number counts as one, which the last row has; numbers beyond their bounds; and how many
rows have a number, which the last one has not."""

FAR = 3_000
"""The number of the last row where bounds are chosen; all others are 20."""

DELTA = 0.01
APPROXIMATE = f"adp=1:{DELTA}"
CONCENTRATED = "zcdp=0.1"
OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {}, "added": {"neighbors": "added"}, "no other": {"no_other": True},
    "persons": {"person": "who", "rows_per_person": 2},
    "groups of persons": {"person": "who", "groups_per_person": 2, "rows_per_group": 2},
    "pml=0.5, lower=0.1": {"guarantee": "pml=0.5", "record_prior": "lower=0.1"},
    APPROXIMATE: {"guarantee": APPROXIMATE, "noise": "gaussian"},
    CONCENTRATED: {"guarantee": CONCENTRATED, "noise": "gaussian"},
    "persons with few rows in a group": {"guarantee": APPROXIMATE, "noise": "gaussian", "person": "who",
                                         "rows_per_person": 3, "rows_per_group": 2},
    "raised and agreeing": {"non_negative": True, "consistent": True, "whole": True},
}  # fmt: skip
OF_CHOSEN = ("as it is", "added", "persons", APPROXIMATE)
"""Options under which bounds are chosen, and missing numbers filled."""

GAUSSIAN = tuple(option for option, how in OPTIONS.items() if how.get("noise") == "gaussian")
"""Options under which no loss is bounded: what is promised is an epsilon at `DELTA`."""

VALUES = {"sex": ["f", "m"], "ill": ["yes", "no"]}
CONFIDENCE = 1 - 5e-10
"""So that a search of all kinds and options refutes by chance what is kept once in ten million times."""


ROWS = 300
"""So many that not all intervals are as wide as what was known before."""


def tables(age: int | None = 60) -> tuple[pa.Table, pa.Table]:
    """Return two tables that differ in the last row: the only one in its group, with a value of its own and a gap."""
    rows: dict[str, list[Any]] = {
        "sex": ["f"] * ROWS, "ill": ["no"] * (ROWS - 1) + ["yes"], "age": [20] * ROWS,
        "who": [f"p{i}" for i in range(ROWS)],
    }  # fmt: skip
    last = {"sex": "m", "ill": None, "age": age, "who": rows["who"][-1]}
    return pa.table(rows), pa.table({name: [*column[:-1], last[name]] for name, column in rows.items()})


def seen(found: Sequence[Estimates]) -> list[float]:
    """Return all that can be read off published statistics, as numbers: a blank one is none."""
    numbers: list[float] = []
    gone = np.concatenate([np.ravel(one.blank) for one in found])
    for name in ("values", "low", "high", "error"):
        flat = np.concatenate([np.ravel(np.asarray(getattr(one, name), dtype=float)) for one in found])
        numbers += np.where(gone, math.nan, flat).tolist()
    size, whole = len(str(numbers)), sum(number % 1 == 0 for number in numbers)
    return [*numbers, *map(float, gone), float(gone.sum()), float(size), float(whole)]


def repeated(made: Ready, totals: Sequence[np.ndarray], rows: int | None, draws: int) -> Iterator[list[Estimates]]:
    """Give so many publications of the same exact numbers; the noise of all is drawn in one call a query."""
    miss = each(made.task.level, draws_of(made.plan.queries, made.noise.noises))
    columns: list[Iterator[Drawn]] = []
    for query, noise, exact in zip(made.plan.queries, made.noise.noises, totals, strict=True):
        if query.kind == "ranks":
            columns.append(iter(lambda q=query, n=noise, e=exact: drawn([q], [n], [e], made.task.level)[0], None))
            continue
        width = half_width(noise, miss) if noise.scale else 0
        several = noisy(np.broadcast_to(exact, (draws, *np.shape(exact))).copy(), noise)
        columns.append(map(Drawn, several, itertools.repeat(width), itertools.repeat(noise.deviation)))
    for _ in range(draws):
        yield finished(made, [next(column) for column in columns], rows)


def labelled(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[float]:
    """Return the numbers that stand with each value that there is in either table, and how many values are named."""
    there = dict(zip(names, zip(*columns, strict=True), strict=True))
    gone = (math.nan,) * len(columns)
    return [float(x) for name in ("f", "m", "other", "no answer") for x in there.get(name, gone)] + [float(len(there))]


def unlisted(made: Ready, draws: int) -> Iterator[list[float]]:
    """Give what is seen of so many publications of counts that show themselves, or of statistics by such values."""
    asked, (name,) = made.task, made.task.by
    counts, rows = occurring(made.table, (name,), asked.unit, None)
    known: dict[Any, Any] = {}
    for _ in range(draws):
        if made.threshold is not None:
            table = published(counts, ["sex"], made.threshold, asked.level, rows)
            yield labelled(table["sex"].to_pylist(), [table[name].to_pylist() for name in ("value", "low", "high")])
            continue
        ((name, threshold),) = made.names
        shown_ = tuple(sorted(json.loads(key)[0] for key in thresholded(threshold.scale, threshold.least)(counts)))
        if shown_ not in known:
            full = listed(asked, made.table, {name: list(shown_)}, made.names)
            exact = counted(full.table, full.plan.queries, full.values, asked.unit).totals
            known[shown_] = full, repeated(full, exact, rows, draws)
        full, several = known[shown_]
        found = next(several)
        yield labelled(
            list(full.values[name]), [np.ravel(part) for one in found for part in (one.values, one.low, one.high)]
        )


def between(made: Ready, draws: int) -> Iterator[list[float]]:
    """Give what is seen of so many publications between bounds that are chosen anew: these, and the numbers."""
    (one,), unit = made.bounds, made.task.unit
    noises = noisy(np.broadcast_to(histogram(made.table, one, unit), (draws, len(EDGES))).copy(), one.noise)
    drawn_ends = [ends_of(counts, one.width) for counts in noises]
    times, known = Counter(drawn_ends), dict[Any, Iterator[list[Estimates]]]()
    for ends in drawn_ends:
        if ends not in known:
            full = between_bounds(made, (replace(one, ends=ends),))
            exact = counted(full.table, full.plan.queries, full.values, unit)
            known[ends] = repeated(full, exact.totals, exact.rows if unit.rows_known else None, times[ends])
        yield [*map(float, ends), *seen(next(known[ends]))]


def outcomes(
    kind: str, option: str, draws: int, publish: Callable[..., Iterator[list[Estimates]]] = repeated
) -> tuple[list[np.ndarray], float]:
    """Return what is seen of each table in so many publications, shape (draws, features), and the loss promised."""
    how: dict[str, Any] = {"guarantee": "dp=1", "values": VALUES} | OPTIONS[option]
    if kind in UNLISTED:
        how |= {"values": None, "noise": None}
    if kind == "filled":
        how |= {"fill": {"age": 10}}
    if kind == "cut":
        how |= {"tell_cut": True}
    if kind in ("numbers", "many ways"):
        how |= {"tell_numbers": True}
    here, there = tables(FAR if kind in CHOSEN else None if kind in ("filled", "numbers", "many ways") else 60)
    if how.get("neighbors") == "added":
        there = here.slice(0, ROWS - 1)
    found: list[np.ndarray] = []
    loss = 0.0
    for table in (here, there):
        request = Publish(
            statistics=(STATISTICS | UNLISTED | CHOSEN | FILLED)[kind], per_row="person" not in how, **how
        )
        made = ready(task(request), table, "local")
        promised = described(made, None)
        loss = promised.loss if option not in GAUSSIAN else _epsilon(promised.guarantees)
        if kind in UNLISTED:
            found.append(np.array(list(unlisted(made, draws))))
            continue
        if kind in CHOSEN:
            found.append(np.array(list(between(made, draws))))
            continue
        exact = counted(made.table, made.plan.queries, made.values, made.task.unit)
        rows = exact.rows if made.task.unit.rows_known else None
        found.append(np.array([seen(one) for one in publish(made, exact.totals, rows, draws)]))
    return found, loss


def _epsilon(guarantees: Any) -> float:
    """Return the epsilon at `DELTA` that is promised, or follows from rho."""
    if "adp" in guarantees:
        return float(guarantees["adp"]["epsilon"])
    return dv.compose(dv.dp.ZcdpRelease(float(guarantees["zcdp"]))).epsilon(DELTA).upper


MISSING = -1e9
"""Stands for a number that is not there: below all others."""

LEVELS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
"""Thresholds are these quantiles of what was seen."""


def shown(
    kind: str,
    option: str,
    draws: int,
    publish: Callable[..., Iterator[list[Estimates]]] = repeated,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Return a lower bound on the epsilon that the best event shows, and the one that is promised."""
    found, loss = outcomes(kind, option, draws, publish)
    here, there = (np.nan_to_num(x, nan=MISSING, posinf=-MISSING, neginf=2 * MISSING) for x in found)
    half = draws // 2
    here, there = (np.column_stack([x, _ratio(x, here[:half], there[:half])]) for x in (here, there))
    levels = np.quantile(np.concatenate([here[:half], there[:half]]), LEVELS, axis=0, method="nearest")
    first = [_times(x[:half], levels) for x in (here, there)]
    then = [_times(x[half:], levels) for x in (here, there)]
    ways = [(first[::order], then[::order]) for order in (1, -1)]
    delta = DELTA if option in GAUSSIAN else 0.0
    bounds = [_bounds(*chosen, half, delta, confidence) for chosen, _ in ways]
    best = int(bounds[1].max() > bounds[0].max())
    place = np.unravel_index(int(bounds[best].argmax()), bounds[best].shape)
    tested = _bounds(*ways[best][1], draws - half, delta, confidence)[place]
    return max(float(tested), 0.0), loss


def _ratio(x: np.ndarray, here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return what stands for the log-likelihood ratio of two tables: that of Laplace noise about the medians of both.

    |y - b| - |y - a| is y cut to the interval from a to b, but for a factor and a constant.
    """
    a, b = np.median(here, axis=0), np.median(there, axis=0)
    weights = np.sign(a - b) / np.maximum(here.std(axis=0), 1e-9)
    return np.clip(x, np.minimum(a, b), np.maximum(a, b)) @ weights


def _times(x: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return how often each feature is at a threshold, above it, and below it, shape (3, thresholds, features)."""
    above, at = ((compare(x[:, None, :], levels[None])).sum(axis=0) for compare in (np.greater, np.equal))
    return np.stack([at, above, len(x) - above - at])


def _bounds(a: np.ndarray, b: np.ndarray, runs: int, delta: float, confidence: float) -> np.ndarray:
    """Return log of the ratio of the least, less delta, and the largest chance of events, each outside with half of the
    miss."""
    miss = (1 - confidence) / 2
    low = np.where(a > 0, beta.ppf(miss, np.maximum(a, 1), runs - a + 1), 1e-300)
    high = np.where(b < runs, beta.ppf(1 - miss, b + 1, np.maximum(runs - b, 1)), 1.0)
    return np.log(np.maximum(low - delta, 1e-300) / high)


def pairs() -> list[tuple[str, str]]:
    """Return the kinds and options that go together: people are counted where a column says whose a row is."""
    listed = [(kind, option) for kind in STATISTICS for option in OPTIONS if kind != "people" or "persons" in option]
    more = [(kind, option) for kind in (*CHOSEN, *FILLED) for option in OF_CHOSEN]
    return [*listed, *((kind, APPROXIMATE) for kind in UNLISTED), *more]


def main() -> int:
    parser = argparse.ArgumentParser(prog="search.publications", description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--kind", action="append", help="only these kinds of statistics")
    asked = parser.parse_args()
    print(f"{'statistics':<16}{'option':<24}{'shown':>8}{'promised':>10}", flush=True)
    refuted = 0
    for kind, option in [pair for pair in pairs() if asked.kind is None or pair[0] in asked.kind]:
        found, promised = shown(kind, option, asked.draws)
        refuted += found > promised
        print(
            f"{kind:<16}{option:<24}{found:>8.3f}{promised:>10.3f}{'  REFUTED' if found > promised else ''}", flush=True
        )
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
