"""`divulge calibrate` as a user runs it."""

import json
import math

import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["calibrate", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_what_is_printed_keeps_the_goal_as_it_stands() -> None:
    text = run("gaussian", "adp=1:1e-6")
    sigma = float(next(line.split()[1] for line in text.splitlines() if line.strip().startswith("sigma")))
    assert 1 - 2e-6 <= dv.compose(dv.dp.GaussianMechanism(sigma)).epsilon(1e-6).upper <= 1


def test_hits_of_gaussian_noise_are_those_of_the_best_test() -> None:
    found = json.loads(run("gaussian", "hits=0.1:0.01", "--count", "4", "--json"))
    assert found["sought"] == "sigma"
    assert found["value"] == pytest.approx(2 / (norm.ppf(0.99) - norm.ppf(0.9)), rel=1e-5)
    assert norm.sf(norm.isf(0.01) - 2 / found["value"]) <= 0.1


def test_a_count_and_a_rate_are_sought_where_the_noise_is_given() -> None:
    assert json.loads(run("laplace", "dp=1", "--noise", "20", "--json"))["value"] == 20
    rate = json.loads(run("laplace", "dp=1", "--noise", "2", "--count", "3", "--json"))
    assert rate["sought"] == "rate"
    assert 3 * math.log1p(rate["value"] * math.expm1(0.5)) == pytest.approx(1, abs=2e-6)


def test_others_about_the_same_data_count(tmp_path) -> None:
    (tmp_path / "r.json").write_text('[{"mechanism": "laplace", "scale": 2, "count": 1}]')
    found = json.loads(run("laplace", "dp=1", "--noise", "10", "--beside", str(tmp_path / "r.json"), "--json"))
    assert found["value"] == 5


def test_bits_are_asked_and_answered() -> None:
    assert json.loads(run("laplace", "dp=1", "--unit", "bits", "--json"))["value"] == pytest.approx(1 / math.log(2))


@pytest.mark.parametrize(
    "arguments",
    [("gauss", "dp=1"), ("gaussian", "dp=1"), ("laplace", "hits=0.1"), ("laplace", "hits=0.01:0.1"),
     ("laplace", "dp=x"),
     ("laplace", "dp=1", "--noise", "-1"), ("laplace", "dp=1", "--noise", "2", "--count", "1", "--rate", "0.1"),
     ("laplace", "pml=1", "--base-rate", "0"), ("laplace", "k=5"), ("laplace", "dp=1", "--beside", "none.json"),
     ("laplace", "hits=nan:0.1"), ("laplace", "dp=1", "--count", "0"), ("laplace", "dp=1", "--count", "-2")],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(arguments: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["calibrate", *arguments])
    assert done.exit_code == 2
    assert done.output.startswith("error:")
    assert len(done.output.strip().splitlines()) == 1
