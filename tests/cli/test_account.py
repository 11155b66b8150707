"""`divulge account` as a user runs it."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

LIST = [
    {"mechanism": "gaussian", "sigma": 10, "sensitivity": 1, "count": 1000},
]


def run(*arguments: str, given: str | None = None) -> Any:
    return CliRunner().invoke(app, ["account", *arguments], input=given)


def test_contract(tmp_path: Path) -> None:
    path = tmp_path / "releases.json"
    path.write_text(json.dumps(LIST))
    found = json.loads(run(str(path), "--delta", "1e-6", "--json").stdout)
    assert found["delta"] == 1e-6
    assert found["epsilon"]["lower"] <= 19.4236564740308 <= found["epsilon"]["upper"]
    assert found["pure_epsilon"] == "inf"
    assert found["zcdp"]["rho"] == pytest.approx(5.0)
    assert {"alpha": 2.0, "epsilon": pytest.approx(10.0)} in found["renyi"]
    back = json.loads(run(str(path), "--epsilon", "19.4236564740308", "--json").stdout)
    assert back["epsilon"] == 19.4236564740308
    assert back["delta"]["upper"] == pytest.approx(1e-6, rel=1e-6)
    bits = json.loads(run(str(path), "--delta", "1e-6", "--json", "--unit", "bits").stdout)
    assert bits["epsilon"]["upper"] == pytest.approx(19.4236564740308 / math.log(2))


def test_every_kind_of_release(tmp_path: Path) -> None:
    channel = tmp_path / "c.json"
    channel.write_text(
        json.dumps({"secrets": ["a", "b"], "outcomes": [0, 1], "matrix": [["3/4", "1/4"], ["1/4", "3/4"]]})
    )
    releases = [
        {"mechanism": "laplace", "scale": 1, "sensitivity": 1, "count": 2},
        {"mechanism": "randomized-response", "epsilon": 0.1, "categories": 2, "count": 100},
        {"mechanism": "channel", "file": str(channel), "count": 2},
        {"mechanism": "adp", "epsilon": 0.5, "delta": 1e-9},
        {"mechanism": "laplace", "scale": 1, "rate": 0.1},
        {"mechanism": "laplace", "scale": 1, "sample": 1, "population": 10},
    ]
    pure = json.loads(run("-", "--delta", "0", "--json", given=json.dumps([releases[i] for i in (0, 1, 2, 5)])).stdout)
    expected = 2 + 10 + 2 * math.log(3) + math.log1p(math.expm1(1) / 10)
    assert pure["releases"] == 105
    assert pure["epsilon"]["upper"] == pytest.approx(expected, rel=1e-12)
    for record in [*releases, {"mechanism": "zcdp", "rho": 0.01}]:
        found = json.loads(run("-", "--delta", "0.01", "--json", given=json.dumps([record])).stdout)
        known = record["mechanism"] not in ("adp", "zcdp")  # of a promise nothing is known from below
        assert (found["epsilon"]["lower"] > 0) == known
        assert found["epsilon"]["lower"] <= found["epsilon"]["upper"] < 3


def test_csv_and_text(tmp_path: Path) -> None:
    path = tmp_path / "releases.csv"
    path.write_text("mechanism,scale,epsilon,count\nlaplace,1,,10\nrandomized-response,,0.5,4\n")
    result = run(str(path))
    assert result.exit_code == 0
    assert "pure epsilon" in result.stdout
    assert "12" in result.stdout
    assert json.loads(run(str(path), "--delta", "0", "--json").stdout)["epsilon"] == {"lower": 12.0, "upper": 12.0}


def test_shuffled_reports() -> None:
    records = [{"mechanism": "shuffled", "local": 4, "n": 100_000}]
    found = json.loads(run("-", "--delta", "1e-6", "--json", given=json.dumps(records)).stdout)
    assert found["epsilon"]["lower"] == 0
    assert found["epsilon"]["upper"] == pytest.approx(0.118153, abs=1e-6)
    assert found["pure_epsilon"] == 4


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    picture = tmp_path / "curve.png"
    result = run("-", "--plot", str(picture), given=json.dumps([{"mechanism": "laplace", "scale": 1, "count": 3}]))
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "releases",
    [
        [],
        {},
        [{"mechanism": "magic"}],
        [{"mechanism": ["laplace"]}],
        [{"scale": 1}],
        [{"mechanism": "laplace"}],
        [{"mechanism": "laplace", "scale": 1, "sigma": 2}],
        [{"mechanism": "laplace", "scale": "wide"}],
        [{"mechanism": "laplace", "scale": -1}],
        [{"mechanism": "laplace", "scale": 1, "count": 0}],
        [{"mechanism": "laplace", "scale": 1, "rate": 2}],
        [{"mechanism": "channel", "file": "absent.json"}],
        [{"mechanism": "channel"}],
        [{"mechanism": "laplace", "scale": 1, "count": 1e300}],
        [{"mechanism": "discrete-laplace", "scale": 1, "sensitivity": 1e15}],
        [{"mechanism": "randomized-response", "epsilon": 1, "categories": 1}],
    ],
)
def test_refuses(releases: Any) -> None:
    result = run("-", given=json.dumps(releases))
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_refuses_bad_questions() -> None:
    for place in ("nowhere/curve.png", "curve.unknown"):
        assert run("-", "--delta", "0.1", "--plot", place, given=json.dumps(LIST)).exit_code == 2
    for question in (["--delta", "2"], ["--delta", "nan"], ["--epsilon", "-1"], ["--delta", "0.1", "--epsilon", "1"]):
        assert run("-", *question, given=json.dumps(LIST)).exit_code == 2


def test_one_of_a_thing_is_in_the_singular() -> None:
    one = run("-", "--delta", "1e-6", given=json.dumps([{"mechanism": "gaussian", "sigma": 10, "sensitivity": 1}]))
    assert "1 release [nats]" in one.stdout
    assert "1,000 releases [nats]" in run("-", "--delta", "1e-6", given=json.dumps(LIST)).stdout
    assert "1 secret x 1 outcome" in repr(dv.Channel([[1]]))
    assert "Prior of 1 secret\n" in repr(dv.Prior([1])) + "\n"


def test_what_stays_wider_than_the_tolerance_is_told(tmp_path: Path) -> None:
    """A promise has no lower bound however fine the grid: nothing is said of its width."""
    said = {}
    for name, record, tolerance in (
        ("wide", {"mechanism": "gaussian", "sigma": 10, "count": 10000}, "1e-15"),
        ("narrow", {"mechanism": "gaussian", "sigma": 10, "count": 10000}, "1e-9"),
        ("promise", {"mechanism": "zcdp", "rho": 0.1}, "0.001"),
        ("without end", {"mechanism": "adp", "epsilon": 1, "delta": 0.1, "count": 5}, "0.001"),
    ):
        given = json.dumps([record])
        found = run("-", "--delta", "2e-11", "--tolerance", tolerance, "--json", "--unit", "bits", given=given)
        assert json.loads(found.stdout)["tolerance"] == pytest.approx(float(tolerance) / math.log(2))
        said[name] = found.stderr
    assert said["wide"].startswith("epsilon at delta = 2e-11 is known to within ")
    assert "bits, not to the tolerance of 1.44e-15: rely on its upper bound" in said["wide"]
    assert [said[name] for name in ("narrow", "promise", "without end")] == ["", "", ""]
