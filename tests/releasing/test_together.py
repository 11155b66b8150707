"""Combinations of columns, each perturbed by itself, where protocols ran: estimates, intervals, and how they go out."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy import stats
from support import NEVER, few
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.errors import DivulgeError
from divulge.releasing.reports.decoding import supporting
from divulge.releasing.reports.part import read_reports, report_columns
from divulge.releasing.reports.together import MatrixSide, ReportSide, Together
from divulge.reporting.statements import codebook

P = dv.protocols
URLS, CODES = [f"v{i}" for i in range(7)], ["a", "b", "c"]
LISTED = (P.randomized_response, P.unary, P.hadamard, P.projective)


def rows(n: int, seed: int = 0) -> Any:
    """Return a table in which the code hangs together with the url."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 7, n) * rng.integers(0, 7, n) // 6
    y = np.where(rng.random(n) < 0.8, x % 3, rng.integers(0, 3, n))
    return pa.table({"url": [URLS[i] for i in x], "code": [CODES[i] for i in y], "sex": ["f", "m"] * (n // 2)})


def share(table: Any, url: str, code: str) -> float:
    return dv.contingency(table, ["url", "code"]).to_dict().get((url, code), 0) / len(table)


@pytest.mark.parametrize("make", LISTED)
def test_weights_have_the_mean_one_for_the_own_value_and_zero_for_others(make: Any) -> None:
    """Against the matrix of the protocol, outcome by outcome: sum_y P(y | x') g(y, x) is 1 for x' = x, else 0."""
    protocol = make(5, 1.2)
    side = ReportSide(protocol, "x", None, b"")
    matrix = np.array(protocol.channel().matrix, dtype=float)
    if make is P.unary:
        bits = np.array(list(itertools.product([0, 1], repeat=5)), dtype=np.uint8)
        sets = np.array(list(itertools.product([0, 1], repeat=5)))
        a, b, q = float(protocol.a), float(protocol.b), float(protocol.q)
        base = (q**sets * (1 - q) ** (1 - sets)).prod(axis=1)
        matrix = np.array([base * np.where(sets[:, x] == 1, a, b) for x in range(5)])
        reports = np.packbits(bits, axis=1)
    else:
        reports = np.arange(matrix.shape[1])
    marks = side.marks_of(reports, np.empty((len(reports), 0), dtype=np.uint64)).astype(float)
    assert matrix @ marks @ side.weights == pytest.approx(np.eye(5), abs=1e-12)
    for x in range(5):
        outcomes, weights = side.outcomes(x)
        assert weights @ outcomes == pytest.approx(side.weights[:, x])
        own, least, most = side.squares(x)
        seconds = matrix @ (marks @ side.weights[:, x]) ** 2
        assert seconds[x] == pytest.approx(own)
        others = np.delete(seconds, x)
        assert (others.min(), others.max()) == pytest.approx((least, most))


@pytest.mark.parametrize("names", [("url", "code"), ("url", "code", "sex")])
def test_it_is_the_mean_of_products_row_by_row(names: tuple[str, ...]) -> None:
    table = rows(400)
    every = {"url": P.local_hashing(None, 2.0), "code": P.hadamard(CODES, 1.5), "sex": P.unary(["f", "m"], 1.0)}
    done = dv.release(table, column=names, mechanism={name: every[name] for name in names})
    found = dv.estimate_frequencies(done.table, done, column=names, values={"url": URLS})
    for combination, estimate in zip(found.values, found.frequency, strict=True):
        weights = np.ones(400)
        for name, value, ran in zip(names, combination, done.mechanisms, strict=True):
            own = ran.protocol
            arrays = [done.table[one].combine_chunks() for one in report_columns(own, f"{name}_perturbed")]
            code = own.codes([value], ran.key)
            hits = supporting(own, *read_reports(own, arrays), np.repeat(code, 400))
            p, q = float(own.p_star), float(own.q_star)
            weights *= (hits - q) / (p - q)
        assert estimate == pytest.approx(weights.mean(), abs=1e-12)


MIXED = (
    {"url": P.local_hashing(None, 3.0), "code": P.hadamard(CODES, 3.0)},
    {"url": P.projective(URLS, 2.0), "code": dv.mechanisms.randomized_response(CODES, 2.0)},
    {"url": P.unary(URLS, 1.0), "code": P.randomized_response(CODES, 1.0)},
)


@pytest.mark.thin
@pytest.mark.parametrize("protocols", MIXED)
def test_intervals_hold_together(protocols: dict[str, Any]) -> None:
    table, runs = rows(600, seed=3), few(120)
    truth = {pair: share(table, *pair) for pair in itertools.product(URLS, CODES)}
    missed = 0
    for _ in range(runs):
        done = dv.release(table, column=["url", "code"], mechanism=protocols, only_column=True)
        asked = {"url": URLS} if done.mechanisms[0].protocol.of_text else None
        found = dv.estimate_frequencies(done.table, done, column=("url", "code"), values=asked, confidence=0.99)
        missed += any(
            not low <= truth[pair] <= high
            for pair, low, high in zip(found.values, found.lower, found.upper, strict=True)
        )
    assert missed <= stats.binom.isf(NEVER, runs, 0.01)


def test_what_hangs_together_is_seen(tmp_path: Path) -> None:
    table = rows(30_000)
    done = dv.release(table, tmp_path / "out.parquet", column=["url", "code"], protocol="auto,hadamard",
                      guarantee="ldp=8", values={"url": URLS, "code": CODES}, source_name="t")  # fmt: skip
    assert done.guarantees["ldp"] <= 8
    assert [round(one.protocol.ldp, 6) for one in done.mechanisms] == [4, 4]
    receipt = str(done.papers["receipt.json"])
    found = dv.estimate_frequencies(tmp_path / "out.parquet", receipt, column=("url", "code"), confidence=1 - NEVER)
    at = {pair: i for i, pair in enumerate(found.values)}
    for pair, i in at.items():
        if "other" not in pair:
            assert found.lower[i] <= share(table, *pair) <= found.upper[i]
    assert found.lower[at["v0", "a"]] > found.upper[at["v0", "b"]]
    best = dv.estimate_frequencies(tmp_path / "out.parquet", receipt, column=("url", "code"), top=2)
    assert best.values == found.values[:0] + tuple(sorted(found.values, key=lambda v: -found.frequency[at[v]])[:2])
    groups = dv.estimate_frequencies(tmp_path / "out.parquet", receipt, column=("code", "url"), by="sex",
                                     values={"code": ["a"], "url": ["v0"]})  # fmt: skip
    assert {one.rows for one in groups.values()} == {15_000}
    listed = tmp_path / "asked.json"
    listed.write_text(json.dumps({"url": ["v0"], "code": ["a", "b"]}))
    shown = CliRunner().invoke(app, ["estimate", str(tmp_path / "out.parquet"), "--column", "url", "--column", "code",
                                     "--values", str(listed), "--json"])  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert [one["value"] for one in json.loads(shown.stdout)["values"]] == [["v0", "a"], ["v0", "b"]]


def test_rows_of_a_person_that_show_one_draw_are_not_many() -> None:
    table = rows(300).append_column("who", pa.array(np.arange(300)))
    table = pa.concat_tables([table] * 20)
    protocols = {"url": P.hadamard(URLS, 3.0), "code": P.hadamard(CODES, 3.0)}
    done = dv.release(table, column=["url", "code"], mechanism=protocols, person="who", one_answer=True)
    found = dv.estimate_frequencies(done.table, done, column=("url", "code"))
    alone = dv.estimate_frequencies(done.table, replace(done, protects={}), column=("url", "code"))  # as if of 6,000
    assert found.rows == alone.rows == 6000
    assert (found.upper - found.lower).mean() > 1.5 * (alone.upper - alone.lower).mean()  # 3.9, give or take 0.3


@pytest.mark.parametrize("protocol", [P.hadamard(URLS, 1.0), P.local_hashing(None, 1.0), P.projective(URLS, 1.0)])
def test_a_protocol_that_was_made_before_goes_out(tmp_path: Path, protocol: Any) -> None:
    out = tmp_path / "out.parquet"
    done = dv.release(rows(60), out, column="url", mechanism=protocol, guarantee="ldp=1", source_name="t")
    assert done.mechanisms[0].protocol is protocol
    read = dv.Receipt.read(done.papers["receipt.json"])
    assert read.mechanisms[0].protocol == protocol
    assert read.answers == {"from": "any" if protocol.of_text else "list"}
    assert "2.72" in dv.statement(read).text()
    prior = dv.Prior.uniform(URLS)
    under = dv.release(rows(60), column="url", mechanism=protocol, prior=prior)
    assert under.guarantees["pml"] == pytest.approx(dv.pml((prior, protocol)).max(), rel=1e-12)
    with pytest.raises(DivulgeError, match="must keep"):
        dv.release(rows(60), column="url", mechanism=protocol, guarantee="ldp=0.5")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"values": ["v0"]}, "be {column"),
    ({"values": {"url": ["v0", "v0"]}}, "every value once"),
    ({"values": {"url": []}}, "at least one value"),
    ({"values": None}, "ask for candidates"),
    ({"top": 0}, "whole number"),
    ({"confidence": 1.0}, "between 0 and 1"),
    ({"method": "em"}, "left out for reports"),
    ({"interval": "normal"}, "left out for reports"),
    ({"column": ("url", "url")}, "released together"),
    ({"by": "nowhere"}, "nowhere"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_questions_without_an_answer_are_refused(wrong: dict[str, Any], said: str) -> None:
    protocols = {"url": P.local_hashing(None, 3.0), "code": P.hadamard(CODES, 3.0)}
    done = dv.release(rows(60), column=["url", "code"], mechanism=protocols)
    with pytest.raises(DivulgeError, match=said):
        dv.estimate_frequencies(done.table, done, **{"column": ("url", "code"), "values": {"url": URLS}} | wrong)


def test_what_is_no_report_is_refused() -> None:
    protocols = {"url": P.hadamard(URLS, 3.0), "code": dv.mechanisms.randomized_response(CODES, 3.0)}
    done = dv.release(rows(60), column=["url", "code"], mechanism=protocols)
    for name, forged, said in (("url_perturbed", [64] * 60, "forged"), ("url_perturbed", ["x"] * 60, "a report"),
                               ("code_perturbed", ["z"] * 60, "only outcomes"),
                               ("code_perturbed", [None] * 60, "only outcomes")):  # fmt: skip
        at = done.table.column_names.index(name)
        with pytest.raises(DivulgeError, match=said):
            dv.estimate_frequencies(done.table.set_column(at, name, [forged]), done, column=("url", "code"))
    with pytest.raises(DivulgeError, match="at least one row"):
        dv.estimate_frequencies(done.table.slice(0, 0), done, column=("url", "code"))
    prefixes = {"url": P.prefix_extension(3.0, 4), "code": P.hadamard(CODES, 3.0)}
    beginnings = dv.release(rows(60), column=["url", "code"], mechanism=prefixes)
    with pytest.raises(DivulgeError, match="reports of whole values"):
        dv.estimate_frequencies(beginnings.table, beginnings, column=("url", "code"))
    for wrong in (P.subset_selection(URLS[1:], 1.0), P.hadamard(URLS[1:], 1.0)):
        with pytest.raises(DivulgeError, match="only secrets"):
            dv.release(rows(60), column="url", mechanism=wrong)
    with pytest.raises(DivulgeError, match="for several columns"):
        dv.release(rows(60), column=["url", "code"], mechanism=P.hadamard(URLS, 1.0))
    with pytest.raises(DivulgeError, match="one for each"):
        dv.release(rows(60), column=["url", "code"], protocol="auto,auto,auto", guarantee="ldp=1")


@pytest.mark.parametrize("name", ["auto", "local-hashing"])
def test_columns_that_are_one_report_are_estimated_by_their_combinations(tmp_path: Path, name: str) -> None:
    table, out = rows(8000), tmp_path / "out.csv"
    lists = {"url": URLS, "code": CODES} if name == "auto" else None
    done = dv.release(table, out, column=["url", "code"], protocol=name, guarantee="ldp=3", values=lists,
                      source_name="t")  # fmt: skip
    assert done.guarantees["ldp"] <= 3
    assert done.released_as == ("url_code_perturbed",)
    receipt = dv.Receipt.read(done.papers["receipt.json"])
    assert receipt.mechanisms[0] == done.mechanisms[0]
    asked: dict[str, Any] = {"values": [(url, code) for url in URLS for code in CODES], "confidence": 1 - NEVER}
    for column in (None, ("url", "code"), "url_code_perturbed"):
        found = dv.estimate_frequencies(out, receipt, column=column, **asked)
        for pair, low, high in zip(found.values, found.lower, found.upper, strict=True):
            assert low <= share(table, *pair) <= high
    assert found.lower[0] > 0.1
    listed = dv.estimate_frequencies(out, receipt, values={"url": URLS, "code": CODES}, confidence=1 - NEVER)
    assert listed.values == found.values
    assert listed.frequency.tolist() == found.frequency.tolist()
    assert "combination of all of these columns" in done.papers["codebook.md"].read_text()
    assert "Kombination" in codebook.as_markdown(done, "de").decode()
    assert "url_code_perturbed" in dv.statement(receipt).text()
    both = csv.read_csv(out)
    for column in ("url", "code"):
        both = both.append_column(column, table[column])
    audit = dv.audit(both, secret=["url", "code"], released="url_code_perturbed", mechanism=receipt, claim="ldp=3",
                     confidence=1 - NEVER)  # fmt: skip
    assert not audit.violated
    assert audit.known is not None
    assert audit.known.conformity.conforms
    assert audit.measures["ldp"].lower > 1
    for wrong, said in ((["v0"], "combinations of 2 parts"), ([("v0", "a"), ("v0", "a")], "no label twice"),
                        ({"url": URLS}, "'code'"), ([("v0",)], "combinations of 2 parts")):  # fmt: skip
        with pytest.raises(DivulgeError, match=said):
            dv.estimate_frequencies(out, receipt, values=wrong)


def test_a_missing_part_of_a_combination_is_its_label() -> None:
    source = pa.table({"url": ["v0", None] * 500, "code": ["a", "b"] * 500})
    asked: dict[str, Any] = {"column": ["url", "code"], "protocol": "local-hashing", "guarantee": "ldp=20"}
    done = dv.release(source, null_as="none", per_row=True, **asked)
    found = dv.estimate_frequencies(done.table, done, values=[("v0", "a"), ("none", "b"), ("none", "a")])
    assert found.frequency == pytest.approx([0.5, 0.5, 0], abs=0.2)
    with pytest.raises(DivulgeError, match="a value in every row"):
        dv.release(source, per_row=True, **asked)
    for wrong, said in (({"prior": "uniform"}, "left out"), ({"protocol": "prefix-extension"}, "be one with"),
                        ({"released_as": ["a", "b"]}, "be one name"),
                        ({"values": {"url": range(2000), "code": range(2000)}}, "1,048,576 combinations")):  # fmt: skip
        with pytest.raises(DivulgeError, match=said):
            dv.release(source, null_as="none", per_row=True, **asked | wrong)


def test_more_combinations_than_are_shown_are_asked_for_by_number() -> None:
    sides = [ReportSide(P.hadamard(200, 3.0), name, None, b"") for name in "xy"]
    counted = Together(sides)
    none = np.empty((50, 0), dtype=np.uint64)
    counted.add(*(side.marks_of(np.arange(50), none) for side in sides))
    with pytest.raises(DivulgeError, match="top=100"):
        counted.frequencies(None, 0.95, True, 1, None)
    assert len(counted.frequencies(3, 0.95, True, 1, None).values) == 3
    with pytest.raises(DivulgeError, match="candidates of each column"):
        Together([ReportSide(P.hadamard(2000, 3.0), name, None, b"") for name in "xy"])


def test_a_side_of_a_matrix_weighs_as_its_inverse() -> None:
    mechanism = dv.release(rows(60), column="code", mechanism=dv.mechanisms.randomized_response(CODES, 1.0)).matrix_of(
        "code"
    )
    side = MatrixSide(mechanism, "code", None)
    matrix = np.array(mechanism.channel.exact.matrix, dtype=float)
    assert matrix @ side.weights == pytest.approx(np.eye(3), abs=1e-12)
    assert side.marks([pa.array(["b", "a"])]).tolist() == [[0, 1, 0], [1, 0, 0]]
