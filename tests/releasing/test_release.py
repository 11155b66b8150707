"""A table goes in, a released table and its receipt come out, whatever it is stored in."""

import contextlib
import dataclasses
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from support import NEVER

import divulge as dv
from divulge.files.tables.table import open_table
from divulge.releasing.records.promised import log_up, promises


@pytest.fixture(scope="module")
def people(people: pa.Table) -> pa.Table:
    """The first 6,000 of the people."""
    return people.slice(0, 6000)


def _written(table: pa.Table, kind: str, folder: Path) -> Any:
    """Return the table as a source of this kind."""
    path = folder / f"people.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=1000)
    elif kind == "csv":
        pacsv.write_csv(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "folder":
        path = folder / "people"
        path.mkdir()
        for i in range(3):
            pq.write_table(table.slice(i * 2500, 2500), path / f"{i}.parquet")
    elif kind == "dataset":
        pq.write_table(table, folder / "people.parquet")
        return pyarrow.dataset.dataset(folder / "people.parquet")
    else:
        return {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[kind]()
    return path


KINDS = ("parquet", "csv", "arrow", "folder", "dataset", "pandas", "polars", "pyarrow")


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_in_memory_and_to_parquet(
    kind: str, people: pa.Table, mechanism: dv.Channel, tmp_path: Path, conforms: Any
) -> None:
    source = _written(people, kind, tmp_path)
    receipt = dv.release(source, tmp_path / "out.parquet", column="region", mechanism=mechanism)
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.column_names == ["region_perturbed", "age", "note"]
    assert released.schema.field("region_perturbed").type == pa.string()
    assert released["note"].to_pylist() == people["note"].to_pylist()
    assert list(map(int, released["age"].to_pylist())) == people["age"].to_pylist()
    assert conforms(people["region"].to_pylist(), released["region_perturbed"].to_pylist(), mechanism)
    assert receipt.rows == people.num_rows
    assert receipt.untouched == ("age", "note")
    assert dv.Receipt.read(tmp_path / "out.receipt.json").to_dict() == receipt.to_dict()
    assert receipt.describes(tmp_path / "out.parquet")

    table = dv.release(source, column="region", mechanism=mechanism, only_column=True).table
    expected = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(kind, pa.Table)
    assert isinstance(table, expected)
    flat = pa.Table.from_batches(list(open_table(table).batches()))
    assert flat.column_names == ["region_perturbed"]
    assert conforms(people["region"].to_pylist(), flat["region_perturbed"].to_pylist(), mechanism)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".arrow", ""])
def test_every_sink(suffix: str, people: pa.Table, mechanism: dv.Channel, tmp_path: Path, conforms: Any) -> None:
    sink, people = tmp_path / f"out{suffix}", people.slice(0, 3000)
    receipt = dv.release(people, sink, column="region", mechanism=mechanism)
    found = pa.Table.from_batches(list(open_table(sink).batches()))
    assert conforms(people["region"].to_pylist(), found["region_perturbed"].to_pylist(), mechanism)
    assert found["note"].to_pylist() == people["note"].to_pylist()
    assert receipt.output == sink.name
    with pytest.raises(dv.DivulgeError, match="there is one already"):
        dv.release(people, sink, column="region", mechanism=mechanism)
    again = dv.release(people, sink, column="region", mechanism=mechanism, force=True, only_column=True)
    assert again.describes(sink)
    assert not receipt.describes(sink)
    assert open_table(sink).schema.names == ["region_perturbed"]


def test_two_releases_differ_and_neither_is_the_source(people: pa.Table, mechanism: dv.Channel) -> None:
    first, second = (
        dv.release(people, column="region", mechanism=mechanism).table["region_perturbed"] for _ in range(2)
    )
    assert first.to_pylist() != second.to_pylist()
    assert first.to_pylist() != people["region"].to_pylist()


