"""Small lattices, what their nodes keep and lose by definition, and certificates checked without the search."""

import math
from collections import Counter
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from tables.drawn import models

import divulge as dv

H = dv.tables.Hierarchy
LADDERS = {"a": H.ladder(2, 4), "b": H.table([[0, "x", "*"], [1, "x", "*"], [2, "y", "*"]]), "c": H.flat()}


def people(rng: np.random.Generator, rows: int, secrets: int = 3) -> dict[str, list[Any]]:
    known = {"a": rng.integers(0, 8, rows), "b": rng.integers(0, 3, rows), "c": rng.integers(0, 2, rows)}
    secret = np.where(rng.random(rows) < 0.2, known["b"], rng.integers(0, secrets, rows))
    return {name: column.tolist() for name, column in {**known, "s": secret}.items()}


def coarse(table: dict[str, list[Any]], node: dict[str, int]) -> dict[str, list[Any]]:
    return table | {name: [LADDERS[name].path(v)[level] for v in table[name]] for name, level in node.items()}


KEEPS = {
    "k": lambda m, v: m["k"] >= v, "distinct-l": lambda m, v: m["distinct_l"] >= v, "t": lambda m, v: m["t"] <= v,
    "ordered-t": lambda m, v: m["ordered_t"] <= v, "lift": lambda m, v: m["lift"] <= v,
    "beta": lambda m, v: m["beta"] <= v,
    "enhanced-beta": lambda m, v: m["enhanced_beta"] is not None and m["enhanced_beta"] <= v,
    "entropy-l": lambda m, v: m["entropy_l"] >= float(v) - 1e-12,
    "pml": lambda m, v: math.log(m["lift"]) <= v,
    "pmc": lambda m, v: m["least_lift"] > 0 and -math.log(m["least_lift"]) <= v,
    "lip": lambda m, v: m["least_lift"] > 0 and max(math.log(m["lift"]), -math.log(m["least_lift"])) <= v,
    "delta-disclosure": lambda m, v: m["least_lift"] > 0 and max(m["lift"], 1 / m["least_lift"]) < math.exp(v),
}  # fmt: skip


def keeps(table: dict[str, list[Any]], known: list[str], asked: list[tuple[str, Any]]) -> bool:
    found = models(table, known)
    return all(KEEPS[kind](found, F(value)) for kind, value in asked)


def entropy_loss(table: dict[str, list[Any]], node: dict[str, int]) -> float:
    whole = coarse(table, node)
    counts = {name: (Counter(table[name]), Counter(whole[name])) for name in node}
    return sum(
        -math.log2(counts[name][0][v] / counts[name][1][g])
        for name in node for v, g in zip(table[name], whole[name], strict=True)
    )  # fmt: skip


def discernibility(table: dict[str, list[Any]], node: dict[str, int]) -> float:
    whole = coarse(table, node)
    return sum(n * n for n in Counter(zip(*(whole[name] for name in node), strict=True)).values())


def granularity(table: dict[str, list[Any]], node: dict[str, int]) -> float:
    total = 0.0
    for name in node:
        values = sorted(set(table[name]))
        up = {v: LADDERS[name].path(v)[node[name]] for v in values}
        leaves = Counter(up.values())
        total += sum((leaves[up[v]] - 1) / max(len(values) - 1, 1) for v in table[name]) / len(table[name])
    return total / len(node)


def group_entropy(table: dict[str, list[Any]], node: dict[str, int]) -> float:
    whole, n = coarse(table, node), len(table["s"])
    return -sum(c / n * math.log(c / n) for c in Counter(zip(*(whole[x] for x in node), strict=True)).values())


LOSSES = {
    "entropy": entropy_loss, "discernibility": discernibility, "granularity": granularity,
    "class-size": lambda table, node: len(table["s"]) / models(coarse(table, node), list(node))["groups"],
    "mutual-information": lambda table, node: group_entropy(table, dict.fromkeys(node, 0)) - group_entropy(table, node),
    "information": lambda table, node: secret_information(table) - secret_information(coarse(table, node)),
}  # fmt: skip


def secret_information(table: dict[str, list[Any]]) -> float:
    return dv.assess(pa.table({n: list(map(str, c)) for n, c in table.items()}), ["a", "b", "c"], "s").information


ASKED = [
    [("k", 2)], [("k", 4)], [("distinct-l", 2)], [("t", "1/4")], [("ordered-t", "1/8")], [("lift", 2)], [("beta", 1)],
    [("enhanced-beta", 1)], [("entropy-l", "1.8")], [("pml", "1/2")], [("pmc", 2)],
    [("k", 3), ("t", "2/5"), ("lift", 2)], [("lip", 1)], [("delta-disclosure", "3/2")],
]  # fmt: skip


def nodes() -> list[dict[str, int]]:
    return [dict(zip(LADDERS, node, strict=True)) for node in product(*(range(h.height + 1) for h in LADDERS.values()))]


def check(table: dict[str, list[Any]], found: Any, asked: list[tuple[str, Any]], loss: str) -> None:
    """Check the certificate by its words: every node is below one that fails, or loses as much."""
    proof, measure = found.certificate, LOSSES[loss]
    for why in proof.infeasible:
        whole = coarse(table, why.levels)
        assert not keeps(whole, list(LADDERS), asked)
        inside = [table["s"][i] for i in range(len(table["s"]))
                  if all(str(whole[name][i]) == str(value) for name, value in why.group.items())]  # fmt: skip
        kind = why.guarantee.partition("=")[0]
        if kind == "k":
            assert why.measured == len(inside)
        if kind in ("lift", "beta", "pml"):
            share = F(inside.count(why.value), len(inside)) / F(table["s"].count(why.value), len(table["s"]))
            assert why.measured == share
    for levels, bound in proof.costly:
        assert bound <= measure(table, levels) * (1 + 1e-9)
        assert bound >= proof.loss * (1 - 1e-9)
    for node in nodes():
        below = any(all(node[n] <= why.levels[n] for n in node) for why in proof.infeasible)
        above = any(all(node[n] >= levels[n] for n in node) for levels, _ in proof.costly)
        assert below or above or measure(table, node) >= proof.loss * (1 - 1e-9) - 1e-9
        if proof.costly:
            assert below or above
