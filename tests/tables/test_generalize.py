"""Coarsened tables: the optimum by trying every node; certificates are checked by what they say, without the search."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import THOROUGH, few
from tables.certificates import (
    ASKED,
    KEEPS,
    LADDERS,
    LOSSES,
    H,
    check,
    coarse,
    entropy_loss,
    keeps,
    nodes,
    people,
)
from tables.drawn import models, recursive_c
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.datasets import adult, adult_hierarchies


def sorted_rows(table: Any) -> list[Any]:
    """Return the rows in an order of their own: within a group they stand in one of chance."""
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("seed", range(few(36)))
def test_levels_that_were_chosen_beforehand_stay_and_the_others_are_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(6, 40)))
    asked = ASKED[seed % len(ASKED)]
    loss = list(LOSSES)[seed // 2 % len(LOSSES)]
    known = list(LADDERS)
    heights = {name: max(node[name] for node in nodes()) for name in known}
    own = {name: int(rng.integers(heights[name] + 1)) for name in known[: int(rng.integers(1, len(known) + 1))]}
    inside = [node for node in nodes() if own.items() <= node.items()]
    feasible = [node for node in inside if keeps(coarse(table, node), known, asked)]
    options: dict[str, Any] = {
        "guarantees": [f"{kind}={value}" for kind, value in asked], "hierarchies": LADDERS, "loss": loss, "levels": own
    }  # fmt: skip
    if not feasible:
        with pytest.raises(dv.DivulgeError, match="hold at least where the other columns are coarsest"):
            dv.generalize(pa.table(table), known, "s", **options)
        return
    found = dv.generalize(pa.table(table), known, "s", **options)
    assert found.levels in feasible
    assert found.loss == pytest.approx(min(LOSSES[loss](table, node) for node in feasible), rel=1e-9, abs=1e-9)
    assert found.certificate.nodes == len(inside)


@pytest.mark.parametrize(("levels", "message"), [
    ({"age": 9}, "the last of the hierarchy"), ({"age": -1}, "whole numbers"), ({"age": True}, "whole numbers"),
    ({"town": 1}, "be of known columns"), ("age=1", "map columns to levels"),
])  # fmt: skip
def test_levels_that_there_are_not_are_refused(levels: Any, message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.generalize(pa.table({"age": [1, 2, 2]}), "age", guarantees="k=1", levels=levels)


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


@pytest.mark.long
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
    assert first.select(["a", "b"]).equals(second.select(["a", "b"]))
    assert sorted_rows(first) == sorted_rows(second)
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
        ({"hierarchies": {"a": {"1": ["*"]}}}, "number of those that are not in it is 1 of 2"),
        (
            {"hierarchies": {"a": {"1": ["*"], "2": ["+"]}}, "guarantees": "k=2"},
            "which for one of them is more than one",
        ),
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
    with pytest.raises(dv.DivulgeError, match="those that are no number is 2 of 2") as refused:
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
    table = pa.table({"a": [1, 2, 3, 5, 6, 7], "s": ["x", "y", "x", "y", "x", "y"]})
    asked: dict[str, Any] = {"guarantees": ["k=3", "t=0.5"], "hierarchies": {"a": H.ladder(2, 4)}}
    found = dv.generalize(table, "a", "s", tmp_path / "out.csv", **asked)
    assert set(found.papers) == {"table", "codebook.json", "codebook.md", "statement.html", "statement.txt",
                                 "receipt.json", "keeper.json"}  # fmt: skip
    places = {name: Path(place) for name, place in found.papers.items()}
    assert places["keeper.json"].stat().st_mode & 0o777 == 0o600
    kept = json.loads(places["keeper.json"].read_text())
    assert kept["certificate"]["infeasible"]
    assert kept["request"]["known"] == ["a"]
    public = "".join(place.read_text() for name, place in places.items() if name not in ("keeper.json", "table"))
    assert "infeasible" not in public
    assert "not differentially private" in " ".join(public.split())
    assert "at least 3 rows" in " ".join(places["statement.txt"].read_text().split())
    with pytest.raises(dv.DivulgeError, match="there is one already"):
        dv.generalize(table, "a", "s", tmp_path / "out.csv", **asked)
    again = dv.statement(places["receipt.json"], "de")
    assert "Was die vergröberte Tabelle" in again.text()
    places["receipt.json"].write_text(places["receipt.json"].read_text().replace('"k": 3', '"k": 4'))
    with pytest.raises(dv.DivulgeError, match="it has been edited"):
        dv.statement(places["receipt.json"])


def test_the_statement_has_the_numbers_of_the_table_that_goes_out() -> None:
    rng = np.random.default_rng(4)
    table = people(rng, 60)
    found = dv.generalize(pa.table(table), list(LADDERS), "s", guarantees="k=4", hierarchies=LADDERS)
    mine = models(coarse(table, found.levels), list(LADDERS))
    said = " ".join(dv.statement(found).text().split())
    assert f"at least {mine['k']} rows" in said
    (share,) = (float(part.split()[0]) for part in said.split("do more than ")[1:])
    assert 0 <= share - 1000 * float(mine["certainty"]) < 0.11 * share
    (times,) = (float(part.split()[0]) for part in said.split("No answer is more than ")[1:])
    assert 0 <= times - float(mine["lift"]) < 0.001 * times


def test_k_counts_people_where_they_have_several_rows() -> None:
    rows = {"person": [n // 2 for n in range(24)], "a": [n // 6 for n in range(24)], "s": [n % 2 for n in range(24)]}
    table, ladders = pa.table(rows), {"a": H.ladder(2, 4)}
    for said in ({"person": "person"}, {}):
        with pytest.raises(dv.DivulgeError, match="rows_per_person"):
            dv.generalize(table, "a", "s", guarantees="k=4", hierarchies=ladders, **said)
    found = dv.generalize(table, "a", "s", guarantees="k=4", hierarchies=ladders, person="person", rows_per_person=2)
    assert found.levels == {"a": 1}
    assert (found.assessment.k, found.people) == (12, 6)
    assert "people" in dv.statement(found).text()
    alone = dv.generalize(table, "a", "s", guarantees="k=4", hierarchies=ladders, per_row=True)
    assert alone.levels == {"a": 0}
    assert (alone.assessment.k, alone.people) == (6, 6)


def test_a_table_of_groups_is_on_record_and_no_budget_allows_it(tmp_path: Path) -> None:
    table, ledger = pa.table({"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]}), tmp_path / "ledger.sqlite"
    asked: dict[str, Any] = {"guarantees": "k=2", "ledger": ledger, "source_name": "survey"}
    found = dv.generalize(table, "a", "s", **asked)
    (entry,) = dv.Ledger(ledger).entries("survey")
    assert (entry.columns, entry.untouched, entry.state, entry.rows) == (("a", "s"), ("a", "s"), "published", 4)
    assert not any("on record" in note for note in found.notes)
    second = dv.generalize(table, "a", "s", **asked)
    assert any("1 other release" in note for note in second.notes)
    (kept,) = dv.Ledger(ledger).entries("survey")[1].mechanisms
    assert kept.guarantees["ldp"] == math.inf
    assert kept.groups == {"known": ["a"], "k": 2, "guarantees": ["k=2"], "lift": "1"}
    shown = CliRunner().invoke(app, ["ledger", "show", "--ledger", str(ledger)]).output
    assert "Tables of groups, which no ldp bounds" in shown
    assert "no other release of the same" in shown
    said = {language: " ".join(dv.statement(second, language).text().split()) for language in ("en", "de")}
    assert "Other releases of the same people are on record: 1." in said["en"]
    assert "dieselben Menschen sind verzeichnet: 1." in said["de"]
    assert "on record" not in " ".join(dv.statement(found).text().split())
    with pytest.raises(dv.DivulgeError, match="must allow"):
        dv.generalize(table, "a", "s", **asked, budget="ldp=3")
    assert len(dv.Ledger(ledger).entries("survey")) == 2


def test_a_saved_request_gives_the_same_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    table = pa.table(people(rng, 60))
    asked = dv.Request.of("generalize", known=list(LADDERS), secret="s", guarantees=["k=3", "lift=3"],
                          hierarchies=LADDERS, loss="discernibility", suppress="1/10")  # fmt: skip
    asked.save(tmp_path / "r.json")
    again = dv.Request.read(tmp_path / "r.json")
    assert again == asked
    found = dv.run(again, table)
    same = dv.generalize(table, list(LADDERS), "s", guarantees=["k=3", "lift=3"], hierarchies=LADDERS,
                         loss="discernibility", suppress="1/10")  # fmt: skip
    assert found == same
    assert sorted_rows(found.rows) == sorted_rows(same.rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 4), ("k", 200), ("people", 4), ("groups", 3), ("guarantees", ["k=4"]), ("guarantees", ["k=3x"]),
        ("suppressed", 7), ("rows", 5), ("protects", {"person": None, "rows_per_person": 2}), ("levels", {"age": 9}),
        ("lift", "4/3x"), ("certainty", "3/2"), ("least_lift", "-1"), ("certainty_beside_one", "nan"),
    ],
)  # fmt: skip
def test_a_receipt_with_a_number_that_does_not_follow_is_refused(name: str, value: object, tmp_path: Path) -> None:
    """Also where its checksum was computed anew."""
    from divulge.releasing.output import signature

    table = pa.table({"age": [31, 34, 38, 45, 46, 49], "ill": ["a", "b", "a", "b", "a", "b"]})
    ages = dv.tables.Hierarchy.ladder(5, 10)
    sink = tmp_path / "out.csv"
    dv.generalize(
        table, known="age", secret="ill", guarantees="k=3", hierarchies={"age": ages}, sink=sink, per_row=True
    )
    path = tmp_path / "out.receipt.json"
    receipt = json.loads(path.read_text())
    dv.statement(path)
    receipt[name] = value
    receipt.pop("checksum")
    path.write_text(json.dumps(receipt | {"checksum": signature.checksum(receipt)}))
    with pytest.raises(dv.InputFileError, match=r"edited|something else|malformed"):
        dv.statement(path)


def believed(rows: list[tuple[str, str]], asked: dict[str, Any]) -> tuple[dict[tuple[str, str], F], int, int]:
    """Return what is believed of each (known value, secret) by who tries each way to deal the secrets to the rows."""

    def published(secrets: tuple[str, ...]) -> Any:
        table = pa.table({"q": [q for q, _ in rows], "s": list(secrets)})
        try:
            return sorted_rows(dv.generalize(table, "q", "s", per_row=True, **asked).table)
        except dv.DivulgeError:
            return None

    own = published(tuple(s for _, s in rows))
    hits: Counter[tuple[str, str]] = Counter()
    dealt = itertools.combinations(range(len(rows)), sum(s == "ill" for _, s in rows))
    ways = [tuple("ill" if i in places else "well" for i in range(len(rows))) for places in dealt]
    left = [way for way in ways if published(way) == own]
    for way in left:
        hits.update(zip((q for q, _ in rows), way, strict=True))
    sizes = Counter(q for q, _ in rows)
    deals = {tuple(sorted(Counter(zip((q for q, _ in rows), way, strict=True)).items())) for way in left}
    return {key: F(count, len(left) * sizes[key[0]]) for key, count in hits.items()}, len(deals), len(left)


@pytest.mark.thin
@pytest.mark.parametrize("seed", range(few(16, 5)))
def test_who_knows_the_rule_learns_what_the_keeper_is_told(seed: int) -> None:
    """Against dealing the secrets to the rows in every way, and coarsening each table anew."""
    rng = np.random.default_rng(seed)
    people = int(rng.integers(5, 8 if THOROUGH else 6))
    rows = [(str(rng.choice(["11", "12", "21"])), str(rng.choice(["ill", "well"]))) for _ in range(people)]
    rows = [*rows, ("11", "ill"), ("21", "well")]
    asked: dict[str, Any] = {
        "guarantees": [[f"lift={rng.choice([1.5, 1.75, 2])}"], ["t=0.3"], ["distinct-l=2", "k=2"]][seed % 3],
        "hierarchies": {"q": {"11": ["1*", "*"], "12": ["1*", "*"], "21": ["2*", "*"]}},
        "suppress": [0, 0.3][seed % 2],
    }
    table = pa.table({"q": [q for q, _ in rows], "s": [s for _, s in rows]})
    told: list[str] = []
    try:
        found = dv.generalize(table, "q", "s", per_row=True, warn=told.append, **asked)
    except dv.DivulgeError:
        return  # nothing goes out
    posterior, tables, _ = believed(rows, asked)
    totals = Counter(s for _, s in rows)
    most = max(after / F(totals[s], len(rows)) for (_, s), after in posterior.items())
    choice = found.minimality
    assert choice is not None
    assert choice.lift == most
    assert choice.left == tables
    assert posterior[choice.group["q"], choice.value] == choice.after
    assert found.to_dict()["minimality"]["after"] == str(choice.after)
    assert "minimality" not in found.receipt
    assert any("somebody who knows the rule" in one for one in told) == (most > found.assessment.lift)


def test_a_small_table_may_tell_all_by_the_choice_of_its_levels() -> None:
    """The example of Wong et al.: two q1 and five q2, two of all ill; merged, since both q1 are."""
    rows = pa.table({"q": ["q1"] * 2 + ["q2"] * 5, "s": ["ill"] * 2 + ["well"] * 5})
    told: list[str] = []
    found = dv.generalize(rows, "q", "s", guarantees="lift=1.75", per_row=True, warn=told.append)
    choice = found.minimality
    assert choice is not None
    assert (choice.by_group, choice.after, choice.lift) == (F(2, 7), 1, F(7, 2))
    assert (choice.tables, choice.left) == (3, 1)
    assert "3.5 times as likely, where groups make it 1 times" in told[0]
    assert not any(word in told[0] for word in ("ill", "q1"))
    large = pa.table({"q": [str(i % 40) for i in range(4000)], "s": [["a", "b"][i % 3 % 2] for i in range(4000)]})
    assert dv.generalize(large, "q", "s", guarantees="k=400", per_row=True).minimality is None
    assert dv.generalize(rows, "q", guarantees="k=3", per_row=True).minimality is None
