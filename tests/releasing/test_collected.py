"""Columns of many values released through frequency protocols: receipt, statement, estimate, audit, ledger."""

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import NEVER, some

import divulge as dv
from divulge.errors import DivulgeError
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.decoding import Decoder, supporting
from divulge.releasing.reports.part import read_reports, report_columns

VALUES = [f"v{i}" for i in range(40)]
LISTED = ("randomized-response", "optimized-unary", "symmetric-unary", "local-hashing", "hadamard", "projective")


def table(rows: int = 6000) -> Any:
    """Return a table in which the value i has a share near 2^-(i + 1)."""
    return pa.table({"url": [VALUES[(i & -i).bit_length() - 1] for i in range(1, rows + 1)]})


@pytest.mark.parametrize("name", some(LISTED))
@pytest.mark.parametrize("suffix", some(["csv", "parquet"]))
def test_what_went_out_is_estimated_back(tmp_path: Path, name: str, suffix: str) -> None:
    source, out = table(), tmp_path / f"out.{suffix}"
    done = dv.release(source, out, column="url", guarantee="ldp=3", protocol=name, values=VALUES, source_name="t")
    found = dv.estimate_frequencies(out, str(done.papers["receipt.json"]), values=["v0", "v1", "v39"],
                                    confidence=1 - NEVER)  # fmt: skip
    assert found.lower[0] <= 1 / 2 <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 0.5
    assert found.lower[1] <= 1 / 4 <= found.upper[1]
    assert found.lower[2] == 0
    assert done.describes(out)
    assert not found.doubts
    told: list[tuple[int, int | None]] = []
    everything = dv.estimate_frequencies(out, done, top=3, progress=lambda rows, of: told.append((rows, of)))
    assert told[-1] == (6000, 6000)
    assert len(everything.values) == 3
    assert everything.values[0] == "v0"


@pytest.mark.parametrize("name", ["auto", "local-hashing"])
def test_text_goes_out_without_a_list(name: str) -> None:
    done = dv.release(table(), column="url", guarantee="ldp=3", protocol=name)
    assert done.answers == {"from": "any"}
    assert done.mechanisms[0].key
    assert done.mechanisms[0].protocol.of_text
    found = dv.estimate_frequencies(done.table, done, values=["v0", "elsewhere"], confidence=1 - NEVER)
    assert found.lower[0] > 0.3
    assert found.upper[1] < 0.2
    with pytest.raises(DivulgeError, match="be given for reports of text"):
        dv.estimate_frequencies(done.table, done)


def test_a_receipt_is_read_back_and_one_that_was_edited_is_refused(tmp_path: Path) -> None:
    prior = dv.Prior.from_counts(list(range(1, 42)), [*VALUES, "other"])
    done = dv.release(table(60), tmp_path / "out.csv", column="url", guarantee=["pml=1", "ldp=2"], protocol="auto",
                      values=VALUES, prior=prior, source_name="t")  # fmt: skip
    path = done.papers["receipt.json"]
    read = Receipt.read(path)
    oracle = read.mechanisms[0]
    assert isinstance(oracle, FrequencyOracle)
    assert oracle == done.mechanisms[0]
    assert read.guarantees["pml"] <= 1
    assert read.guarantees["ldp"] <= 2 + 1e-12
    pair = (oracle.prior, oracle.protocol)
    assert read.guarantees["pml"] == pytest.approx(dv.pml(pair).max(), rel=1e-12)
    assert read.guarantees["pmc"] == pytest.approx(dv.pmc(pair).max(), rel=1e-12)
    data = json.loads(path.read_text())
    changes: list[Any] = [
        lambda d: d["mechanisms"][0]["guarantees"].update(ldp=0.5),
        lambda d: d["mechanisms"][0]["guarantees"].update(pml=0.5),
        lambda d: d["guarantees"].update(ldp=0.5),
        lambda d: d["mechanisms"][0]["protocol"].update(epsilon=0.5),
        lambda d: d["mechanisms"][0]["protocol"].update(name="erasure"),
    ]
    for change in changes:
        edited = json.loads(json.dumps(data))
        change(edited)
        with pytest.raises(DivulgeError, match="must"):
            Receipt.from_dict(edited)


def test_the_levels_are_those_of_the_matrix() -> None:
    prior = dv.Prior.from_counts([5, 3, 1, 1], ["a", "b", "c", "other"])
    source = pa.table({"x": ["a", "b", "c"]})
    done = dv.release(source, column="x", guarantee="ldp=1", protocol="hadamard", values=["a", "b", "c"], prior=prior)
    joint = dv.Joint(prior, done.mechanisms[0].protocol.channel())
    for kind, measure in (("pml", dv.pml), ("pmc", dv.pmc)):
        assert done.guarantees[kind] == pytest.approx(measure(joint).max(), rel=1e-12)
    assert done.guarantees["ldp"] == pytest.approx(dv.ldp(joint.channel), rel=1e-12)