@pytest.mark.thin
@pytest.mark.parametrize("end", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_large_numbers_are_estimated_from_what_was_written(tmp_path: Path, end: str, kind: Any) -> None:
    """The double 2**60 is printed as 1.152921504606847e+18, which is another whole number."""
    table = pa.table({"x": pa.array([2.0**60, -(2.0**61)] * 50, kind)})
    dv.release(table, tmp_path / f"o.{end}", column="x", keep=[], guarantee="ldp=20", ledger=None)
    found = dv.estimate_frequencies(tmp_path / f"o.{end}", tmp_path / "o.receipt.json")
    assert found.frequency.tolist() == pytest.approx([0.5, 0.5])


def test_types_are_kept_where_the_labels_fit(tmp_path: Path) -> None:
    flip = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["0", "1"], ["0", "1"])
    for kind in (pa.int8(), pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.decimal128(4, 0)):
        column = pa.array(["0", "1", "1"] * 50).cast(kind)
        table = dv.release(pa.table({"x": column}), column="x", mechanism=flip).table
        assert table.schema.field("x_perturbed").type == kind
        assert set(table["x_perturbed"].to_pylist()) == set(column.to_pylist())
    yes = dv.Channel(flip.matrix, ["False", "True"], ["no", "yes"])
    table = dv.release(pa.table({"x": [True, False] * 50}), column="x", mechanism=yes).table
    assert set(table["x_perturbed"].to_pylist()) == {"yes", "no"}


def test_what_has_no_text_is_refused_and_goes_out_only_untouched(tmp_path: Path) -> None:
    """Lists, records and bytes are no secrets; beside one they go where the format has a place for them."""
    odd = {"list": [["secret cell"], []], "record": [{"a": 1}, None], "bytes": [b"x", b"y"]}
    table = pa.table({"x": ["a", "b"], **odd})
    keep = dv.Channel(np.eye(2), ["a", "b"], ["a", "b"])
    for name in odd:
        with pytest.raises(dv.InputFileError, match=f"column '{name}' must hold text, numbers") as caught:
            dv.release(table, column=name, mechanism=keep)
        assert "cell" not in str(caught.value)
    dv.release(table, tmp_path / "o.parquet", column="x", mechanism=keep, released_as="x")
    assert pq.read_table(tmp_path / "o.parquet").to_pylist() == table.to_pylist()
    with pytest.raises(dv.DivulgeError, match=r"p\.csv: cannot be written: its format has no place"):
        dv.release(table, tmp_path / "p.csv", column="x", mechanism=keep)
    assert not (tmp_path / "p.csv").exists()
    views = pa.table({"x": pa.array(["a", "b", None], pa.string_view())})
    three = dv.Channel(np.eye(3), ["a", "b", "?"], ["a", "b", "?"])
    assert dv.release(views, column="x", mechanism=three, null_as="?").table["x_perturbed"].to_pylist() == [
        "a",
        "b",
        None,
    ]


