"""`divulge release` and `divulge ledger` as a user runs them."""

import inspect
import json
import math
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import copies
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.doing import release
from divulge.cli.main import app


@pytest.fixture(autouse=True)
def _book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIVULGE_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"ill": ["yes", "no", "no", "no"] * 500, "age": list(range(2000))}), path)
    (tmp_path / "coin.csv").write_text("secret,yes,no\nyes,3/4,1/4\nno,1/4,3/4\n")
    return path


def run(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def test_release_with_a_mechanism(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    result = run("release", table, "--column", "ill", "--mechanism", tmp_path / "coin.csv", "-o", out)
    assert result.stdout.startswith(
        "2,000 rows of 'ill' released as 'ill_perturbed'\nguarantee: ldp 1.09862 nats\n  Many of the published answers"
    )
    assert "out.keeper.json  (for the keeper only" in result.stdout
    assert "went out as they are" in result.stderr
    assert pq.read_table(out)["age"].to_pylist() == list(range(2000))
    assert dv.Receipt.read(tmp_path / "out.receipt.json").rows == 2000
    taken = run("release", table, "--column", "ill", "--mechanism", tmp_path / "coin.csv", "-o", out, code=2)
    assert "--force" in taken.stderr
    assert "Traceback" not in taken.stderr
    run(
        "release", table, "--column", "ill", "--mechanism", tmp_path / "coin.csv", "-o", out, "--force", "--only-column"
    )
    assert pq.read_table(out).column_names == ["ill_perturbed"]


def test_what_is_read_is_never_written_over(table: Path, tmp_path: Path) -> None:
    coin = tmp_path / "coin.csv"
    before = coin.read_bytes()
    asked = ["release", table, "--column", "ill", "--mechanism", coin, "--force"]
    for where in (["-o", coin], ["-o", tmp_path / "o.csv", "--receipt", tmp_path / "." / "coin.csv"]):
        refused = run(*asked, *where, code=2)
        assert (
            "`--output` must be another file than --mechanism; it is the same file, 'coin.csv'"
            in refused.stderr.replace("--receipt", "--output")
        )
    priors = tmp_path / "prior.json"
    priors.write_text('{"yes": "1/4", "no": "3/4"}')
    run(*asked, "--prior", priors, "-o", priors, code=2)
    assert coin.read_bytes() == before
    for spec, file in ((f"{table}:ill", table), (priors, priors)):
        kept = file.read_bytes()
        run("design", "--prior", spec, "--guarantee", "pml=0.5", "-o", file, code=2)
        assert file.read_bytes() == kept


def test_release_with_a_guarantee_as_json(table: Path, tmp_path: Path) -> None:
    paper = tmp_path / "paper.json"
    asked = ["--column", "ill", "--guarantee", "pml=0.5", "-o", tmp_path / "o.csv", "--receipt", paper]
    result = run("release", table, *asked, "--json")
    found = json.loads(result.stdout)
    assert found["rows"] == 2000
    assert found["guarantees"]["pml"] <= 0.5
    assert found["prior_source"] == "every value equally likely"
    assert found["released_as"] == ["ill_perturbed"]
    assert {Path(path).name for path in found["files"].values()} == {
        "o.csv", "o.codebook.json", "o.codebook.md", "o.statement.html", "o.statement.txt", "paper.json",
        "o.keeper.json",
    }  # fmt: skip
    assert found["receipt"] == str(paper)
    assert dv.Receipt.read(paper).output == "o.csv"


def test_a_broken_promise_or_budget_is_refused(table: Path, tmp_path: Path) -> None:
    coin = ["--column", "ill", "--mechanism", tmp_path / "coin.csv"]
    refused = run("release", table, *coin, "--guarantee", "ldp=1", "-o", tmp_path / "a.parquet", code=2)
    assert "keep ldp=1" in refused.stderr
    run("release", table, *coin, "-o", tmp_path / "a.parquet", "--budget", "ldp=2")
    spent = run("release", table, *coin, "-o", tmp_path / "b.parquet", "--budget", "ldp=2", code=2)
    assert "nothing was drawn" in spent.stderr
    for budget in ("ldp=2", "lift=2", "nonsense"):
        refused = run("release", table, *coin, "-o", tmp_path / "b.parquet", "--budget", budget, code=2)
        assert refused.stderr.startswith("error:")
        assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "b.parquet").exists()
    run("release", table, *coin, "-o", tmp_path / "b.parquet", "--no-ledger")
    shown = run("ledger", "show")
    assert "a.parquet" in shown.stdout
    assert "b.parquet" not in shown.stdout
    found = json.loads(run("ledger", "show", "--json", "--source", table, "--column", "ill", "--unit", "bits").stdout)
    assert found["spent"][0]["spent"]["ldp"] == pytest.approx(1.584962500721156)
    assert found["releases"][0]["rows"] == 2000
    assert json.loads(run("ledger", "show", "--json", "--column", "age").stdout)["releases"] == []


def test_an_unknown_value_is_counted_and_never_shown(table: Path, tmp_path: Path) -> None:
    refused = run(
        "release", table, "--column", "age", "--mechanism", tmp_path / "coin.csv", "-o", tmp_path / "a.parquet", code=2
    )
    assert "column 'age' is in 2,000 rows" in refused.stderr
    assert "1999" not in refused.stderr


def _shown_on_a_terminal(command: list[str]) -> tuple[int, bytes]:
    """Return the exit code of a command whose standard error is a terminal, and what stood there."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    with copies.started(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # the terminal is closed
            pass
        code = process.wait()
    os.close(ours)
    return code, shown


def test_a_bar_moves_on_a_terminal_and_goes_away(tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    pq.write_table(pa.table({"ill": pa.array(["yes", "no"] * 500_000).dictionary_encode()}), source)
    (tmp_path / "coin.csv").write_text("secret,yes,no\nyes,3/4,1/4\nno,1/4,3/4\n")
    arguments = ["--column", "ill", "--mechanism", str(tmp_path / "coin.csv"), "-o", str(tmp_path / "o.csv")]
    code, shown = _shown_on_a_terminal(["release", str(source), *arguments])
    assert code == 0
    assert b"1000000/1000000" in shown
    hides, shows, wipes = b"\x1b[?25l", b"\x1b[?25h", b"\x1b[2K"
    assert shown.rindex(shows) > shown.rindex(hides), "the cursor is back"
    assert shown.endswith(wipes), "the bar is gone"


def test_work_without_steps_is_shown_on_a_terminal_too(tmp_path: Path) -> None:
    listed = tmp_path / "releases.json"
    listed.write_text('[{"mechanism": "gaussian", "sigma": 10, "sensitivity": 1}]')
    code, shown = _shown_on_a_terminal(["account", str(listed)])
    assert code == 0
    assert b"adding up releases" in shown
    assert shown.endswith(b"\x1b[2K"), "it is gone at the end"


def test_releases_load_no_library_that_takes_longer_than_they_do(tmp_path: Path) -> None:
    """Importing pandas, scipy.stats, scikit-learn or matplotlib takes longer than the release of fifty values."""
    source = tmp_path / "fifty.csv"
    source.write_text("nr,town\n" + "".join(f"{i},town {i % 50}\n" for i in range(2000)))
    column = ["release", str(source), "--column", "town", "--guarantee", "ldp=3", "-o", str(tmp_path / "out.csv")]
    table = ["publish", str(source), "--count", "town", "--mean", "nr:0:2000", "--guarantee", "dp=1",
             "--values-from-data", "-o", str(tmp_path / "counts.csv")]  # fmt: skip
    heavy = ("pandas", "scipy.stats", "scipy.optimize", "scipy.sparse", "matplotlib", "sklearn", "polars")
    code = (
        "import sys\nfrom divulge.cli.main import app\n"
        f"for asked in ({column!r}, {table!r}):\n"
        "    try:\n        app(asked)\n    except SystemExit as end:\n        assert not end.code\n"
        f"    assert not [name for name in {heavy!r} if name in sys.modules]"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (tmp_path / "out.statement.html").exists()
    assert (tmp_path / "counts.statement.html").exists()


def test_the_clerk_is_told_in_words_and_the_receipt_beside_the_table_is_found(table: Path, tmp_path: Path) -> None:
    asked = ("release", table, "--column", "ill", "--guarantee", "ldp=1", "-o", tmp_path / "out.csv")
    words = " ".join(run(*asked).stdout.split())
    assert "Many of the published answers are untrue. Chance changed them on purpose" in words
    assert "by more than 2.72 times, whatever they knew before." in words
    assert "0.731" not in words  # the channel is in the codebook
    found = run("estimate", tmp_path / "out.csv")
    assert "out.receipt.json" in found.stderr
    assert found.stdout == run("estimate", tmp_path / "out.csv", "--receipt", tmp_path / "out.receipt.json").stdout


def test_a_statement_is_made_again_in_another_language(table: Path, tmp_path: Path) -> None:
    run("release", table, "--column", "ill", "--guarantee", "ldp=1", "-o", tmp_path / "out.csv")
    receipt = tmp_path / "out.receipt.json"
    assert run("statement", receipt).stdout == (tmp_path / "out.statement.txt").read_text()
    run("statement", receipt, "--language", "de", "-o", tmp_path / "de.html")
    assert (tmp_path / "de.html").read_text() == dv.statement(receipt, "de").html()
    assert "be one of de, en" in run("statement", receipt, "--language", "fr", code=2).stderr
    assert "--force" in run("statement", receipt, "-o", tmp_path / "de.html", code=2).stderr
    assert json.loads(run("statement", receipt, "--json").stdout)["language"] == "en"


def test_what_the_command_can_python_can() -> None:
    command = set(inspect.signature(release.command).parameters) - {"no_ledger", "as_json"}
    assert command - {"preview", "by", "picture", "save_request"} <= set(inspect.signature(dv.release).parameters)
    shared = set(inspect.signature(dv.preview).parameters) - {"source", "levels"}
    assert shared <= command
    in_python = set(inspect.signature(dv.release).parameters) - {
        "source",
        "sink",
        "warn",
        "progress",
        "escape_formulas",
    }
    assert in_python <= command


LOGARITHMS = {"ldp", "pml", "pmc", "lip", "dp", "loss"}


def _leaves(found: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(found, dict):
        return [leaf for key, value in found.items() for leaf in _leaves(value, key)]
    if isinstance(found, list):
        return [leaf for value in found for leaf in _leaves(value, name)]
    return [(name, found)]


@pytest.mark.parametrize(
    "line",
    [pytest.param(("release", "--column", "ill", "--guarantee", "ldp=1", "-o", "out.csv", "--force"),
                  marks=pytest.mark.long),
     pytest.param(("release", "--column", "ill", "--guarantee", "ldp=1", "--preview"), marks=pytest.mark.long),
     ("publish", "--count", "ill", "--mean", "age:0:2000", "--values", "v.json", "--guarantee", "dp=1")],
)  # fmt: skip
def test_every_logarithm_is_in_the_unit_that_is_said(
    line: tuple[str, ...], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same call in nats and in bits of the same strength, the second of each so that there is a sum."""
    monkeypatch.chdir(table.parent)
    Path("v.json").write_text('{"ill": ["yes", "no"]}')
    found: dict[str, list[tuple[str, Any]]] = {}
    for unit, level in (("nats", "1.3862943611198906"), ("bits", "2")):
        asked = [word.replace("dp=1", f"dp={level}") for word in line]
        for _ in range(2):
            printed = run(asked[0], table, *asked[1:], "--unit", unit, "--json", "--ledger", f"{unit}.sqlite")
        found[unit] = _leaves(json.loads(printed.stdout))
    nats, bits = found["nats"], found["bits"]
    assert [name for name, _ in nats] == [name for name, _ in bits]
    levels = [(name, a, b) for (name, a), (_, b) in zip(nats, bits, strict=True) if name in LOGARITHMS]
    assert levels
    for name, a, b in levels:
        assert b == pytest.approx(a / math.log(2), rel=1e-9), name
    assert ("unit", "bits") in bits