def test_the_ledger_adds_up_without_a_list_of_values(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"column": "url", "protocol": "hadamard", "values": VALUES, "source_name": "t",
                             "ledger": tmp_path / "l.sqlite"}  # fmt: skip
    first = dv.release(table(64), guarantee="ldp=1", **asked)
    second = dv.release(table(64), guarantee="ldp=0.5", **asked)
    assert first.together["guarantees"]["ldp"] == pytest.approx(1)
    assert second.together["guarantees"]["ldp"] == pytest.approx(1.5)
    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as book:
        assert "v39" not in "".join(book.iterdump())  # where what is sealed is hexadecimal
    with pytest.raises(DivulgeError, match="budget"):
        dv.release(table(64), guarantee="ldp=1", budget="ldp=2", **asked)


def test_people_with_several_rows_have_one_report_or_share_the_promise() -> None:
    source = pa.table({"who": ["a", "a", "b", "b"], "url": ["v1", "v1", "v2", "v2"]})
    asked: dict[str, Any] = {"column": "url", "guarantee": "ldp=1", "protocol": "local-hashing", "person": "who"}
    once = dv.release(source, one_answer=True, **asked).table
    rows = list(zip(*(once[name].to_pylist() for name in once.column_names), strict=True))
    assert rows[0] == rows[1] != rows[2] == rows[3]
    shared = dv.release(source, rows_per_person=2, **asked)
    assert shared.mechanisms[0].protocol.ldp == pytest.approx(0.5)
    assert shared.guarantees["ldp"] == pytest.approx(1)
    with pytest.raises(DivulgeError, match="several answers"):
        dv.release(source.set_column(1, "url", [["v1", "v3", "v2", "v2"]]), one_answer=True, **asked)


@pytest.mark.parametrize("name", some(LISTED))
def test_support_of_one_row_is_that_of_all(name: str) -> None:
    """Counting by transform and by hash equals asking every report about every value."""
    source = table(200)
    done = dv.release(source, column="url", guarantee="ldp=2", protocol=name, values=VALUES)
    protocol = done.mechanisms[0].protocol
    columns = [done.table[one].combine_chunks() for one in report_columns(protocol, "url_perturbed")]
    reports, seeds = read_reports(protocol, columns)
    decoder = Decoder(protocol)
    decoder.add(reports[:77], seeds[:77])
    decoder.add(reports[77:], seeds[77:])
    one_by_one = [int(supporting(protocol, reports, seeds, np.full(200, x)).sum()) for x in range(protocol.size)]
    assert decoder.support().tolist() == one_by_one


def both(done: Any, source: Any) -> Any:
    """Return the values beside their reports."""
    for name in done.table.column_names:
        source = source.append_column(name, done.table[name])
    return source


def test_an_audit_keeps_what_ran_and_refutes_what_did_not() -> None:
    source = table(20_000)
    done = dv.release(source, column="url", guarantee="ldp=3", protocol="hadamard", values=VALUES)
    rows = both(done, source)
    found = dv.audit(rows, secret="url", released="url_perturbed", mechanism=done, claim="ldp=3", confidence=1 - NEVER)
    assert not found.violated
    assert found.known is not None
    assert found.known.conformity.conforms
    assert 1 < found.measures["ldp"].lower < math.log(found.known.values["ldp"] * math.exp(3))
    assert found.measures["ldp"].upper == math.inf
    weaker = dv.release(source, column="url", guarantee="ldp=0.1", protocol="hadamard", values=VALUES)
    wrong = dv.audit(rows, secret="url", released="url_perturbed", mechanism=weaker, claim="ldp=0.1")
    assert wrong.violated
    assert wrong.witness is not None
    assert wrong.known is not None
    assert not wrong.known.conformity.conforms
    with pytest.raises(DivulgeError, match="be ldp, for reports"):
        dv.audit(rows, secret="url", released="url_perturbed", mechanism=done, claim="pml=1")


@pytest.mark.parametrize("name", LISTED)
def test_reports_that_ignore_a_common_value_do_not_refute_a_claim(name: str) -> None:
    """One report for all rows is 0-LDP; nine of ten rows have a value that it supports."""
    source = pa.table({"url": ["v0"] * 9000 + VALUES * 25})
    done = dv.release(source, column="url", guarantee="ldp=0.3", protocol=name, values=VALUES)
    protocol = done.mechanisms[0].protocol
    columns = [done.table[one].combine_chunks() for one in report_columns(protocol, "url_perturbed")]
    common = supporting(protocol, *read_reports(protocol, columns), np.zeros(len(source), dtype=np.int64))
    same = done.table.take([int(np.flatnonzero(common)[0])] * len(source))
    found = dv.audit(
        same.append_column("url", source["url"]),
        secret="url",
        released="url_perturbed",
        mechanism=done,
        claim="ldp=0.3",
        confidence=1 - NEVER,
    )
    assert found.measures["ldp"].lower == 0
    assert not found.violated
    assert found.counts[:, 0].tolist() == found.counts[::-1, 0].tolist(), (
        "the same report is asked about the same values"
    )


