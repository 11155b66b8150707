"""`divulge design`: all it is asked in one command, and one message where there is nothing to find."""

import json
import math
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import copies
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.designing.linear.scores import SCORES
from divulge.designing.methods import METHODS
from divulge.designing.polytope.limits import LIMITS
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.files import read_channel, read_prior
from divulge.model.shown import reached

run = CliRunner().invoke


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    rows = [("red", 30)] * 9 + [("green", 30)] * 5 + [("blue", 40)] * 3 + [("blue", 70)] * 2
    path.write_text("color,age\n" + "".join(f"{color},{age}\n" for color, age in rows))
    return path


def told(*arguments: Any) -> Any:
    result = run(app, ["design", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def test_what_is_told_of_another_column_or_of_the_outcomes_of_a_channel_file(table: Path, tmp_path: Path) -> None:
    prior = read_prior(f"{table}:color")
    joint = {("red", 30): 9, ("green", 30): 5, ("blue", 40): 3, ("blue", 70): 2}
    given = [[joint.get((x, w), 0) / prior.to_dict()[x] / 19 for w in (30, 40, 70)] for x in prior.secrets]
    expected = dv.design(prior, dv.PML(0.5), utility=dv.About(dv.Channel([[float(g) for g in row] for row in given])))
    written = tmp_path / "age.csv"
    written.write_text("color,young,middle,old\nred,1,0,0\ngreen,1,0,0\nblue,0,3/5,2/5\n")
    for about in (f"{table}:age", written):
        found = json.loads(
            told("--prior", f"{table}:color", "--guarantee", "pml=0.5", "--about", about, "--json").stdout
        )
        assert found["utility"]["name"] == "mutual-information about another variable"
        assert found["utility"]["value"] == pytest.approx(expected.utility, rel=1e-9)
    bits = ["--prior", f"{table}:color", "--guarantee", "ldp=1", "--about", written, "--unit", "bits", "--json"]
    nats = ["--prior", f"{table}:color", "--guarantee", f"ldp={math.log(2)}", "--about", written, "--json"]
    found, same = (json.loads(told(*asked).stdout)["utility"]["value"] for asked in (bits, nats))
    assert found * math.log(2) == pytest.approx(same, rel=1e-9)
    scored = json.loads(told("--prior", f"{table}:color", "--guarantee", "pml=0.5", "--utility", "hamming",
                             "--about", written, "--json").stdout)  # fmt: skip
    assert set(scored["outcomes"]) <= {"young", "middle", "old"}
    for bad in (f"{tmp_path / 'other.csv'}:age", f"{table}:absent", tmp_path / "absent.csv"):
        refused = run(app, ["design", "--prior", f"{table}:color", "--guarantee", "pml=1", "--about", str(bad)])
        assert refused.exit_code == 2
        assert "Traceback" not in refused.output


def test_the_help_names_all_there_is() -> None:
    text = told("--help").output
    words = text.replace("-\n", "-").replace("\n", " ")
    words = " ".join(words.split())
    unlisted = {"max-g-leakage", "average-g-leakage"}
    for name in (*METHODS, *SUBCONVEX, *SCORES, *(set(LIMITS) - unlisted)):
        assert name in words.replace("- ", "-"), name


def test_all_columns_of_a_table_in_one_command(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    result = told("--prior", f"{table}:*", "--guarantee", "pml=0.4", "--guarantee", "ldp=1", "-o", folder, "--json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [len(f["secrets"]) for f in found] == [3, 3]
    assert [g["kind"] for g in found[0]["guarantee"]] == ["pml", "ldp"]
    for name in ("color", "age"):
        mechanism = read_channel(folder / f"{name}.csv")
        assert dv.PML("0.4").holds_for(dv.Joint(read_prior(f"{table}:{name}", mechanism), mechanism))
        assert dv.LDP(1).holds_for(mechanism)


def test_the_text_lists_named_mechanisms(table: Path) -> None:
    text = told("--prior", f"{table}:color", "--guarantee", "pml=0.4").stdout
    assert "kept exactly: pml=0.4" in text
    assert "randomized response" in text
    assert "randomized" not in told("--prior", f"{table}:color", "--guarantee", "pml=0.4", "--no-compare").stdout
    named = json.loads(told("--prior", f"{table}:color", "--guarantee", "pml=0.4", "--compare", "--json").stdout)
    assert set(named["named"]["geometric"]) == {"utility", "pml", "pmc", "ldp", "maximal_leakage"}
    assert all(row["utility"] <= named["bound"] and row["pml"] <= 0.4 for row in named["named"].values())


@pytest.mark.parametrize("unit", [pytest.param("nats", marks=pytest.mark.long), "bits"])
def test_the_least_level_for_a_utility(table: Path, unit: str) -> None:
    arguments = ["--prior", f"{table}:color", "--guarantee", "ldp", "--guarantee", "pml=1", "--at-least", 0.1]
    found = json.loads(told(*arguments, "--unit", unit, "--json").stdout)
    per = math.log(2) if unit == "bits" else 1.0
    ours = dv.least_epsilon(read_prior(f"{table}:color"), dv.LDP, dv.PML(per), at_least=0.1 * per)
    first = found["guarantee"][0]
    assert first["epsilon"] * per == pytest.approx(ours.epsilon, rel=1e-6)
    assert found["lower"] < first["epsilon"] < found["lower"] * (1 + 1e-6)
    assert found["utility"]["value"] >= 0.1 * (1 - 1e-12)
    text = told(*arguments, "--unit", unit, "--no-compare").stdout
    assert f"no mechanism has as much at ldp={reached(found['lower'], 9)}" in text


def test_a_distortion_from_a_column_of_numbers(table: Path) -> None:
    arguments = ["--prior", f"{table}:age", "--utility", "absolute-distance", "--guarantee"]
    found = json.loads(told(*arguments, "pml", "--at-most", 5, "--json").stdout)
    assert found["bound"] <= found["utility"]["value"] <= 5
    result = run(app, ["design", *arguments, "pml=0.1", "--at-most", "1"])
    assert result.exit_code == 2
    assert "absolute-distance of at most 1; pml=0.1 rules it out, pml=" in result.stderr


def test_the_frontier_as_json_table_and_picture(table: Path, tmp_path: Path) -> None:
    arguments = ["--prior", f"{table}:color", "--guarantee", "pml", "--guarantee", "ldp=2", "--frontier"]
    found = json.loads(told(*arguments, "0.2:1:3", "--plot", tmp_path / "curve.png", "--json").stdout)
    assert [at["level"] for at in found["levels"]] == pytest.approx([0.2, 0.6, 1.0])
    assert all(a["value"] < b["value"] for a, b in zip(found["levels"], found["levels"][1:], strict=False))
    for rows in found["named"].values():
        assert all(value <= at["bound"] for value, at in zip(rows, found["levels"], strict=True))
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    text = told(*arguments, "0.2,0.6").stdout
    assert "watchdog" in text
    assert "watchdog" not in told(*arguments, "0.2,0.6", "--no-compare").stdout
    bits = json.loads(told(*arguments, "1", "--unit", "bits", "--json").stdout)["levels"][0]
    exact = dv.design(read_prior(f"{table}:color"), dv.PML(math.log(2)), dv.LDP(2 * math.log(2)))
    assert bits["value"] * math.log(2) == pytest.approx(exact.utility, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--guarantee", "pml"], "`--guarantee` must have a value; pml has none"),
        (["--guarantee", "pml", "--guarantee", "ldp"], "several come without a value"),
        (["--guarantee", "pml=1", "--frontier", "1,2"], "one --guarantee KIND without a value"),
        (["--guarantee", "pml", "--frontier", "1:2"], "`--frontier` must be written"),
        (["--guarantee", "pml", "--frontier", "low"], "`--frontier` must be written"),
        (["--guarantee", "pml", "--frontier", "-1"], "epsilon"),
        (["--guarantee", "alip", "--at-least", "0.1"], "one parameter"),
        (["--guarantee", "pml=1", "--plot", "x.png"], "--frontier"),
        (["--guarantee", "pml", "--frontier", "1", "-o", "x.csv"], "without --frontier"),
        (["--guarantee", "pml=0.1", "--at-least", "0.5"], "pml=0.1 rules it out, pml=0.622736 is the least"),
        (
            ["--guarantee", "pml=0.1", "--at-least", "0.5", "--unit", "bits"],
            "of at least 0.5; pml=0.1 rules it out, pml=0.7686",
        ),
        (["--guarantee", "pml", "--at-least", "9"], "some mechanism has"),
        (["--guarantee", "pml=1", "--utility", "lautum-information"], "forbids zeros"),
        (["--guarantee", "pml=1", "--utility", "absolute-distance"], "distance between numbers"),
        (["--guarantee", "pml=1", "--method", "linear-program"], "`method` must apply"),
        (["--guarantee", "pml=1", "--time-limit", "-1"], "time_limit"),
    ],
)
def test_bad_requests_end_with_one_message_and_exit_2(table: Path, arguments: list[str], words: str) -> None:
    result = run(app, ["design", "--prior", f"{table}:color", *arguments])
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not result.stdout


def test_several_priors_need_a_folder(table: Path, tmp_path: Path) -> None:
    result = run(app, ["design", "--prior", f"{table}:*", "--guarantee", "pml=1", "-o", str(tmp_path / "one.csv")])
    assert result.exit_code == 2
    assert "folder" in result.stderr


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    prior = tmp_path / "p.csv"
    values = dv.Prior.from_counts([k % 17 + 3 for k in range(24)]).floats * 1.0
    prior.write_text("x,p\n" + "".join(f"{k},{float(v)!r}\n" for k, v in enumerate(values.tolist())))
    command = ["design", "--prior", str(prior), "--guarantee", "pml=1.3", "--json"]
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    process = copies.started(command, stdout=subprocess.PIPE, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 4096):
            shown += piece
    except OSError:
        pass
    out, _ = process.communicate()
    os.close(leader)
    assert process.returncode == 0
    assert json.loads(out)["method"] == "column-generation"
    assert b"designing for" in shown
    assert b"gap" in shown
    assert b"Traceback" not in shown
    quiet = copies.run(command, env=environment)
    assert (quiet.returncode, quiet.stderr) == (0, b"")


def test_a_place_that_cannot_be_written_is_refused_before_the_design(table: Path, tmp_path: Path) -> None:
    asked = ["design", "--prior", f"{table}:color", "--guarantee", "pml=0.5", "-o"]
    for place, words in ((tmp_path / "no" / "c.csv", "must be in a folder that exists"),
                         (tmp_path / "c.txt", "must have a name that ends in .csv")):  # fmt: skip
        refused = run(app, [*asked, str(place)])
        assert refused.exit_code == 2
        assert words in refused.output
    for levels in ("0.1:1:1", "0.1:1:0", "0.1:1:x"):
        refused = run(app, ["design", "--prior", f"{table}:color", "--guarantee", "pml", "--frontier", levels])
        assert refused.exit_code == 2
        assert "FIRST:LAST:HOWMANY" in refused.output


def test_outcomes_and_what_must_never_be_released(table: Path) -> None:
    two = json.loads(
        told("--prior", f"{table}:color", "--guarantee", "pml=0.5", "--outcomes", "no,yes", "--json").stdout
    )
    assert set(two["outcomes"]) <= {"no", "yes"}
    assert two["gap"] > 0
    for column, pairs in (("color", ["red:green", "blue:red"]), ("age", ["30:40", "40:30"])):
        asked = [part for pair in pairs for part in ("--forbid", pair)]
        found = json.loads(told("--prior", f"{table}:{column}", "--guarantee", "pml=1", *asked, "--json").stdout)
        rows = {str(x): row for x, row in zip(found["secrets"], found["matrix"], strict=True)}
        for x, y in (pair.split(":") for pair in pairs):
            place = list(map(str, found["outcomes"])).index(y) if y in map(str, found["outcomes"]) else None
            assert place is None or rows[x][place] == "0"
    for bad in (["--forbid", "red"], ["--forbid", "pink:red"], ["--forbid", "red:nothing"], ["--outcomes", "a,a"]):
        refused = run(app, ["design", "--prior", f"{table}:color", "--guarantee", "pml=1", *bad])
        assert refused.exit_code == 2
        assert "Traceback" not in refused.output


def test_the_best_mechanism_about_places(tmp_path: Path) -> None:
    prior = tmp_path / "people.csv"
    counts = [22, 46, 22, 26, 76, 26, 12, 22, 12]
    prior.write_text("secret,share\n" + "".join(f"{i},{c}/264\n" for i, c in enumerate(counts)))
    words = ["design", "--prior", str(prior), "--guarantee", "metric=1/km", "--distance", "grid:3x3:1km"]
    found = json.loads(run(app, [*words, "--utility", "distance", "--json"]).stdout)
    assert found["utility"]["value"] == pytest.approx(0.7559637900982732, abs=1e-11)
    assert found["gap"] < 1e-10
    assert found["guarantee"]["epsilon"] == 1.0
    text = run(app, [*words, "--utility", "distance"]).stdout
    assert "kept exactly: metric=1/km" in text
    assert "planar Laplace" in text
    bad = run(app, words)
    assert bad.exit_code == 2
    assert 'utility="distance"' in bad.output
