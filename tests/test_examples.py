"""The examples run, and say what they are for."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_the_census_example_names_every_race_and_the_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES[0].with_name("census.py")), run_name="__main__")
    out = capsys.readouterr().out
    for words in ("'White'", "'Black'", "'Amer Indian Aleut or Eskimo'", "income of 50,000 or more", "40.5%"):
        assert words in out
    # Black: prior 20415/199523, epsilon 1: posterior p e / (1 + p (e - 1)) = 23.65 %.
    assert "10.23% ->  23.65%" in out