def test_a_missing_value_is_a_category_or_an_error(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", None, "b", None, "a"] * 400, "y": [1.0, float("nan"), None, 2.0, 1.0] * 400})
    with pytest.raises(dv.DivulgeError, match=r"column 'x' is without one in 800 rows"):
        dv.release(table, column="x", mechanism=dv.Channel(np.eye(2), ["a", "b"], ["a", "b"]))
    keep = dv.Channel(np.eye(3), ["a", "b", "?"], ["a", "b", "?"])
    out = dv.release(table, column="x", mechanism=keep, null_as="?").table["x_perturbed"].to_pylist()
    assert out == table["x"].to_pylist()
    numbers = dv.Channel(np.eye(3), [1, 2, "?"], [1, 2, "?"])
    out = dv.release(table, column="y", mechanism=numbers, null_as="?").table["y_perturbed"].to_pylist()
    assert out == [1.0, None, None, 2.0, 1.0] * 400
    for sink in (tmp_path / "one.parquet", tmp_path / "two.csv"):
        dv.release(table, sink, column="x", mechanism=keep, null_as="?", only_column=True)
        found = pa.Table.from_batches(list(open_table(sink).batches()))
        assert found["x_perturbed"].to_pylist() == table["x"].to_pylist()
    spread = dv.Channel(np.full((3, 3), 1 / 3) + (3 * np.eye(3) - 1) / 100, ["a", "b", "?"], ["a", "b", "?"])
    assert 400 < dv.release(table, column="x", mechanism=spread, null_as="?").table["x_perturbed"].null_count < 1000


def test_a_guarantee_alone_keeps_the_alphabet_and_tells_no_counts(people: pa.Table, tmp_path: Path) -> None:
    receipt = dv.release(people, tmp_path / "out.parquet", column="region", guarantee="pml=0.5")
    assert receipt.guarantees["pml"] <= 0.5 + 1e-12
    only = receipt.mechanisms[0]
    assert only.prior == dv.Prior.uniform(["east", "north", "south", "west"])
    assert only.channel.outcomes == only.channel.secrets
    assert dv.PML("0.5").holds_for(dv.Joint(only.prior, only.channel.exact))
    assert any("gain alone does not forbid" in warning for warning in receipt.warnings)


def test_a_prior_from_the_data_is_taken_only_when_asked_and_kept_from_the_public(
    people: pa.Table, tmp_path: Path
) -> None:
    counted = dv.Prior.from_column(people["region"])
    for wrong in ({"guarantee": "ldp=1", "prior": counted}, {"mechanism": dv.design(counted, "ldp=1")}):
        with pytest.raises(dv.DivulgeError, match="`prior` must be public"):
            dv.release(people, column="region", **wrong)
    asked = {"column": "region", "guarantee": "pml=0.5", "prior_from_data": True}
    receipt = dv.release(people, tmp_path / "out.parquet", **asked)
    assert any("mechanism tells how often each value occurs" in said for said in receipt.warnings)
    assert receipt.mechanisms[0].prior.to_dict() == counted.to_dict()
    assert dv.Receipt.read(tmp_path / "out.receipt.json").mechanisms[0].prior is None
    assert dv.Receipt.read(tmp_path / "out.keeper.json").mechanisms[0].prior == receipt.mechanisms[0].prior


def test_what_tells_no_frequencies_is_refused_for_statistics_and_announced_else(people: pa.Table) -> None:
    """ldp = 0.2 is kept best by outcomes that are sets, fewer than the values."""
    order: list[str] = []
    asked: dict[str, Any] = {"column": "region", "progress": lambda done, of: order.append("drawn")}
    sets: dict[str, Any] = {"guarantee": "ldp=0.2", "outcomes": "sets", **asked}
    with pytest.raises(dv.DivulgeError, match=r"let the frequencies be estimated back.*Hint: .*--outcomes values"):
        dv.release(people, **sets)
    assert not order
    blind = dv.release(people, purpose="information", warn=order.append, **sets)
    assert order.index("drawn") == len(order) - 1
    assert tuple(order[:-1]) == blind.warnings
    assert any("'region' were cannot be estimated" in said for said in order)
    assert not any(value in said for said in order for value in ("north", "south", "east", "west"))
    with pytest.raises(dv.DivulgeError, match="identified"):
        dv.estimate_frequencies(blind.table, blind)
    telling = dv.release(people, guarantee="ldp=0.2", **asked)
    assert telling.guarantees["ldp"] <= 0.2
    found = dv.estimate_frequencies(telling.table, telling, confidence=1 - NEVER)
    shares = dv.contingency(people, "region").to_dict()
    truth = [shares[value] / people.num_rows for value in found.values]
    assert all(low <= p <= high for low, p, high in zip(found.lower, truth, found.upper, strict=True))


def test_a_design_of_sets_takes_no_longer_than_it_may() -> None:
    """150 values of different frequency: after .1 s the design lacks something, which the receipt says."""
    column = pa.table({"x": np.repeat(np.arange(150), np.arange(1, 151))})
    public = dv.Prior.from_counts({i: 151 - i for i in range(150)})
    receipt = dv.release(
        column, column="x", guarantee="ldp=1", outcomes="sets", purpose="information", prior=public, time_limit=0.1
    )
    assert receipt.guarantees["ldp"] <= 1
    assert any("was stopped after 0.1 s" in said for said in receipt.warnings)
    wide = pa.table({"x": pa.array(range(1025))})
    with pytest.raises(dv.DivulgeError, match=r"at most 1,024 values.*'x' is 1,025"):
        dv.release(wide, column="x", guarantee="ldp=1")


def test_what_cannot_be_inverted_is_refused(people: pa.Table, mechanism: dv.Channel) -> None:
    constant = dv.Channel(np.full((4, 2), 0.5), mechanism.secrets, ["a", "b"])
    assert "it tells 1 of 4" in dv.release(people, column="region", mechanism=constant, purpose="record").warnings[-1]
    with pytest.raises(dv.DivulgeError, match="estimated back"):
        dv.release(people, column="region", mechanism=constant)
    with pytest.raises(dv.DivulgeError, match="leave a mechanism that tells values apart"):
        dv.release(people, column="region", guarantee="ldp=0")
    with pytest.raises(dv.DivulgeError, match="must promise something; pml=2 is kept by publishing the truth"):
        dv.release(people, column="region", guarantee="pml=2")


def test_an_outcome_that_never_occurs_promises_nothing() -> None:
    prior = dv.Prior(["1/2", "1/2", 0])
    never = promises(np.array([[3, 1, 0, 0], [1, 3, 0, 0], [0, 0, 2, 2]]), prior)
    assert never == {**promises(np.array([[3, 1], [1, 3]]), dv.Prior(["1/2", "1/2"])), "ldp": math.inf}
    assert promises(np.array([[3, 1, 0], [1, 3, 0]]), None)["ldp"] == pytest.approx(math.log(3), rel=1e-15)


@pytest.mark.parametrize("empty", [pa.array([], pa.string()), pa.array([], pa.null())])
def test_no_rows_are_a_release_of_no_rows(empty: pa.Array, mechanism: dv.Channel) -> None:
    receipt = dv.release(pa.table({"answer": empty}), column="answer", mechanism=mechanism)
    assert (receipt.rows, receipt.table.num_rows) == (0, 0)


def test_a_guarantee_with_a_mechanism_is_checked(people: pa.Table, mechanism: dv.Channel) -> None:
    assert dv.release(people, column="region", mechanism=mechanism, guarantee="ldp=1.61").rows == people.num_rows
    with pytest.raises(dv.DivulgeError, match=r"keep ldp=1\.6"):
        dv.release(people, column="region", mechanism=mechanism, guarantee="ldp=1.6")
    with pytest.raises(dv.DivulgeError, match=r"keep ldp=1\.6"):
        dv.release(people, column="region", mechanism=mechanism, guarantee=["ldp=2", dv.LDP("1.6")])
    both = dv.release(people, column="region", guarantee=["pml=0.5", "ldp=1.2"])
    assert both.guarantees["pml"] <= 0.5 + 1e-15
    assert both.guarantees["ldp"] <= 1.2 + 1e-15
    with pytest.raises(dv.DivulgeError, match="prior"):
        dv.release(people, column="region", mechanism=mechanism, guarantee="pml=1")
    prior = dv.Prior.uniform(mechanism.secrets)
    receipt = dv.release(people, column="region", mechanism=mechanism, guarantee="pml=1", prior=prior)
    assert receipt.mechanisms[0].assumed.source == "given"
    assert receipt.guarantees["pml"] == pytest.approx(np.log(5 / 2), rel=1e-15)
    assert receipt.guarantees["pmc"] == pytest.approx(np.log(2), rel=1e-15)


def test_guarantees_are_those_of_the_integers_and_rounded_up() -> None:
    thirds = dv.Channel([["2/3", "1/3"], ["1/3", "2/3"]], list("ab"), list("AB"))
    receipt = dv.release(pa.table({"x": ["a", "b"]}), column="x", mechanism=thirds, prior=dv.Prior.uniform(list("ab")))
    exact = receipt.channel
    joint = dv.Joint(dv.Prior.uniform(list("ab")), exact)
    for kind, value in {"ldp": dv.ldp(exact), "pml": dv.pml(joint).max(), "pmc": dv.pmc(joint).max()}.items():
        assert value <= receipt.guarantees[kind] <= value * (1 + 1e-15)
    assert receipt.mechanisms[0].channel.rounded


def test_bad_requests_are_refused(people: pa.Table, mechanism: dv.Channel, tmp_path: Path) -> None:
    pq.write_table(people, tmp_path / "people.parquet")
    source = tmp_path / "people.parquet"
    before = source.read_bytes()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"column": "age"}, "only secrets of the mechanism"),
        ({"column": "nope"}, "'nope'"),
        ({"column": []}, "column"),
        ({"column": "region", "mechanism": None}, "a mechanism or a guarantee"),
        ({"column": "region", "sink": source, "force": True}, "another file than source"),
        ({"column": "region", "sink": tmp_path / "none" / "x.parquet"}, "folder that exists"),
        ({"column": "region", "sink": tmp_path / "x.docx"}, "must have a name that ends in .csv"),
        ({"column": "region", "budget": "ldp=1"}, "ledger"),
        ({"column": "region", "engine": "abacus"}, "engine"),
        ({"column": "region", "mechanism": mechanism.matrix}, "only secrets of the mechanism"),
        ({"column": "region", "released_as": "age"}, "no other column"),
        ({"column": "region", "purpose": "fun"}, "purpose"),
        ({"column": "region", "keep": ["nope"]}, "nope"),
        ({"column": "region", "epsilon": 1}, "name of a mechanism"),
    ]
    for changed, message in cases:
        arguments = {"sink": tmp_path / "out.parquet", "mechanism": mechanism} | changed
        with pytest.raises(dv.DivulgeError, match=message):
            dv.release(source, **arguments)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet"]
    twice = pa.table([people["region"], people["age"], people["age"]], names=["region", "age", "age"])
    with pytest.raises(dv.InputFileError, match="has two columns 'age'"):
        dv.release(twice, column="region", mechanism=mechanism)
    alone = dv.release(twice, column="region", mechanism=mechanism, only_column=True)
    assert alone.table.column_names == ["region_perturbed"]
    assert source.read_bytes() == before


