"""`divulge publish` as a user runs it."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import NEVER
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.datasets import census, census_path


@pytest.fixture(autouse=True)
def _book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIVULGE_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    n = 2000
    pq.write_table(
        pa.table({
            "race": ["White", "Black", "White", "Other"] * (n // 4), "sex": ["Male", "Female"] * (n // 2),
            "age": [i % 91 for i in range(n)], "who": [i // 2 for i in range(n)],
        }),
        path,
    )  # fmt: skip
    values = {"race": ["White", "Black", "Other"], "sex": ["Male", "Female"]}
    (tmp_path / "values.json").write_text(json.dumps(values))
    return path


def run(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    return result


def test_the_first_example(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "statistics.csv"
    command = ["publish", table, "--count", "race,sex", "--mean", "age:0:90", "--quantiles", "age:0:90:0.25,0.5,0.75",
               "--guarantee", "dp=1", "--values", "values.json", "--per-row", "-o", out]  # fmt: skip
    result = run(*command)
    assert "guarantee: dp 1 nats" in result.stdout
    assert "statistics.keeper.json" in result.stdout
    assert "Every row is taken" in result.stderr
    names = {f"statistics.{end}" for end in ("csv", "receipt.json", "keeper.json", "statement.html", "statement.txt")}
    assert names <= set(os.listdir(tmp_path))
    assert "--force" in run(*command, code=2).stderr
    told = json.loads(run(*command, "--json", "--force", "--no-ledger").stdout)
    assert set(told) >= {"statistics", "guarantees", "level", "unit", "output", "receipt", "statement", "keeper"}
    assert told["guarantees"] == {"dp": 1.0}
    assert told["level"] == 0.95
    first = told["statistics"][0]
    assert first["statistic"] == "count"
    assert first["by"] == {"race": "White", "sex": "Male"}
    assert isinstance(first["value"], int)
    assert first["low"] <= first["value"] <= first["high"]
    assert {s["statistic"] for s in told["statistics"]} == {"count", "mean", "quantile"}
    shown = json.loads(run("ledger", "show", "--json").stdout)
    assert shown["spent"][0]["spent"]["ldp"] == pytest.approx(1.0, rel=1e-12)
    report = run("report", "--receipt", "statistics.receipt.json")
    assert "What the published statistics of" in report.stdout
    run("report", "--receipt", "statistics.receipt.json", "-o", "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("suffix", [".parquet", ".tsv", ".xlsx"])
def test_other_formats(table: Path, suffix: str, tmp_path: Path) -> None:
    command = ["publish", table, "--count", "sex", "--guarantee", "dp=1", "--values", "values.json", "--per-row"]
    run(*command, "-o", f"out{suffix}")
    found = dv.results.Published.read(tmp_path / "out.receipt.json")
    assert found.describes(tmp_path / f"out{suffix}")


@pytest.mark.thin
@pytest.mark.parametrize("name", ["a,b", 'say "x"', "it's", "a, b", "x:y", "Größe in cm"])
def test_a_name_with_a_comma_stands_in_quotation_marks(name: str) -> None:
    pq.write_table(pa.table({name: ["u", "v"] * 50, "a": ["u"] * 100, "b": [1.0] * 100}), "t.parquet")
    asked = f'"{name}",a' if "," in name else f"{name},a"
    line = ["publish", "t.parquet", "--count", asked, "--values-from-data", "--guarantee", "dp=9", "-o", "o.parquet"]
    run(*line, "--no-ledger")
    assert {name, "a"} <= set(pq.read_table("o.parquet").column_names)
    assert (
        "`--count` must be names"
        in run("publish", "t.parquet", "--count", "a\nb", "--guarantee", "dp=1", code=2).stderr
    )


def test_bits_are_another_unit(table: Path) -> None:
    command = ["publish", table, "--count", "sex", "--guarantee", "dp=1", "--values", "values.json", "--no-ledger",
               "--per-row", "--unit", "bits", "--json"]  # fmt: skip
    told = json.loads(run(*command).stdout)
    assert told["guarantees"]["dp"] == pytest.approx(1, rel=1e-12)
    assert told["queries"][0]["scale"] == pytest.approx(2 / 0.6931471805599453)


BAD = {
    "no statistic": (["--guarantee", "dp=1"], "--count"),
    "bounds missing": (["--mean", "age", "--guarantee", "dp=1"], "COLUMN:LOW:HIGH"),
    "bounds reversed": (["--mean", "age:90:0", "--guarantee", "dp=1"], "rise"),
    "bounds nan": (["--mean", "age:nan:3", "--guarantee", "dp=1"], "finite"),
    "no categories": (["--count", "race", "--guarantee", "dp=1"], "--values-from-data"),
    "a column that is not there": (["--count", "rase", "--guarantee", "dp=1", "--values-from-data"], "rase"),
    "no list": (["--count", "race", "--guarantee", "dp=1", "--values", "missing.json"], "no such file"),
    "no JSON": (["--count", "race", "--guarantee", "dp=1", "--values", "people.parquet"], "people.parquet"),
    "no prior": (["--count", "sex", "--guarantee", "pml=1", "--values", "values.json"], "record_prior"),
    "a prior beyond 1/2": (
        ["--count", "sex", "--guarantee", "pml=1", "--values", "values.json", "--record-prior", "lower=2"], "1/2",
    ),
    "budget exhausted": (
        ["--count", "sex", "--guarantee", "dp=1", "--values", "values.json", "--budget", "dp=0.5"], "budget",
    ),
    "person without column": (
        ["--count", "sex", "--guarantee", "dp=1", "--values", "values.json", "--at-most", "3"], "person",
    ),
    "probabilities beyond 1": (["--quantiles", "age:0:90:0.5,2", "--guarantee", "dp=1"], "between 0 and 1"),
    "a level of 1": (
        ["--count", "sex", "--guarantee", "dp=1", "--values", "values.json", "--level", "1"], "between 0 and 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_message_and_publishes_nothing(name: str, table: Path, tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    options, said = BAD[name]
    whose = [] if "--at-most" in options else ["--per-row"]
    result = run("publish", table, *options, *whose, "-o", tmp_path / "out.csv", code=2)
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert said in errors[0]
    assert "Black" not in errors[0]
    assert set(os.listdir(tmp_path)) - before <= {"ledger.sqlite", "ledger.sqlite.key"}
    if "budget" not in name:
        assert not (tmp_path / "ledger.sqlite").exists() or dv.Ledger(tmp_path / "ledger.sqlite").entries() == []


def test_what_is_read_is_never_written_over(table: Path, tmp_path: Path) -> None:
    before = table.read_bytes()
    for out in ("people.parquet", "values.json", "./people.parquet"):
        run(
            "publish",
            table,
            "--count",
            "sex",
            "--guarantee",
            "dp=1",
            "--values",
            "values.json",
            "--force",
            "-o",
            out,
            code=2,
        )
    assert table.read_bytes() == before
    assert json.loads((tmp_path / "values.json").read_text())["sex"] == ["Male", "Female"]


def test_the_census_and_yesterdays_column(tmp_path: Path) -> None:
    """Race by income by education: intervals that cover the truth, a statement about one person, a ledger that adds."""
    names = ["race", "income", "education"]
    values = {name: census(name).unique().to_pylist() for name in names}
    (tmp_path / "values.json").write_text(json.dumps(values))
    coin = dv.mechanisms.randomized_response(len(values["race"]), 1.0)
    dv.release(census_path(), tmp_path / "yesterday.parquet", column="race", guarantee=None,
               mechanism=dv.Channel(coin.matrix, values["race"], values["race"]),
               ledger=tmp_path / "ledger.sqlite")  # fmt: skip
    run("publish", census_path(), "--count", ",".join(names), "--guarantee", "pml=1", "--record-prior", "lower=0.01",
        "--values", "values.json", "--no-other", "--budget", "ldp=3", "-o", "table.csv")  # fmt: skip
    truth = dv.contingency(census_path(), names).to_dict()
    found = json.loads(run("publish", census_path(), "--count", ",".join(names), "--guarantee", "pml=1", "--no-ledger",
                           "--record-prior", "lower=0.01", "--values", "values.json", "--no-other", "--json",
                           "--level", str(1 - NEVER)).stdout)  # fmt: skip
    assert len(found["statistics"]) == 5 * 2 * len(values["education"])
    for one in found["statistics"]:
        assert one["low"] <= truth.get(tuple(one["by"][name] for name in names), 0) <= one["high"]
    said = " ".join((tmp_path / "table.statement.txt").read_text().split())
    assert "one that had 10 in 1,000 before has at most 27.19 in 1,000 after" in said
    assert "2 releases about the records of this source" in said
    totals = [t for t in json.loads(run("ledger", "show", "--json").stdout)["spent"] if "race" in t["columns"]]
    assert totals[0]["spent"]["ldp"] == pytest.approx(2.0175, abs=1e-3)


def test_a_claim_is_audited_from_repeated_runs(table: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"sex": ["Male", *["Female"] * 9]}), tmp_path / "here.parquet")
    pq.write_table(pa.table({"sex": ["Female"] * 10}), tmp_path / "there.parquet")
    run("publish", "here.parquet", "--count", "sex", "--guarantee", "dp=1", "--values", "values.json", "--against",
        "there.parquet", "--runs", 4000, "-o", "runs.csv")  # fmt: skip
    audit = ["audit", "--data", "runs.csv", "--secret", "table", "--released", "outcome", "--claim"]
    assert "not refuted" in run(*audit, "ldp=1.001", "--confidence", 1 - NEVER).stdout
    assert "VIOLATED" in run(*audit, "ldp=0.5", code=1).stdout
    assert not (tmp_path / "ledger.sqlite").exists()
    assert not list(tmp_path.glob("*statement*"))
