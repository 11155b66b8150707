"""Random tables, and the models of tables counted row by row, as their papers define them."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np

Rows = list[tuple[Any, ...]]


def people(rng: np.random.Generator, rows: int, columns: int = 2, values: int = 3) -> dict[str, list[Any]]:
    """Return columns a, b, ... that people may know, and a secret s that depends on them a little."""
    found = {name: rng.integers(0, int(rng.integers(1, 4)), rows).tolist() for name in "abcdef"[:columns]}
    shift = rng.integers(0, 3, 10)
    mixed = sum(np.array(column) for column in found.values())
    secret = np.where(rng.random(rows) < 0.5, shift[mixed], rng.integers(0, values, rows))
    return found | {"s": secret.tolist()}


def groups(table: dict[str, list[Any]], known: Sequence[str], secret: str = "s") -> dict[tuple[Any, ...], list[Any]]:
    """Return the secrets of the rows of each group."""
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for i, value in enumerate(table[secret]):
        found[tuple(table[name][i] for name in known)].append(value)
    return found


def share(values: Sequence[Any], value: Any) -> F:
    return F(sum(one == value for one in values), len(values))


def models(table: dict[str, list[Any]], known: Sequence[str]) -> dict[str, Any]:
    """Return every model of the table by its definition, in fractions."""
    whole, found = table["s"], groups(table, known)
    values = sorted(set(whole))
    p = {s: share(whole, s) for s in values}
    q = {g: {s: share(rows, s) for s in values} for g, rows in found.items()}
    lifts = [q[g][s] / p[s] for g in q for s in values]
    surprised = any(float(q[g][s] / p[s]) > 1 - math.log(p[s]) + 1e-12 for g in q for s in values)
    return {
        "k": min(map(len, found.values())),
        "groups": len(found),
        "uniques": F(sum(len(rows) == 1 for rows in found.values()), len(whole)),
        "marketer": F(len(found), len(whole)),
        "lift": max(lifts),
        "least_lift": min(lifts),
        "certainty": max(q[g][s] for g in q for s in values),
        "t": max(sum(abs(q[g][s] - p[s]) for s in values) / 2 for g in q),
        "ordered_t": max(
            sum((abs(sum((q[g][s] - p[s] for s in values[: i + 1]), F(0))) for i in range(len(values))), F(0))
            / max(len(values) - 1, 1)
            for g in q
        ),
        "distinct_l": min(len(set(rows)) for rows in found.values()),
        "entropy_l": min(math.exp(-sum(float(v) * math.log(v) for v in q[g].values() if v)) for g in q),
        "beta": max(lifts) - 1,
        "enhanced_beta": None if surprised else max(lifts) - 1,
    }


def recursive_c(table: dict[str, list[Any]], known: Sequence[str], l: int) -> Any:
    """Return the largest r_1 / (r_l + ... + r_m), counts falling."""
    found = []
    for rows in groups(table, known).values():
        falling = sorted(Counter(rows).values(), reverse=True)
        rest = sum(falling[l - 1 :])
        found.append(F(falling[0], rest) if rest else math.inf)
    return max(found)
