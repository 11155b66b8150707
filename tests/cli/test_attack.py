"""`divulge attack` and `divulge compare` as a user runs them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support import RUNNING_CHANNEL, RUNNING_PRIOR, SURVEY_G, SURVEY_R
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

run = CliRunner().invoke


def written(channel: dv.Channel, path: Path) -> str:
    path.write_text(json.dumps(channel.to_dict()))
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    prior = tmp_path / "prior.json"
    prior.write_text(json.dumps({x: str(p) for x, p in RUNNING_PRIOR.to_dict().items()}))
    names = {"running": RUNNING_CHANNEL, "g": SURVEY_G, "r": SURVEY_R}
    names["revealing"] = dv.Channel([["1", "0"], ["1/2", "1/2"], ["0", "1"]], ["b", "g", "bg"])
    return {name: written(channel, tmp_path / f"{name}.json") for name, channel in names.items()} | {
        "prior": str(prior)
    }


def attacked(*arguments: str) -> list[dict[str, Any]]:
    result = run(app, ["attack", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["outcomes"]


@pytest.mark.parametrize("name", ["running", "revealing"])
def test_the_adversaries_printed_attain_what_is_printed(files: dict[str, str], name: str) -> None:
    channel = RUNNING_CHANNEL if name == "running" else dv.Channel(json.loads(Path(files[name]).read_text())["matrix"])
    p = [float(v) for v in RUNNING_PRIOR]
    found = attacked(files[name], "--prior", files["prior"])
    assert len(found) == 2
    for j, one in enumerate(found):
        weights = [v * float(c) for v, c in zip(p, channel.matrix[:, j], strict=True)]
        d = [w / sum(weights) for w in weights]
        gains = [max(sum(g * v for g, v in zip(row, b, strict=True)) for row in one["gain"]["matrix"]) for b in (p, d)]
        assert gains == pytest.approx([one["gain_before"], one["gain_after"]], rel=1e-12)
        assert math.log(gains[1] / gains[0]) == pytest.approx(one["pml"], abs=1e-12)
        kernel = one["function"]["kernel"]
        assert len(kernel[0]) == len(one["function"]["symbols"])
        likeliest = [
            max(sum(v * row[u] for v, row in zip(b, kernel, strict=True)) for u in range(len(kernel[0])))
            for b in (p, d)
        ]
        assert [1 - v for v in likeliest] == pytest.approx([one["error_before"], one["error_after"]], abs=1e-12)
        if one["error_after"]:
            assert math.log(one["error_before"] / one["error_after"]) == pytest.approx(one["pmc"], abs=1e-12)
        else:
            assert one["pmc"] == "inf"
        assert one["words"].startswith(f"sees {one['outcome']}, ")


def test_one_outcome_units_and_text(files: dict[str, str]) -> None:
    (only,) = attacked(files["running"], "--prior", files["prior"], "--outcome", "g", "--unit", "bits")
    assert only["outcome"] == "g"
    assert only["pmc"] == pytest.approx(math.log2(9))
    text = run(app, ["attack", files["running"], "--prior", "uniform"]).stdout
    assert "sees b, guesses bg; right" in text
    spelled = run(app, ["attack", files["running"], "--prior", files["prior"], "--outcome", "b"]).stdout
    assert "Gain 'reciprocal'" in spelled
    assert "RandomizedFunction" in spelled


def test_outcomes_that_never_occur_are_absent(tmp_path: Path) -> None:
    path = written(dv.Channel([["1", "0"], ["0", "1"]]), tmp_path / "c.json")
    (tmp_path / "p.json").write_text('{"0": "1", "1": "0"}')
    assert [one["outcome"] for one in attacked(path, "--prior", str(tmp_path / "p.json"))] in ([0], ["0"])


def test_compare_says_who_is_safer_against_whom(files: dict[str, str]) -> None:
    result = run(app, ["compare", files["g"], files["r"], "--prior", "uniform", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["average_case"]["safer"] == found["max_case"]["safer"] == "neither"
    assert found["epsilon"]["safer"] == "B"
    assert found["measures"]["bayes_capacity"] == {"A": pytest.approx(5 / 3), "B": pytest.approx(9 / 5), "safer": "A"}
    assert {one["leaks_more"] for one in found["average_case"]["adversaries"]} == {"A", "B"}
    text = run(app, ["compare", files["g"], files["r"]]).stdout
    assert "average-case adversaries: neither is safer against all of them" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["attack", "CHANNEL"],
        ["attack", "CHANNEL", "--prior", "uniform", "--outcome", "z"],
        ["attack", "missing.csv", "--prior", "uniform"],
        ["compare", "CHANNEL", "SURVEY"],
        ["compare", "CHANNEL"],
    ],
)
def test_bad_input_is_exit_2(files: dict[str, str], arguments: list[str]) -> None:
    given = [files["running"] if a == "CHANNEL" else files["g"] if a == "SURVEY" else a for a in arguments]
    result = run(app, given)
    assert result.exit_code in (1, 2)
    assert result.exit_code == 2 or isinstance(result.exception, dv.DivulgeError)
    assert not result.stdout


@pytest.fixture
def numbers(tmp_path: Path) -> dict[str, str]:
    """A channel about numbers, gains of two widths, and something that becomes the number."""
    contents = {
        "channel.csv": ",a,b\n1,3/4,1/4\n2,1/2,1/2\n3,1/4,3/4\n",
        "gain.csv": "action,3,1,2\nlow,0,1,1/3\nhigh,1,0,1/3\n",
        "gain.json": '{"matrix": [["1", "1/3", "0"], ["0", "1/3", "1"]], "actions": ["low", "high"]}',
        "narrow.csv": "action,1,2\nlow,1,1/3\n",
        "narrow.json": '{"matrix": [[1, 0]]}',
        "about.csv": ",1,2,3\nsick,1/2,1/4,1/4\nwell,1/4,1/4,1/2\n",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in contents}


def told(*arguments: str) -> dict[str, Any]:
    result = run(app, ["attack", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("file", ["gain.csv", "gain.json"])
def test_an_adversary_from_a_file_is_evaluated_exactly(numbers: dict[str, str], file: str) -> None:
    """Uniform prior; before: 1/3 + 1/9; after each outcome: (3/4 + 1/6) / (3/2)."""
    found = told(numbers["channel.csv"], "--prior", "uniform", "--gain", numbers[file])
    assert found["exact"] == {"before": "4/9", "after": "11/18", "leakage": "11/8"}
    assert [(one["outcome"], one["action"]) for one in found["by_outcome"]] == [("a", "low"), ("b", "high")]
    text = run(app, ["attack", numbers["channel.csv"], "--prior", "uniform", "--gain", numbers[file]]).stdout
    assert "expects 4/9 before, 11/18 after" in text


def test_tries_thresholds_and_distances(numbers: dict[str, str]) -> None:
    channel = numbers["channel.csv"]
    assert told(channel, "--prior", "uniform", "--tries", "2")["exact"]["after"] == "5/6"
    assert told(channel, "--prior", "uniform", "--within", "0")["exact"]["after"] == "1/2"
    assert told(channel, "--prior", "uniform", "--within", "1")["exact"]["before"] == "1"
    assert told(channel, "--prior", "uniform", "--distance")["before"] == pytest.approx(2 / 3)


def test_the_worst_prior_and_dalenius(numbers: dict[str, str]) -> None:
    worst = told(numbers["channel.csv"], "--tries", "1", "--worst-prior")
    assert worst["leakage"] == pytest.approx(1.5)
    assert sum(worst["prior"].values()) == pytest.approx(1)
    about = told(numbers["channel.csv"], "--prior", "uniform", "--dalenius", numbers["about.csv"])
    assert about["exact"] == {"lift": "9/8", "lift_of_correlation": "4/3", "lift_of_release": "3/2", "bound": "4/3"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gain", "narrow.csv"], "one column for each of the 3 secrets"),
        (["--gain", "narrow.json"], "one column for each of the 3 secrets"),
        (["--gain", "gain.csv", "--tries", "2"], "one aim"),
        (["--tries", "0"], "from 1 to 3"),
        (["--within", "x"], "--within"),
        (["--worst-prior"], "come with an aim"),
        (["--worst-prior", "--tries", "1"], "in place of --prior"),
        (["--dalenius", "about.csv", "--tries", "1"], "without an aim"),
    ],
)
def test_an_aim_that_cannot_be_is_refused(numbers: dict[str, str], options: list[str], message: str) -> None:
    given = [numbers.get(option, option) for option in options]
    found = run(app, ["attack", numbers["channel.csv"], "--prior", "uniform", *given])
    assert found.exit_code == 2
    assert message in found.stderr


def test_exact_witnesses_are_text_beside_floats(numbers: dict[str, str]) -> None:
    one = attacked(numbers["channel.csv"], "--prior", "uniform")[0]
    assert one["exact"]["gain_after"] == "3/2"
    assert one["exact"]["gain"][0] == ["3", "0", "0"]
    checked = run(app, ["check", numbers["channel.csv"], "--guarantee", "lift-capacity=2", "--json"])
    assert checked.exit_code == 1
    assert json.loads(checked.stdout)["exact"] == {"ratio": "3"}


def test_compare_answers_by_its_exit_code_when_asked(files: dict[str, str], tmp_path: Path) -> None:
    hidden = written(dv.Channel([["1/2", "1/2"]] * 3, ["b", "g", "bg"]), tmp_path / "hidden.json")
    risky = files["revealing"]
    assert run(app, ["compare", hidden, risky]).exit_code == 0
    for first, second, code in ((hidden, hidden, 0), (risky, hidden, 0), (hidden, risky, 1)):
        assert run(app, ["compare", first, second, "--exit-code"]).exit_code == code