def test_pandas_index_and_categories_survive(people: pa.Table, mechanism: dv.Channel) -> None:
    frame = people.to_pandas().set_index(pd.Index(range(100, 6100), name="id"))
    frame["region"] = frame["region"].astype("category")
    out = dv.release(frame, column="region", mechanism=mechanism).table
    assert (out.index == frame.index).all()
    assert list(out.columns) == ["region_perturbed", "age", "note"]
    alone = dv.release(frame, column="region", mechanism=mechanism, only_column=True).table
    assert list(alone.columns) == ["region_perturbed"]
    assert alone.index[0] == 0


def test_an_edited_receipt_is_refused(people: pa.Table, mechanism: dv.Channel, tmp_path: Path) -> None:
    path = tmp_path / "out.receipt.json"
    receipt = dv.release(people, tmp_path / "out.parquet", column="region", mechanism=mechanism)
    kept = dv.Receipt.read(path)
    assert kept.channel == receipt.channel
    assert kept.to_dict() == receipt.to_dict()
    found = json.loads(path.read_text())
    for name, value in {"rows": 5, "guarantees": {"ldp": 0.1}, "created": "yesterday", "untouched": []}.items():
        path.write_text(json.dumps(found | {name: value}))
        with pytest.raises(dv.InputFileError, match="edited"):
            dv.Receipt.read(path)
    found["mechanisms"][0]["weights"][0][0] += 1
    path.write_text(json.dumps(found))
    with pytest.raises(dv.InputFileError, match="edited"):
        dv.Receipt.read(path)
    for text in ("{}", "[1]", "nonsense", ""):
        path.write_text(text)
        with pytest.raises(dv.InputFileError, match=r"must be (a receipt|JSON)|is empty"):
            dv.Receipt.read(path)


