"""`divulge noise` as a user runs it."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from divulge.cli.main import app


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["noise", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_json_keeps_the_contract() -> None:
    code, out, _ = run(
        "laplace", "--scale", "2", "--secret", "rademacher()", "--at", "0,3", "--epsilon", "0.2,0.9", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["noise"]["kind"] == "laplace"
    assert found["pml"]["value"] == pytest.approx(0.5 - math.log(math.cosh(0.5)))
    assert found["pmc"]["value"] == pytest.approx(0.5 + math.log(math.cosh(0.5)))
    assert found["pmc"]["at"] in ("inf", "-inf")
    assert set(found) >= {"noise", "secret", "pml", "pmc", "ldp", "mean_pml", "mutual_information", "points", "tail"}
    assert [set(point) for point in found["points"]] == [{"y", "pml", "pmc", "density", "pml_error", "pmc_error"}] * 2
    assert {**found["tail"][1], "error": 0} == {"epsilon": 0.9, "delta": 0.0, "error": 0, "certified": True}
    assert found["pml"]["certified"]
    assert not found["mean_pml_certified"]


def test_estimates_are_marked_as_such() -> None:
    code, out, _ = run("gaussian", "--scale", "1", "--secret", "beta(2, 3)", "--epsilon", "0.2,1", "--at", "0.5")
    assert code == 0
    assert "(estimated)" in out.split("Tail")[1]
    _, text, _ = run("logistic", "--scale", "1", "--secret", "beta(2, 3)")
    assert "pml: the bracket rests on estimated errors of integrals over the secret." in text
    _, proved, _ = run("logistic", "--scale", "1", "--secret", "bernoulli(0.3)", "--epsilon", "0.2")
    assert "estimated errors" not in proved
    assert "(estimated)" not in proved.split("Tail")[1]


def test_every_number_is_in_the_unit_asked_for(tmp_path: Path) -> None:
    common = ("laplace", "--scale", "1", "--secret", "bernoulli(0.3)", "--unit", "bits")
    _, out, _ = run(*common)
    assert "1.4427-LDP holds [bits]" in out
    assert "1-LDP" not in out
    code, _, _ = run(*common, "--plot", str(tmp_path / "noise.svg"))
    assert code == 0
    assert "leakage [bits]" in (tmp_path / "noise.svg").read_text()  # named in a comment beside its outlines


def test_bits_and_infinity() -> None:
    _, nats, _ = run("gaussian", "--scale", "1", "--secret", "bernoulli(0.3)", "--json")
    _, bits, _ = run("gaussian", "--scale", "1", "--secret", "bernoulli(0.3)", "--json", "--unit", "bits")
    a, b = json.loads(nats), json.loads(bits)
    assert a["pmc"]["value"] == a["ldp"] == "inf"
    assert a["pml"]["value"] == pytest.approx(b["pml"]["value"] * math.log(2))
    assert a["pml"]["value"] == pytest.approx(-math.log(0.3))


def test_text_says_why_something_is_infinite() -> None:
    code, out, _ = run("gaussian", "--scale", "1", "--secret", "normal(0, 1)")
    assert code == 0
    assert "without bound" in out


def test_column_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age,name\n20,a\n30,b\n30,c\n")
    code, out, _ = run("discrete-laplace", "--scale", "5", "--secret", f"{path}:age", "--step", "1", "--json")
    assert code == 0
    assert json.loads(out)["secret"]["low"] == 20
    code, _, err = run("laplace", "--scale", "5", "--secret", f"{path}:name")
    assert code == 2
    assert "numbers only" in err


def test_plot(tmp_path: Path) -> None:
    path = tmp_path / "noise.png"
    assert run("laplace", "--scale", "1", "--secret", "bernoulli(0.3)", "--plot", str(path))[0] == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    "arguments",
    [
        ("laplce", "--scale", "1", "--secret", "rademacher()"),
        ("laplace", "--scale", "-1", "--secret", "rademacher()"),
        ("laplace", "--scale", "nan", "--secret", "rademacher()"),
        ("laplace", "--scale", "1", "--secret", "rademacher()", "--records", "0"),
        ("laplace", "--scale", "1", "--secret", "values(0:1/0)"),
        ("laplace", "--scale", "1", "--secret", "rademacher()", "--at", "x"),
        ("laplace", "--scale", "1", "--secret", "rademacher()", "--at", "inf"),
        ("laplace", "--scale", "1", "--secret", "missing.csv:age"),
        ("laplace", "--scale", "1", "--secret", "rademacher()", "--clip", "1"),
        ("laplace", "--scale", "1", "--secret", "rademacher()", "--df", "3"),
        ("laplace", "--secret", "rademacher()"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert not out
    assert "Traceback" not in err
    assert err


def test_noise_of_scipy_stats() -> None:
    code, out, _ = run("gumbel_r(0, 2)", "--secret", "bernoulli(0.3)", "--at", "3", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["noise"] == {"kind": "scipy.stats.gumbel_r", "loc": 0.0, "scale": 2.0}
    densities = [math.exp(-(3 - x) / 2 - math.exp(-(3 - x) / 2)) for x in (0, 1)]
    outcome = 0.7 * densities[0] + 0.3 * densities[1]
    assert found["points"][0]["pml"] == pytest.approx(math.log(max(densities) / outcome), rel=1e-12)
    assert not found["pml"]["certified"]
    code, out, _ = run("norm(0.5, 1)", "--secret", "bernoulli(0.3)", "--json")
    assert (code, json.loads(out)["noise"]) == (0, {"kind": "gaussian", "scale": 1.0, "loc": 0.5})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gumbel_r(0, 2)", "--scale", "1"), "carry its own parameters"),
        (("laplace",), "parameters among scale"),
        (("nonsense(1)",), "known distribution"),
        (("gumbel_r(0, -2)",), "legal arguments"),
        (("poisson(3)",), "continuous"),
    ],
)
def test_noise_that_is_none(arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(*arguments, "--secret", "bernoulli(0.3)")
    assert (code, out) == (2, "")
    assert words in err
