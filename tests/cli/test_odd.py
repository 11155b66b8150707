"""Odd input that nobody planned: one message that says what is wrong, exit 2, nothing printed as a result."""

from pathlib import Path

import copies
import pytest
from support import watched_powers
from typer.testing import CliRunner

from divulge.cli.main import app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "c.csv", "--guarantee", "ldp=1e400"], "below 1.8e308"),
        (["ledger", "show", "--ledger", "none.db"], "none.db: there is no such file"),
        (["noise", "laplace", "--scale", "1e308", "--secret", "rademacher()"], "`scale` must be"),
        (["report", "--receipt", "none.json"], "none.json: there is no such file"),
        (["report", "c.csv"], "--receipt"),
        (["report"], "none is"),
        (["convert", "ldp=1", "--to", "zcdp"], "zcdp=XI:?"),
        (["convert", "ldp=1", "--to", "tail-pml"], "tail-pml=EPSILON:?"),
    ],
)
def test_one_message(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text(",a,b\nx,1/2,1/2\ny,1/4,3/4\n")
    found = CliRunner().invoke(app, arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr
    assert found.stderr.count("\n") == 1
    assert not Path("none.db").exists()


RARE = "1e-350"
NEARLY = "0." + "9" * 350


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["measure", "t.csv", "--prior", "even.csv"], 0),
        (["measure", "e.csv", "--prior", "rare.csv"], 0),
        *((["check", "t.csv", "--prior", "even.csv", "--guarantee", one], 1)
          for one in ("ldp=3", "ldp=804", "lift-capacity=1.7e308", "pmc=804", "alip=804:1", "tail-pmc=804:0")),
        *((["check", "t.csv", "--prior", "even.csv", "--guarantee", one], 0)
          for one in ("ldp=806", "pmc=806", "pml=1")),
        (["attack", "t.csv", "--prior", "even.csv"], 0),
        (["attack", "t.csv", "--prior", "even.csv", "--json"], 0),
        (["attack", "e.csv", "--prior", "rare.csv"], 0),
        (["attack", "e.csv", "--prior", "even.csv", "--gain", "gain.csv"], 2),
        (["compare", "t.csv", "e.csv"], 0),
        (["compare", "e.csv", "t.csv", "--prior", "even.csv"], 0),
        (["report", "t.csv", "--prior", "even.csv"], 0),
    ],
)  # fmt: skip
def test_probabilities_below_all_doubles(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """log((1/2) / 1e-350) is 805.2: exact entries, whose ratios are beyond all doubles."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(f",a,b\nx,{NEARLY},{RARE}\ny,1/2,1/2\n")
    Path("e.csv").write_text(",a,b\nx,1/2,1/2\ny,1/4,3/4\n")
    Path("even.csv").write_text("x,1/2\ny,1/2\n")
    Path("rare.csv").write_text(f"x,{RARE}\ny,{NEARLY}\n")
    Path("gain.csv").write_text(",x,y\nu,1e399,0\nv,0,1\n")
    found = CliRunner().invoke(app, arguments)
    assert "unforeseen" not in found.output
    assert found.exit_code == code, found.output


BILLION = "1e999999999"
"""A whole number of a billion digits, where it is made one."""
PLAIN = ["-o", "out.csv", "--no-ledger", "--per-row"]


@pytest.mark.parametrize(
    "line",
    [
        "release t.csv --column x --guarantee pml=1 --prior lower={}",
        "release t.csv --column x --guarantee ldp=1 --prior noisy={}",
        "release t.csv --column x --mechanism randomized-response --ratio {}",
        "release t.csv --column x --mechanism {}.csv",
        "generalize t.csv --known x --guarantee k=1 --suppress {}",
        "generalize t.csv --known n --guarantee k=1 --group n={}",
        "generalize t.csv --known x --guarantee pml={}",
        "publish t.csv --sum n:0:{} --guarantee dp=1",
        "publish t.csv --sum n:0:90:{} --guarantee dp=1",
        "publish t.csv --quantile n:0:90:{} --guarantee dp=1",
        "publish t.csv --count x --values-from-data --guarantee pml=1 --record-prior lower={}",
        "publish t.csv --count x --values-from-data --guarantee adp=1:{}",
        "publish big.csv --count n --group n=10 --values-from-data --guarantee dp=1",
        "release big.csv --column n --group n=10 --guarantee ldp=1",
    ],
)
def test_no_power_of_ten_is_written_out(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an option, nor of a cell that somebody else wrote."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,n\n" + "a,1\nb,2\n" * 5)
    Path("big.csv").write_text("x,n\n" + f"a,{BILLION}\nb,-{BILLION}\n" * 5)
    asked = watched_powers(monkeypatch)
    found = CliRunner().invoke(app, [*line.format(BILLION).split(), *PLAIN])
    assert (found.exit_code, found.stderr.count("error: "), asked) == (2, 1, []), found.output
    assert "unforeseen" not in found.stderr
    assert "cut short" not in found.stderr
    assert not Path("out.csv").exists()


def test_a_number_beyond_all_doubles_in_a_table_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("big.csv").write_text("x,n\n" + f"a,{BILLION}\nb,2\n" * 5)
    asked = watched_powers(monkeypatch)
    found = CliRunner().invoke(app, [*"generalize big.csv --known n --guarantee k=2".split(), *PLAIN])
    assert (found.exit_code, asked) == (0, []), found.output


def test_a_closed_standard_input_is_said_to_be_closed() -> None:
    found = copies.run(["measure", "-"], closed=(0,), text=True)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "error: standard input: is closed.\n"