def test_progress_is_told(people: pa.Table, mechanism: dv.Channel) -> None:
    told: list[tuple[int, int | None]] = []
    dv.release(people, column="region", mechanism=mechanism, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (6000, 6000)


def test_several_columns_as_one_secret(people: pa.Table, conforms: Any) -> None:
    table = pa.table({"a": people["region"], "b": pa.array([i % 3 for i in range(people.num_rows)])})
    pairs = [(x, y) for x in ("north", "south", "east", "west") for y in range(3)]
    matrix = np.full((12, 12), 1 / 24) + np.eye(12) / 2
    joint = dv.Channel(matrix, pairs, pairs)
    receipt = dv.release(table, column=["a", "b"], mechanism=joint, released_as=["a", "b"])
    rows = list(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
    out = list(zip(receipt.table["a"].to_pylist(), receipt.table["b"].to_pylist(), strict=True))
    assert conforms(rows, out, joint)
    assert receipt.table.schema.field("b").type == pa.int64()
    assert len(receipt.mechanisms) == 1


def test_several_columns_independently(people: pa.Table, mechanism: dv.Channel, conforms: Any) -> None:
    table = pa.table({"a": people["region"], "b": people["region"]})
    receipt = dv.release(table, column=["a", "b"], mechanism={"a": mechanism, "b": mechanism}, released_as=["a", "b"])
    secret = table["a"].to_pylist()
    a, b = (receipt.table[name].to_pylist() for name in "ab")
    twice = mechanism.alongside(mechanism)
    assert conforms(secret, list(zip(a, b, strict=True)), twice)
    assert receipt.guarantees["ldp"] == pytest.approx(2 * np.log(5), rel=1e-14)
    assert any("independently" in warning for warning in receipt.warnings)


def test_designing_for_several_columns(people: pa.Table) -> None:
    few = pa.table({"a": people["region"], "b": pa.array([i % 2 for i in range(people.num_rows)])})
    receipt = dv.release(few, column=["a", "b"], guarantee="pml=0.4")
    assert [m.columns for m in receipt.mechanisms] == [("a", "b")]
    assert receipt.guarantees["pml"] <= 0.4 + 1e-12
    many = pa.table({"a": pa.array([i % 31 for i in range(2000)]), "b": pa.array([i % 37 for i in range(2000)])})
    receipt = dv.release(many, column=["a", "b"], guarantee="pml=1")
    assert [m.columns for m in receipt.mechanisms] == [("a",), ("b",)]
    assert receipt.guarantees["ldp"] <= 1


def test_a_hostile_column_name_and_value_stay_what_they_are(tmp_path: Path) -> None:
    name, value = "x'); DROP TABLE y;--\n\x1b[31m{0}%s[bold]", "../../etc/passwd\x1b[2J'; --"
    table = pa.table({name: [value, "b"] * 10})
    safe = dv.Channel(np.eye(2), [value, "b"], [value, "b"])
    out = dv.release(
        table,
        tmp_path / "o.parquet",
        column=name,
        mechanism=safe,
        ledger=tmp_path / "l.db",
        source_name=value,
        released_as=name,
    )
    assert pq.read_table(tmp_path / "o.parquet")[name].to_pylist() == table[name].to_pylist()
    assert dv.Receipt.read(tmp_path / "o.receipt.json").columns == (name,)
    assert out.columns == (name,)
    entry = dv.Ledger(tmp_path / "l.db").entries(value)[0]
    assert (entry.source, entry.columns) == (value, (name,))
    evil = tmp_path / "\x1b[2Jevil.parquet"
    evil.write_bytes(b"nothing")
    with pytest.raises(dv.InputFileError, match=r"\\x1b\[2Jevil"):
        dv.release(evil, column=name, mechanism=safe)
    with pytest.raises(dv.DivulgeError) as caught:
        dv.release(table, column=name, mechanism=dv.Channel(np.eye(2), ["a", "b"], ["a", "b"]))
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "passwd" not in str(caught.value)


@pytest.mark.parametrize("numbers", [range(2, 40), range(10**18, 10**18 + 40)])
def test_promised_logarithms_are_the_least_doubles_above(numbers: range) -> None:
    with mpmath.workdps(60):
        for k in numbers:
            ratio = Fraction(k, 1 + k // 3)
            found, true = log_up(ratio), mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            assert np.nextafter(found, 0) < true <= found


def test_guarantees_and_budgets_may_be_in_bits(tmp_path: Path) -> None:
    table = pa.table({"answer": ["yes", "no", "no"]})
    third = dv.Channel([["2/3", "1/3"], ["1/3", "2/3"]], ["yes", "no"], ["yes", "no"])  # in 53 bits just below 1 bit
    kept = {"ledger": tmp_path / "l.sqlite", "source_name": "survey"}
    once = {"column": "answer", "mechanism": third, "unit": "bits", **kept}
    assert dv.release(table, guarantee="ldp=1", budget="ldp=1", **once).guarantees["ldp"] <= math.log(2)
    with pytest.raises(dv.DivulgeError, match="must keep ldp"):
        dv.release(table, guarantee="ldp=0.9", **once)
    with pytest.raises(dv.DivulgeError, match="budget"):
        dv.release(table, budget="ldp=1", **once)
    designed = dv.release(table, column="answer", guarantee="pml=1/4", unit="bits")
    assert designed.guarantees["pml"] <= math.log(2) / 4 * (1 + 1e-15)


@pytest.mark.parametrize("wrong", [{"guarantee": 3}, {"guarantee": [None]}, {"budget": dv.PML, "ledger": "l.sqlite"}])
def test_what_is_no_guarantee_is_refused(wrong: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dv.DivulgeError, match="must be a guarantee or text"):
        dv.release(
            pa.table({"a": ["x"]}), column="a", mechanism=dv.Channel([[1]], ["x"], ["x"]), source_name="s", **wrong
        )


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder"])
def test_a_given_mechanism_reads_its_table_once(kind: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The keeper's counts are those of the rows that were drawn for, and nothing is read for them alone."""
    rng = np.random.default_rng(5)
    values = rng.choice(["a", "b", "c"], p=[0.6, 0.3, 0.1], size=20_000)
    if kind == "csv":
        pacsv.write_csv(pa.table({"x": values}), tmp_path / "t.csv")
    (tmp_path / "folder").mkdir()
    for i in range(2 if kind != "csv" else 0):
        place = tmp_path / "folder" / f"{i}.parquet"
        pq.write_table(pa.table({"x": values[i * 10_000 : (i + 1) * 10_000]}), place, row_group_size=3000)
    if kind == "parquet":
        pq.write_table(pa.table({"x": values}), tmp_path / "t.parquet", row_group_size=3000)
    table = open_table(tmp_path / ("folder" if kind == "folder" else f"t.{kind}"))
    read: list[Any] = []
    source = dataclasses.replace(table, stream=lambda *names: read.append(names) or table.stream(*names))
    said: list[str] = []
    mechanism = dv.mechanisms.randomized_response(["a", "b", "c", "d"], epsilon=1.0)
    made = dv.release(source, tmp_path / "out.parquet", column="x", mechanism=mechanism, warn=said.append)
    assert len(read) == 1
    kept = json.loads(made.papers["keeper.json"].read_bytes())
    assert {row["value"]: row["count"] for row in kept["counts"]} == {x: int((values == x).sum()) for x in "abc"}
    assert kept["for_the_keeper"] == [line for line in said if line.startswith("No row has 'd'")] != []
    assert pq.read_table(tmp_path / "out.parquet").num_rows == made.rows == 20_000


def test_values_that_no_row_has_are_no_fault(tmp_path: Path) -> None:
    """A dictionary may list what the mechanism does not know, as long as no row has it."""
    mechanism = dv.mechanisms.randomized_response(["a", "b"], epsilon=1.0)
    values = pa.array(["b", "not in the mechanism", "a"])
    coded = pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 2, 2], pa.int8()), values)})
    assert dv.release(coded, tmp_path / "out.parquet", column="x", mechanism=mechanism).rows == 3
    assert b"not in" not in (tmp_path / "out.parquet").read_bytes()
    for indices in ([0, 1, 2], [0, None, 2]):
        bad = pa.table({"x": pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values)})
        with pytest.raises(dv.DivulgeError, match="1 row"):
            dv.release(bad, tmp_path / "other.parquet", column="x", mechanism=mechanism)
        assert not (tmp_path / "other.parquet").exists()


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    mechanism = dv.mechanisms.randomized_response(["a", "b"], epsilon=1.0)
    with pytest.raises(dv.DivulgeError, match="at least one row"):
        dv.release(pa.table({"x": pa.array([], pa.string())}), tmp_path / "o.csv", column="x", mechanism=mechanism)
    assert not list(tmp_path.iterdir())


