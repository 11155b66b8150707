"""Coarsened tables: the optimum by trying every node; certificates are checked by what they say, without the search."""

import math
from collections import Counter
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import few
from tables.drawn import models, recursive_c

import divulge as dv
from divulge.datasets import adult, adult_hierarchies

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
    [("k", 3), ("t", "2/5"), ("lift", 2)],
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


@pytest.mark.parametrize("seed", range(few(72)))
def test_it_is_the_best_of_all_nodes_and_its_certificate_says_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(6, 40)))
    asked = ASKED[seed % len(ASKED)]
    loss = list(LOSSES)[seed // 2 % len(LOSSES)]
    known = list(LADDERS)
    feasible = [node for node in nodes() if keeps(coarse(table, node), known, asked)]
    texts = [f"{kind}={value}" for kind, value in asked]
    if not feasible:
        with pytest.raises(dv.DivulgeError, match="hold at least where all rows are one group"):
            dv.generalize(pa.table(table), known, "s", guarantees=texts, hierarchies=LADDERS, loss=loss)
        return
    found = dv.generalize(pa.table(table), known, "s", guarantees=texts, hierarchies=LADDERS, loss=loss)
    assert found.levels in feasible
    least = min(LOSSES[loss](table, node) for node in feasible)
    assert found.loss == pytest.approx(least, rel=1e-9, abs=1e-9)
    assert found.loss == pytest.approx(LOSSES[loss](table, found.levels), rel=1e-9, abs=1e-9)
    check(table, found, asked, loss)
    out = {name: found.table.column(name).to_pylist() for name in found.table.column_names}
    mine = {name: list(map(str, column)) for name, column in coarse(table, found.levels).items()}
    assert Counter(zip(*(out[n] for n in (*known, "s")), strict=True)) == Counter(
        zip(*(mine[n] for n in (*known, "s")), strict=True)
    )
    assert found.assessment.holds(texts)


def suppressed(table: dict[str, list[Any]], known: list[str], asked: list[tuple[str, Any]]) -> tuple[int, bool]:
    """Return how many rows are in groups that break a guarantee, and whether all holds with these as one group."""
    whole, values = table["s"], sorted(set(table["s"]))
    members: dict[Any, list[int]] = {}
    for i in range(len(whole)):
        members.setdefault(tuple(table[name][i] for name in known), []).append(i)
    p = {s: F(whole.count(s), len(whole)) for s in values}

    def kept(rows: list[int]) -> bool:
        q = {s: F(sum(whole[i] == s for i in rows), len(rows)) for s in values}
        lifts = [q[s] / p[s] for s in values]
        alone = {"k": len(rows), "lift": max(lifts), "distinct_l": sum(v > 0 for v in q.values()),
                 "t": sum(abs(q[s] - p[s]) for s in values) / 2}  # fmt: skip
        return all(KEEPS[kind](alone, F(value)) for kind, value in asked)

    out = [i for rows in members.values() if not kept(rows) for i in rows]
    return len(out), not out or kept(out)


@pytest.mark.parametrize("seed", range(few(48)))
def test_with_rows_left_out_it_is_the_best_of_all_nodes(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    table = people(rng, int(rng.integers(10, 60)))
    asked: list[tuple[str, Any]] = [[("k", 3)], [("k", 2), ("lift", 3)], [("distinct-l", 2)], [("t", "1/2")]][seed % 4]
    known, limit = list(LADDERS), F(1, 4)
    feasible = []
    for node in nodes():
        rows, whole = suppressed(coarse(table, node), known, asked)
        if rows <= limit * len(table["s"]) and whole:
            feasible.append((entropy_loss(table, node), rows))
    texts = [f"{kind}={value}" for kind, value in asked]
    if not feasible:
        with pytest.raises(dv.DivulgeError):
            dv.generalize(pa.table(table), known, "s", guarantees=texts, hierarchies=LADDERS, suppress="1/4")
        return
    found = dv.generalize(pa.table(table), known, "s", guarantees=texts, hierarchies=LADDERS, suppress="1/4")
    assert found.loss == pytest.approx(min(loss for loss, _ in feasible))
    assert found.suppressed == suppressed(coarse(table, found.levels), known, asked)[0]
    assert found.assessment.holds(texts)
    stars = sum(all(found.table.column(n)[i].as_py() == "*" for n in known) for i in range(found.table.num_rows))
    assert stars >= found.suppressed
    for why in found.certificate.infeasible:
        for node in nodes() if why.below else [why.levels]:
            if all(node[n] <= why.levels[n] for n in node):
                rows, whole = suppressed(coarse(table, node), known, asked)
                assert rows > limit * len(table["s"]) or not whole


@pytest.mark.parametrize("seed", range(few(30)))
def test_what_is_monotone_never_rises_on_an_edge_of_a_lattice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(4, 50)), 4)
    before = {tuple(node.values()): node for node in nodes()}
    seen = {key: dv.assess(pa.table({n: list(map(str, c)) for n, c in coarse(table, node).items()}), list(LADDERS), "s")
            for key, node in before.items()}  # fmt: skip
    for key, found in seen.items():
        for i in range(3):
            above = seen.get((*key[:i], key[i] + 1, *key[i + 1 :]))
            if above is None:
                continue
            for name in ("lift", "t", "ordered_t", "certainty", "uniques", "marketer", "beta", "lip", "pmc"):
                assert getattr(above, name) <= getattr(found, name), name
            for name in ("k", "distinct_l", "entropy_l", "least_lift"):
                assert getattr(above, name) >= getattr(found, name) * (1 if name != "entropy_l" else 1 - 1e-12), name
            assert above.information <= found.information + 1e-12
            assert above.enhanced_beta is not None or found.enhanced_beta is None
            assert all(above.recursive_c(l) <= found.recursive_c(l) for l in (1, 2, 3))


