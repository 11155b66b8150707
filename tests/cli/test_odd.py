"""Odd input that nobody planned: one message that says what is wrong, exit 2, nothing printed as a result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
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


def test_a_closed_standard_input_is_said_to_be_closed() -> None:
    command = f"{sys.executable} -m divulge measure - <&-"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ, timeout=60)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "error: standard input: is closed.\n"