@pytest.mark.thin
@pytest.mark.parametrize("values", ["ab", "abc"])
@pytest.mark.parametrize("kind", ["ldp", "pml", "pmc", "lip"])
@pytest.mark.parametrize("epsilon", ["1e-9", "1e-12", "1e-17", "1e-300"])
def test_a_guarantee_that_leaves_next_to_nothing_is_refused_or_kept(values: str, kind: str, epsilon: str) -> None:
    """A design that kept no channel at all ended in an error of a product of matrices."""
    table = pa.table({"x": list(values) * 20})
    for outcomes in ("values", "sets"):
        asked = {"column": "x", "guarantee": f"{kind}={epsilon}", "prior": "uniform", "outcomes": outcomes}
        with contextlib.suppress(dv.DivulgeError):
            found = dv.release(table, **asked).guarantees
            levels = [found["pml"], found["pmc"]] if kind == "lip" else [found[kind]]
            assert max(levels) <= float(epsilon) * (1 + 1e-12)


def test_the_levels_of_a_preview_are_numbers_above_0() -> None:
    table = pa.table({"x": ["a", "b"] * 20})
    for levels in (3, "ldp=1", None, [], [0], [-1], [math.nan], [math.inf], ["ldp=1"], [None]):
        with pytest.raises(dv.DivulgeError, match="`levels` must"):
            dv.preview(table, column="x", guarantee="ldp=1", levels=levels)
    assert [one.asked for one in dv.preview(table, column="x", guarantee="ldp=1", levels=["1/2", 3]).levels] == [
        "ldp=0.5", "ldp=3",
    ]  # fmt: skip


def test_promises_are_those_of_sums_in_fractions_whatever_the_bits() -> None:
    rng = np.random.default_rng(12)
    for bits, scale in ((5, 1), (53, 1), (56, 7), (61, 10**9), (40, 10**90)):
        for _ in range(3):
            n, m = rng.integers(2, 6, 2).tolist()
            weights = rng.integers(1, 2**bits // m, (n, m))
            weights[:, 0] += 2**bits - weights.sum(axis=1)
            counts = [int(c) * scale + int(rng.integers(0, 3)) for c in rng.integers(1, 50, n)]
            shares = [Fraction(c, sum(counts)) for c in counts]
            entries = [[Fraction(int(w)) for w in row] for row in weights]
            q = [sum(p * row[y] for p, row in zip(shares, entries, strict=True)) for y in range(m)]
            rise = max(row[y] / q[y] for row in entries for y in range(m))
            fall = max(q[y] / row[y] for row in entries for y in range(m))
            found = promises(weights, dv.Prior(shares))
            assert (found["pml"], found["pmc"]) == (log_up(rise), log_up(fall))