def test_two_secrets_are_kept_alone_and_jointly() -> None:
    rng = np.random.default_rng(9)
    table = people(rng, 60) | {"r": rng.integers(0, 2, 60).tolist()}
    found = dv.generalize(pa.table(table), list(LADDERS), ["s", "r"], guarantees=["distinct-l=2", "t=0.4"],
                          hierarchies=LADDERS)  # fmt: skip
    assert all(one.distinct_l >= 2 and one.t <= F(2, 5) for one in (found.assessment, *found.assessment.alone))
    mine = coarse(table, found.levels)
    assert models(mine, list(LADDERS))["distinct_l"] >= 2
    assert recursive_c(mine, list(LADDERS), 2) < math.inf


ADULT = adult_hierarchies()


def test_adult_under_k_with_and_without_rows_left_out() -> None:
    """Values of an independent search that tried every node."""
    names = adult().column_names
    found = dv.generalize(adult(), names, guarantees="k=5", hierarchies=ADULT)
    assert list(found.levels.values()) == [1, 2, 1, 1, 3, 2, 2, 1, 1]
    assert found.loss == pytest.approx(407289.5388925, abs=1e-6)
    assert found.certificate.nodes == 12_960
    left = dv.generalize(adult(), names, guarantees="k=5", hierarchies=ADULT, suppress="0.04")
    assert list(left.levels.values()) == [1, 0, 1, 1, 3, 2, 2, 0, 1]
    assert left.loss == pytest.approx(255559.8545573, abs=1e-6)
    assert left.suppressed <= 0.04 * 30_162
    assert left.assessment.k >= 5


def test_adult_with_a_secret() -> None:
    known = [name for name in adult().column_names if name != "occupation"]
    ladders = {name: ADULT[name] for name in known}
    close = dv.generalize(adult(), known, "occupation", guarantees=["t=0.2", "k=5"], hierarchies=ladders,
                          loss="discernibility")  # fmt: skip
    assert list(close.levels.values()) == [1, 4, 1, 1, 3, 2, 2, 1]
    told = close.assessment
    assert (close.loss, told.lift, told.least_lift, told.t) == (
        456_853_172, F(87744, 52247), F(20565, 91559), F(27943967, 212430966),
    )  # fmt: skip
    for text in ("lift=3", "enhanced-beta=2"):
        found = dv.generalize(adult(), known, "occupation", guarantees=text, hierarchies=ladders, loss="discernibility")
        assert list(found.levels.values()) == [1, 4, 1, 1, 3, 2, 2, 0]
        assert (found.assessment.lift, found.assessment.k) == (F(246323, 105661), 1099)