def test_reports_of_one_value_alone_are_not_compared() -> None:
    source = pa.table({"url": ["v0"] * 50})
    done = dv.release(source, column="url", guarantee="ldp=1", protocol="hadamard", values=VALUES)
    with pytest.raises(DivulgeError, match="rows with different values"):
        dv.audit(both(done, source), secret="url", released="url_perturbed", mechanism=done)


def test_groups_have_estimates_of_their_own() -> None:
    source = table(8000)
    source = source.append_column("sex", [["f", "m"] * 4000])
    done = dv.release(source, column="url", guarantee="ldp=3", protocol="hadamard", values=VALUES, per_row=True)
    found = dv.estimate_frequencies(done.table, done, by="sex", values=["v0"], confidence=1 - NEVER)
    assert found["f"].lower[0] > 0.5 > found["m"].upper[0]  # every first row of two has v0


def test_the_statement_answers_without_a_matrix() -> None:
    done = dv.release(table(60), column="url", guarantee="ldp=1", protocol="auto", values=VALUES, prior="uniform")
    for language in ("en", "de"):
        text = dv.statement(done, language).text()
        assert "2.72" in text or "2,72" in text
        assert "41" in text
    assert "v39" not in text


BAD: list[tuple[dict[str, Any], str]] = [
    ({"protocol": "huffman"}, "must be one of"),
    ({"protocol": "hadamard"}, "list the answers"),
    ({"guarantee": ()}, "there is neither"),
    ({"guarantee": "ldp=0"}, "room for a report"),
    ({"guarantee": "k=5"}, "about what is said of a person"),
    ({"guarantee": "gdp=1"}, "must"),
    ({"guarantee": "bayes-capacity=2"}, "any text goes through"),
    ({"values": ["v1", "v1"]}, "every value once"),
    ({"values": []}, "at least one value"),
    ({"mechanism": "identity"}, "left out with a protocol"),
    ({"epsilon": 1.0}, "with"),
    ({"prior": "lower=1/100"}, "public prior, or uniform"),
    ({"prior": "uniform"}, "come with a list"),
    ({"prior": {"v1": 0.5, "v2": 0.5}}, "must"),
    ({"protect": "url"}, "left out with a protocol"),
    ({"column": ["url", "sex"], "protocol": "auto,auto,auto"}, "one for each"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_what_does_not_go_with_a_protocol_is_refused(wrong: dict[str, Any], said: str) -> None:
    source = table(60).append_column("sex", [["f", "m"] * 30])
    asked = {"column": "url", "guarantee": "ldp=1", "protocol": "auto", "per_row": True} | wrong
    with pytest.raises(DivulgeError, match=said) as caught:
        dv.release(source, **asked)
    assert "v39" not in str(caught.value)


def test_a_level_beyond_forty_is_cut_to_it() -> None:
    """No report is more certain than that one comes up wrong once in 10^17."""
    assert dv.release(table(60), column="url", guarantee="ldp=700", protocol="auto").guarantees["ldp"] <= 40


def test_foreign_and_forged_reports_are_refused(tmp_path: Path) -> None:
    done = dv.release(table(60), column="url", guarantee="ldp=1", protocol="hadamard", values=VALUES)
    name = done.released_as[0]
    for forged, said in (([64] * 60, "forged"), ([-1] * 60, "forged"), ([None] * 60, "a report in every row"),
                         (["a"] * 60, "a report in every row"), ([0.5] * 60, "a report in every row")):  # fmt: skip
        with pytest.raises(DivulgeError, match=said):
            dv.estimate_frequencies(pa.table({name: forged}), done)
    other = dv.release(table(60), column="url", guarantee="ldp=1", protocol="local-hashing", values=VALUES)
    with pytest.raises(DivulgeError, match="column"):
        dv.estimate_frequencies(done.table, other)
    with pytest.raises(DivulgeError, match="preview"):
        dv.preview(table(60), column="url", guarantee="ldp=1", protocol="auto")
    with pytest.raises(DivulgeError, match="through a matrix"):
        dv.report(done, prior="uniform")
    for repeated in (["v1", "v1"], ["nowhere"]):
        with pytest.raises(DivulgeError, match="values"):
            dv.estimate_frequencies(done.table, done, values=repeated)


def test_lists_are_read_a_line_a_value(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_bytes("\ufeffv0\r\nv1\r\nz\u00fcrich\r\n".encode())
    done = dv.release(table(60), column="url", guarantee="ldp=1", protocol="hadamard", values=listed)
    assert done.mechanisms[0].protocol.values == ("v0", "v1", "z\u00fcrich", "other")
    source = tmp_path / "t.parquet"
    pq.write_table(table(60), source)
    asked = {"column": "url", "guarantee": "ldp=1", "protocol": "auto", "values": str(listed)}
    request = dv.Request.of("release", source, str(tmp_path / "o.csv"), **asked)
    assert dv.Request.from_dict(request.to_dict()) == request
    assert "--protocol auto" in request.command()
    assert dv.run(request).rows == 60
