"""The command itself: help, version, and one message for what is wrong."""

import os
import shlex
from pathlib import Path

import copies
import pytest
import typer
from support import THOROUGH, key_pair
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import COMMANDS, EXAMPLES, app

run = CliRunner().invoke


def test_version() -> None:
    result = run(app, ["--version"])
    assert (result.exit_code, result.output.split()[0]) == (0, "divulge")


def test_help_names_every_command() -> None:
    output = run(app, ["--help"]).output
    assert all(name in output for name in COMMANDS)


@pytest.mark.parametrize("arguments", [["bogus"], ["--bogus"], ["measure", "--unit", "furlongs"]])
def test_bad_usage_is_exit_2(arguments: list[str]) -> None:
    assert run(app, arguments).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = run(app, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "--help" in result.output


@pytest.fixture
def failing(tmp_path: Path) -> list[str]:
    path = tmp_path / "c.csv"
    path.write_text(",a,b\nx,1/2,1/2\ny,1/4,3/4\n")
    return ["check", str(path), "--guarantee", "ldp=0.1"]


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_the_exit_code_tells_though_the_reader_has_gone(failing: list[str], json: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    found = copies.run([*failing, *json], stdout=write)
    os.close(write)
    assert (found.returncode, found.stderr) == (1, b"")


def test_the_exit_code_tells_though_nobody_reads_the_messages(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,y\na,b\nb,a\n")
    asked = ["audit", "--data", str(table), "--secret", "x", "--released", "y"]
    read, write = os.pipe()
    os.close(read)
    found = copies.run(asked, stdout=write, stderr=write)
    os.close(write)
    assert found.returncode == 0


def test_results_that_cannot_be_written_are_exit_2(failing: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        found = copies.run(failing, stdout=full)
    assert found.returncode == 2
    assert found.stderr.startswith(b"error: standard output: cannot be written")
    assert b"Traceback" not in found.stderr


@pytest.mark.parametrize(
    "command", [["release", "--column", "x", "-o", "out.csv"], ["publish", "--count", "x", "-o", "out.csv"]]
)
def test_what_is_published_is_said_though_results_cannot_be_written(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\na\nb\n")
    (tmp_path / "v.json").write_text('{"x": ["a", "b"]}')
    values = ["--values", "v.json"] if command[0] == "publish" else []
    line = [command[0], "t.csv", *command[1:], *values, "--guarantee", "ldp=1"]
    line = [word.replace("ldp=1", "dp=1") if command[0] == "publish" else word for word in line]
    with Path("/dev/full").open("w") as full:
        found = copies.run([*line, "--no-ledger"], stdout=full, cwd=tmp_path, text=True)
    assert found.returncode == 0  # it is published: 2 says that nothing is
    assert found.stderr.splitlines()[-1].startswith("error: standard output: cannot be written")
    assert "What was drawn is published" in found.stderr
    assert (tmp_path / "out.csv").exists()


def test_control_characters_of_labels_are_written_out(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(
        '{"secrets": ["a\\u001b[2J", "b"], "outcomes": ["u\\u0007", "v"], "matrix": [[0.9, 0.1], [0.1, 0.9]]}'
    )
    for command in (("measure",), ("attack",), ("check", "--guarantee", "pml=9")):
        found = CliRunner().invoke(app, [command[0], str(path), "--prior", "uniform", *command[1:]])
        assert found.exit_code == 0
        assert "\x1b" not in found.stdout + found.stderr
        assert "\x07" not in found.stdout + found.stderr
    assert "\\x1b[2J" in found.stdout


LONG = ("--frontier", "--at-least", "calibrate gaussian", "--preview", "report --receipt")
"""Of which examples runs in `make search` what begins in the suite with others of the same command."""


def test_the_examples_of_the_help_run_and_stand_in_it_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIVULGE_LEDGER", str(tmp_path / "ledger.sqlite"))
    answers = [("a", "high"), ("a", "low"), ("b", "low"), ("b", "low"), ("c", "high")] * 60
    Path("people.csv").write_text("race,income\n" + "".join(f"{race},{income}\n" for race, income in answers))
    Path("pairs.csv").write_text("race,said\n" + "".join(f"{race},{race}\n" for race, _ in answers))
    Path("survey.csv").write_text(
        "religion,sex,age\n" + "".join(f"{race},{'fm'[i % 2]},{i % 83}\n" for i, (race, _) in enumerate(answers))
    )
    for name in ("made", "rest"):
        Path(f"{name}.csv").write_text(Path("survey.csv").read_text())
    Path("guesses.csv").write_text("said,usual,ill,in\n" + "yes,no,yes,1\nno,no,yes,0\n" * 20)
    for name in ("mechanism", "old", "new"):
        Path(f"{name}.csv").write_text("x,p,q\na,3/4,1/4\nb,1/4,3/4\n")
    Path("moves.csv").write_text("state,ill,well\nill,0.9,0.1\nwell,0.1,0.9\n")
    Path("told.csv").write_text("state,yes,no\nill,3/4,1/4\nwell,1/4,3/4\n")
    scores = "".join(f"{i % 7},{(i + i // 3) % 7},{'yes' if i % 2 else 'no'}\n" for i in range(60))
    Path("scores.csv").write_text(f"loss,similarity,in\n{scores}")
    Path("lungs.bif").write_text(
        "network lungs {} variable lung { type discrete [ 2 ] { ill, well }; }"
        " variable xray { type discrete [ 2 ] { dark, clear }; } probability ( lung ) { table 0.1, 0.9; }"
        " probability ( xray | lung ) { (ill) 0.9, 0.1; (well) 0.2, 0.8; }"
    )
    asked = dv.Request.of("release", "survey.csv", column="religion", guarantee="ldp=1")
    asked.save("request.json")
    Path("releases.json").write_text('[{"mechanism": "laplace", "scale": 10, "count": 10}]')
    key_pair(tmp_path)
    dv.Request.of("release", "survey.csv", column="religion", guarantee="ldp=1").save("request.json", force=True)
    assert set(EXAMPLES) == set(COMMANDS) - {"ledger"}
    for command, examples in EXAMPLES.items():
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
        for example in examples:
            lines = example.splitlines()
            assert "\n".join(f"  {line}" for line in lines) in shown, example
            assert max(map(len, lines)) <= 78, example
            words = shlex.split(" ".join(line.removesuffix("\\") for line in lines))
            assert words[:2] == ["divulge", command]
            if command != "app" and (THOROUGH or not any(words in example for words in LONG)):
                found = CliRunner().invoke(app, words[1:])
                assert found.exit_code in (0, 1), (example, found.output)


@pytest.mark.parametrize("name", ["release", "publish"])
def test_many_options_stand_in_groups_each_once(name: str) -> None:
    told = CliRunner().invoke(app, [name, "--help"], terminal_width=80).stdout
    command = typer.main.get_command(app).get_command(None, name)  # pyright: ignore
    titles = [line for line in told.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert "Whose rows they are:" in titles
    assert len(set(titles)) == len(titles) >= 6
    lines = [line.split()[:2] for line in told.splitlines() if line.startswith("  -")]
    shown = [word.rstrip(",") for line in lines for word in line if word.startswith("-")]
    for option in command.params:
        if option.opts[0].startswith("-"):
            assert shown.count(option.opts[0]) == 1, option.opts
