"""Counts of values that nobody listed: those that occur often show themselves, by OpenDP's thresholded Laplace noise.

A value that one person alone has is published with a probability of at most delta: then its noisy count passes a
threshold. All other values tell as much as under discrete Laplace noise.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.extras import require
from divulge.files.tables.buffers import of_numbers, of_texts
from divulge.files.tables.values import values_of
from divulge.model.labels import text_of
from divulge.publishing.counting.bounding import bounded
from divulge.publishing.counting.groups import label_of_missing
from divulge.publishing.counting.tables import Table
from divulge.publishing.noising.families import Laplace
from divulge.publishing.noising.noise import each, half_width, thresholded
from divulge.publishing.queries import Unit

MOST_VALUES = 10**9
"""So many combinations occur at most where the number of rows is not public: for the width of intervals."""

_MARGIN = 1 + 1e-12
"""Factor on delta, to its safe side: thousands of roundings, where the formula has a dozen."""


@dataclass(frozen=True)
class Threshold:
    """Discrete Laplace noise of a scale, and the least noisy count that is published."""

    scale: float
    least: int
    epsilon: float
    delta: float

    @classmethod
    def keeping(cls, epsilon: Any, delta: Any, unit: Unit) -> "Threshold":
        """Return the least noise under (epsilon, delta)-DP, and for it the least threshold, from the law of the noise.

        Of k rows that one unit has, k values at most are nobody else's, each with k rows at most. With a = e^(-1/scale)
        one of them shows itself with probability 1 - (1 - p)^k at most, p = P(K >= least - k) = a^(least - k)/(1 + a).
        OpenDP states P(K > least - k), a factor a less, though it publishes counts that equal the threshold.

        >>> found = Threshold.keeping(1, 1e-6, Unit())
        >>> found.scale, found.least, found.delta <= 1e-6  # e^-14 / (1 + e^-1/2) is 5e-7
        (2.0, 28, True)
        """
        k, replaced = unit.at_most, unit.neighbors == "replaced"
        changed = (2 if replaced else 1) * k
        scale = float(Fraction(changed) / Fraction(epsilon))
        if Fraction(scale) * Fraction(epsilon) < changed:
            scale = math.nextafter(scale, math.inf)
        each_at_most = min(-math.expm1(math.log1p(-float(delta)) / k), -math.expm1(-1 / scale)) / _MARGIN
        least = k + 1
        least += max(0, math.ceil(-scale * math.log(each_at_most * (1 + math.exp(-1 / scale)))) - 1)
        return cls.of(scale, least, unit)

    @classmethod
    def of(cls, scale: float, least: int, unit: Unit) -> "Threshold":
        """Return noise of a scale with a threshold, and the (epsilon, delta) that they keep."""
        k = unit.at_most
        changed = (2 if unit.neighbors == "replaced" else 1) * k
        told = -math.expm1(k * math.log1p(-math.exp(-(least - k) / scale) / (1 + math.exp(-1 / scale)))) * _MARGIN
        return cls(scale, least, exact.double_above(Fraction(changed) / Fraction(scale)), told)


def occurring(table: Table, by: Sequence[str], unit: Unit, null_as: Any) -> tuple[dict[str, int], int]:
    """Return how often each combination of values occurs, by its text in JSON, and how many rows count."""
    names = ", ".join(f"{table.quote(name)} AS g{i}" for i, name in enumerate(by))
    groups = ", ".join(f"g{i}" for i in range(len(by)))
    inner = f"SELECT {names} FROM {bounded(table, by, unit)}"
    read = [*by, *([unit.person] if unit.person else [])]
    found = table.ask(f"SELECT {groups}, count(*) AS n FROM ({inner}) AS whole GROUP BY {groups}", read)
    counts: dict[str, int] = {}
    columns = [map(text_of, values_of(found.column(f"g{i}").combine_chunks())) for i in range(len(by))]
    missing = label_of_missing(null_as)
    for *texts, rows in zip(*columns, found.column("n").to_pylist(), strict=True):
        key = json.dumps([missing if text is None else text for text in texts])
        counts[key] = counts.get(key, 0) + int(rows)
    return counts, sum(counts.values())


def named(table: Table, column: str, unit: Unit, null_as: Any, threshold: Threshold) -> list[str]:
    """Return the values of a column that show themselves, in the order of their texts, but for missing ones.

    Their noisy counts are not published: they are what is listed for other statistics.
    """
    counts, _ = occurring(table, (column,), unit, null_as)
    drawn = thresholded(threshold.scale, threshold.least)(counts) if counts else {}
    return sorted({json.loads(key)[0] for key in drawn} - {label_of_missing(null_as)})


def published(counts: dict[str, int], by: Sequence[str], threshold: Threshold, level: float, rows: int | None) -> Any:
    """Return the tidy table of the combinations that show themselves, in the order of their texts."""
    pa = require("pyarrow", "tables")
    drawn = thresholded(threshold.scale, threshold.least)(counts) if counts else {}
    noise = Laplace(threshold.scale)
    width = half_width(noise, each(level, rows or MOST_VALUES))
    keys = sorted(drawn, key=json.loads)
    values = np.array([int(drawn[key]) for key in keys], dtype=np.int64)
    parts = [json.loads(key) for key in keys]
    columns = {
        "statistic": of_texts(["count"] * len(keys), pa.string()),
        **{name: of_texts([part[i] for part in parts], pa.string()) for i, name in enumerate(by)},
        "value": of_numbers(values), "low": of_numbers(values - width), "high": of_numbers(values + width),
        "standard_error": of_numbers(np.full(len(keys), float(noise.deviation))),
    }  # fmt: skip
    return pa.Table.from_arrays(list(columns.values()), list(columns))
