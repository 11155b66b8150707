"""`divulge report` as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from divulge.cli.main import app


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIVULGE_LEDGER", "ledger.sqlite")
    pq.write_table(pa.table({"ill": ["yes", "no", "no", "no"] * 50, "age": list(range(200))}), "people.parquet")
    Path("coin.csv").write_text("secret,yes,no\nyes,3/4,1/4\nno,1/4,3/4\n")
    return tmp_path


def run(*arguments: str, code: int = 0, given: str | None = None) -> Any:
    result = CliRunner().invoke(app, ["report", *arguments], input=given)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_a_mechanism_as_page_text_and_json(folder: Path) -> None:
    asked = ("coin.csv", "--prior", "people.parquet:ill", "--guarantee", "ldp=1.1", "--guarantee", "pml=0.1")
    text = run(*asked).stdout
    assert text.startswith("In short\n========\n")
    assert "ldp=1.1, is kept" in text
    assert "pml=0.1, is BROKEN" in text
    result = run(*asked, "--json", "-o", "r.html")
    found = json.loads(result.stdout)
    assert found["about"] == "coin.csv"
    assert found["prior"] == {"source": "from people.parquet:ill", "probabilities": [0.25, 0.75]}
    assert [g["holds"] for g in found["guarantees"]] == [True, False]
    assert found["beliefs"][0]["secret"] == "yes"
    assert found["beliefs"][0]["up"] == pytest.approx(0.5)  # 1/4 3/4 of 3/8
    assert result.stderr.startswith("written to r.html (from exact numbers of the table, for the keeper alone")
    page = (folder / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "coin.csv" in page
    taken = run(*asked, "-o", "r.html", code=2)
    assert "--force" in taken.stderr
    assert (folder / "r.html").read_text() == page
    run(*asked, "-o", "r.html", "--force", "--unit", "bits")
    assert "[bits]" in (folder / "r.html").read_text()


def test_a_mechanism_on_standard_input(folder: Path) -> None:
    text = run("-", "--prior", "uniform", "--json", given=Path("coin.csv").read_text()).stdout
    assert json.loads(text)["about"] == "the mechanism on standard input"


def test_data_and_a_receipt(folder: Path) -> None:
    told = json.loads(run("--data", "people.parquet", "--secret", "ill", "--released", "ill", "--json").stdout)
    assert told["estimated"]
    assert told["audit"]["rows"] == 200
    released = ["release", "people.parquet", "--column", "ill", "--mechanism", "coin.csv", "-o", "out.parquet"]
    assert CliRunner().invoke(app, released).exit_code == 0
    bare = run("--receipt", "out.receipt.json", code=2)
    assert "--prior" in bare.stderr
    asked = ("--receipt", "out.receipt.json", "--prior", "people.parquet:ill", "--column", "ill")
    found = json.loads(run(*asked, "--ledger", "ledger.sqlite", "--json").stdout)
    assert found["receipt"]["rows"] == 200
    assert found["spent"]["ldp"] == pytest.approx(1.0986122886681098)
    assert found["guarantees"][0]["holds"]


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("coin.csv",),
        ("coin.csv", "--data", "people.parquet"),
        ("coin.csv", "--prior", "uniform", "--secret", "ill"),
        ("coin.csv", "--prior", "uniform", "--ledger", "ledger.sqlite"),
        ("coin.csv", "--prior", "uniform", "--guarantee", "nonsense=1"),
        ("coin.csv", "--prior", "uniform", "-o", "no-such-folder/r.html"),
        ("coin.csv", "--prior", "uniform", "-o", "."),
        ("--data", "people.parquet", "--secret", "ill"),
        ("--data", "people.parquet", "--secret", "ill", "--released", "nonsense"),
        ("--data", "people.parquet", "--secret", "ill", "--released", "ill", "--prior", "people.parquet:ill"),
        ("--receipt", "coin.csv"),
        ("--receipt", "no-such-file.json"),
        ("no-such-file.csv", "--prior", "uniform"),
    ],
)
def test_bad_input_is_one_message(folder: Path, wrong: tuple[str, ...]) -> None:
    found = run(*wrong, code=2)
    assert found.stderr.startswith("error: ")
    assert found.stderr.count("\n") == 1
    assert not list(folder.glob("*.html"))
    assert not list(folder.glob(".*partial"))


def test_a_receipt_is_known_by_its_name(folder: Path) -> None:
    asked = ["release", "people.parquet", "--column", "ill", "--guarantee", "ldp=1", "-o", "out.csv"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert run("out.receipt.json").stdout == run("--receipt", "out.receipt.json").stdout
    assert "is kept" in run("out.keeper.json").stdout


def test_outcomes_of_one_row_are_no_chance_for_who_holds_the_table(tmp_path: Path) -> None:
    path = tmp_path / "class.csv"
    path.write_text("id,ill,class\n1,no,a\n2,yes,a\n3,yes,b\n4,no,b\n")
    for released, words in (("id", "4 outcomes stand for one row each"), ("class", "")):
        found = CliRunner().invoke(app, ["report", "--data", str(path), "--secret", "ill", "--released", released])
        assert found.exit_code == 0, found.output
        assert words in " ".join(found.stdout.split())
        assert ("whoever holds the table" in " ".join(found.stdout.split())) == bool(words)
