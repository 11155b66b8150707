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