def test_the_order_of_rows_and_other_columns_do_not_go_out() -> None:
    rng = np.random.default_rng(1)
    table = people(rng, 50) | {"name": [f"n{i}" for i in range(50)]}
    order = rng.permutation(50)
    shuffled = {name: [column[i] for i in order] for name, column in table.items()}
    first, second = (
        dv.generalize(pa.table(one), ["a", "b"], "s", guarantees="k=3", hierarchies={n: LADDERS[n] for n in "ab"}).table
        for one in (table, shuffled)
    )
    assert first.equals(second)
    assert first.column_names == ["a", "b", "s"]
    assert "n1" not in str(first.to_pydict())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guarantees": "k=99"}, "one group"),
        ({"guarantees": "k=inf"}, "one group"),
        ({"guarantees": "distinct-l=inf"}, "one group"),
        ({"guarantees": "entropy-l=inf"}, "one group"),
        ({"guarantees": "recursive-l=3:inf"}, "one group"),
        ({"hierarchies": 3}, "map columns"),
        ({"guarantees": "mean-pml=1"}, "about the worst group"),
        ({"guarantees": []}, "at least one guarantee"),
        ({"suppress": 1}, "suppress"),
        ({"suppress": math.nan}, "suppress"),
        ({"loss": "entropi"}, "Did you mean 'entropy'"),
        ({"known": ["a", "s"]}, "none of the sensitive"),
        ({"known": []}, "at least one column"),
        ({"secret": None, "guarantees": "t=0.1"}, "be named"),
        ({"hierarchies": {"q": H.flat()}}, "of known columns"),
        ({"hierarchies": {"a": {"1": ["*"]}}}, "every value of column 'a'; one is not in it; so are 1 of 2"),
        ({"hierarchies": {"a": {"1": ["x", "*"], "2": ["*"]}}}, "cells in every row"),
        ({"hierarchies": {"a": {"1": ["x", "y"], "2": ["x", "z"]}}}, "be nested"),
        ({"hierarchies": {"a": "no-such-file.csv"}}, "no such file"),
    ],
)
def test_what_cannot_be_coarsened_is_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"known": ["a"], "secret": "s", "guarantees": "k=2"} | options
    with pytest.raises(dv.DivulgeError, match=message):
        dv.generalize(pa.table({"a": [1, 2], "s": [1, 2]}), given.pop("known"), given.pop("secret"), **given)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a;x;*\na;x;*\n", "every value once"), ("a;x;*\nb;;*\n", "no empty cell"), ("a\nb\n", "at least one level"),
     ("a;x;*\nb;x\n", "cells in every row"), ("a;x;1\nb;x;2\n", "nested"), ("", "at least one level")],
)  # fmt: skip
def test_a_file_that_is_no_hierarchy_is_refused_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text(text)
    with pytest.raises(dv.DivulgeError, match=message) as refused:
        H.read(path)
    assert "h.csv" in str(refused.value)


def test_ladders_that_are_not_nested_are_refused() -> None:
    for wrong in ((5, 7), (0,), (-1,), (5, 5), (), ("x",)):
        with pytest.raises(dv.DivulgeError):
            H.ladder(*wrong)
    for wrong in ((1, 2), (0,), (1.5,)):
        with pytest.raises(dv.DivulgeError):
            H.prefix(*wrong)
    with pytest.raises(dv.DivulgeError):
        H.dates("year", "month")


def test_numbers_against_a_ladder_of_texts_are_refused_without_a_cell() -> None:
    with pytest.raises(dv.DivulgeError, match="no number; so are 2 of 2") as refused:
        dv.generalize(pa.table({"a": ["Ada", "Bob"]}), "a", guarantees="k=2", hierarchies={"a": H.ladder(5)})
    assert "Ada" not in str(refused.value)


def test_missing_values_stay_missing_until_the_last_level() -> None:
    table = pa.table({"a": [None, None, 1, 3, 5, 7]})
    found = dv.generalize(table, "a", guarantees="k=2", hierarchies={"a": H.ladder(4)})
    assert found.levels == {"a": 1}
    assert Counter(found.table.column("a").to_pylist()) == {None: 2, "[0, 4)": 2, "[4, 8)": 2}


def test_a_result_travels_and_comes_back_in_the_library_that_was_given() -> None:
    import pickle

    import pandas as pd

    table = pd.DataFrame({"a": [1, 2, 3, 5], "s": ["x", "y", "x", "y"]})
    found = dv.generalize(table, "a", "s", guarantees="k=2", hierarchies={"a": H.ladder(2, 4)})
    assert isinstance(found.table, pd.DataFrame)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.table.equals(found.table)


def test_papers_stand_beside_the_table_and_the_certificate_is_for_the_keeper(tmp_path: Path) -> None:
    from divulge.tables.papers import save

    table = pa.table({"a": [1, 2, 3, 5, 6, 7], "s": ["x", "y", "x", "y", "x", "y"]})
    found = dv.generalize(table, "a", "s", guarantees=["k=3", "t=0.5"], hierarchies={"a": H.ladder(2, 4)})
    places = {name: Path(place) for name, place in save(found, tmp_path / "out.csv").items()}
    assert places["keeper.json"].stat().st_mode & 0o777 == 0o600
    assert "infeasible" in places["keeper.json"].read_text()
    public = "".join(places[name].read_text() for name in ("codebook.json", "statement.txt", "receipt.json"))
    assert "infeasible" not in public
    assert "not differentially private" in public
    assert "at least 3 rows" in public
    with pytest.raises(dv.DivulgeError, match="there is one already"):
        save(found, tmp_path / "out.csv")
