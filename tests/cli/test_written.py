"""What commands write: nothing is replaced but by --force, and what is for the keeper alone only its owner can read."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from divulge.cli.main import app

DESIGN = ("design", "--prior", "t.csv:x", "--guarantee")
LINES: dict[tuple[str, ...], bool] = {
    (*DESIGN, "pml=0.3", "-o", "out.csv"): False,
    (*DESIGN, "ldp", "--frontier", "1,2", "--plot", "out.svg"): True,
    ("design", "--prior", "p.csv", "--guarantee", "ldp", "--frontier", "1,2", "--plot", "out.svg"): False,
    ("account", "l.json", "--delta", "1e-3", "--plot", "out.svg"): False,
    ("noise", "laplace", "--scale", "1", "--secret", "bernoulli(0.3)", "--plot", "out.svg"): False,
    ("noise", "laplace", "--scale", "1", "--secret", "t.csv:n", "--plot", "out.svg"): True,
    ("release", "t.csv", "--column", "x", "--guarantee", "ldp=1", "--preview", "--picture", "out.svg"): True,
    ("release", "t.csv", "--column", "x", "--guarantee", "ldp=1", "--no-ledger", "-o", "out.csv"): False,
    ("publish", "t.csv", "--count", "x", "--values-from-data", "--guarantee", "dp=9", "--no-ledger", "-o", "out.csv"):
        False,
    ("publish", "t.csv", "--against", "u.csv", "--runs", "20", "--count", "x", "--values", "v.json", "--guarantee",
     "dp=9", "-o", "out.csv"): True,
    ("report", "--data", "t.csv", "--secret", "x", "--released", "y", "-o", "out.html"): True,
    ("report", "c.csv", "--prior", "t.csv:x", "-o", "out.html"): True,
    ("report", "c.csv", "--prior", "p.csv", "-o", "out.html"): False,
    ("statement", "r.receipt.json", "-o", "out.html"): False,
}  # fmt: skip
"""Line of a command -> whether what it writes is for the keeper alone."""

WRITES = ("--output", "--plot", "--picture")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rows = "".join(f"{'ab'[i % 2]},{'ab'[i % 3 == 0]},{i % 5}\n" for i in range(60))
    for name in ("t.csv", "u.csv"):
        Path(name).write_text("x,y,n\n" + rows + ("a,a,1\n" if name == "t.csv" else "b,a,1\n"))
    Path("c.csv").write_text("secret,a,b\na,3/4,1/4\nb,1/4,3/4\n")
    Path("p.csv").write_text("secret,probability\na,1/2\nb,1/2\n")
    Path("v.json").write_text(json.dumps({"x": ["a", "b"]}))
    Path("l.json").write_text('[{"mechanism": "laplace", "scale": 9, "sensitivity": 1}]')
    made = CliRunner().invoke(
        app, ["release", "t.csv", "--column", "x", "--guarantee", "ldp=1", "--no-ledger", "-o", "r.csv"]
    )
    assert made.exit_code == 0
    return tmp_path


@pytest.mark.parametrize("line", LINES, ids=" ".join)
@pytest.mark.thin
def test_files_are_replaced_by_force_alone_and_private_where_they_are_for_the_keeper(
    line: tuple[str, ...], folder: Path
) -> None:
    out = folder / line[-1]
    out.write_text("mine")
    before = sorted(os.listdir())
    refused = CliRunner().invoke(app, line)
    assert refused.exit_code == 2
    assert "there is one already" in refused.stderr
    assert out.read_text() == "mine"
    assert sorted(os.listdir()) == before

    mask = os.umask(0o022)
    try:
        forced = CliRunner().invoke(app, [*line, "--force"])
    finally:
        os.umask(mask)
    assert forced.exit_code == 0, forced.output
    assert out.stat().st_size > len("mine")
    assert out.stat().st_mode & 0o777 == (0o600 if LINES[line] else 0o644)
    assert not LINES[line] or "readable by you alone" in forced.output


def test_the_preview_says_on_the_picture_whom_it_is_for(folder: Path) -> None:
    import divulge as dv

    axes = dv.preview("t.csv", column="x", guarantee="ldp=1").plot()
    assert "for the keeper alone" in axes.get_title()
    axes.figure.canvas.draw()
    (legend,) = axes.figure.legends
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())


@pytest.mark.parametrize(("letter", "known"), [("\N{CUNEIFORM SIGN A}", False), ("\N{GREEK SMALL LETTER ALPHA}", True)])
def test_letters_that_no_font_has_are_told(letter: str, known: bool, folder: Path) -> None:
    Path("signs.csv").write_text("sign\n" + f"{letter}\nb\n" * 50)
    line = ["release", "signs.csv", "--column", "sign", "--guarantee", "ldp=1", "--preview", "--picture", "signs.png"]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    assert ("in no font" in result.stderr) != known
    assert Path("signs.png").stat().st_size


def test_every_command_that_writes_a_file_can_be_forced() -> None:
    group: Any = typer.main.get_command(app)
    tried = {line[0] for line in LINES}
    for name, command in group.commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        if options & set(WRITES):
            assert "--force" in options, name
            assert name in tried
