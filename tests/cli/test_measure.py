"""`divulge measure` as a user runs it: the contract's JSON, tables for people, and how it ends."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import copies
import pytest
from support import RUNNING_CHANNEL
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

CENSUS = ["--data", str(dv.datasets.census_path()), "--secret", "race", "--released", "income"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(dv.__file__).parent.parent)}


def measured(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["measure", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def running(tmp_path: Path) -> tuple[Path, Path]:
    dv.write_channel(RUNNING_CHANNEL, tmp_path / "c.json")
    (tmp_path / "p.csv").write_text("secret,probability\nbg,1/4\nb,1/4\ng,1/2\n")
    return tmp_path / "c.json", tmp_path / "p.csv"


def test_the_json_of_a_channel_has_the_keys_of_the_contract(running: tuple[Path, Path]) -> None:
    found = measured(running[0])
    assert list(found) == ["secrets", "outcomes", "unit", "channel"]
    assert (found["secrets"], found["outcomes"], found["unit"]) == (["b", "g", "bg"], ["b", "g"], "nats")
    assert list(found["channel"]) == [
        "ldp", "lift_capacity", "bayes_capacity", "maximal_leakage", "maximal_cost_leakage", "capacity",
    ]  # fmt: skip
    assert found["channel"]["ldp"] == pytest.approx(math.log(15), rel=1e-15)
    assert (found["channel"]["lift_capacity"], found["channel"]["bayes_capacity"]) == (15.0, 1.7)


def test_the_json_of_a_joint_has_the_keys_and_values_of_the_contract(running: tuple[Path, Path]) -> None:
    found = measured(running[0], "--prior", running[1])
    assert list(found) == ["secrets", "outcomes", "unit", "channel", "joint", "by_outcome"]
    assert list(found["joint"]) == [
        "pml", "pmc", "lip", "alip", "lift", "mean_pml", "mean_pmc", "mutual_information", "min_entropy_leakage",
        "maximal_realizable_cost",
    ]  # fmt: skip
    assert found["joint"]["alip"] == {
        "lower": pytest.approx(math.log(9), rel=1e-15),
        "upper": pytest.approx(math.log(19 / 11), rel=1e-15),
    }
    assert found["joint"]["lift"] == 19 / 11
    first, second = found["by_outcome"]
    assert list(first) == ["outcome", "probability", "pml", "pmc", "pml_secret", "pmc_secret"]
    assert (first["outcome"], first["probability"], first["pml_secret"], first["pmc_secret"]) == ("b", 0.55, "bg", "g")
    assert (second["pml"], second["pmc"]) == pytest.approx((math.log(5 / 3), math.log(9)), rel=1e-15)


def test_bits_are_nats_over_log_2_and_ratios_stay(running: tuple[Path, Path]) -> None:
    nats, bits = (measured(running[0], "--prior", running[1], "--unit", unit) for unit in ("nats", "bits"))
    assert bits["unit"] == "bits"
    for group in ("channel", "joint"):
        for name, value in nats[group].items():
            scale = 1.0 if name in ("lift", "lift_capacity", "bayes_capacity") else math.log(2)
            parts = zip(value.values(), bits[group][name].values(), strict=True) if name == "alip" else [
                (value, bits[group][name])
            ]  # fmt: skip
            assert all(b * scale == pytest.approx(n, rel=1e-14) for n, b in parts), name


def test_infinity_is_the_string_inf_and_unseen_outcomes_are_absent(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("x,a,b,c\np,1,0,0\nq,0.5,0.5,0\nr,0,0,1\n")
    (tmp_path / "p.json").write_text('{"p": 0.5, "q": 0.5, "r": 0}')
    found = measured(tmp_path / "c.csv", "--prior", tmp_path / "p.json")
    assert (found["channel"]["ldp"], found["channel"]["lift_capacity"]) == ("inf", "inf")
    assert (found["joint"]["pmc"], found["joint"]["alip"]["lower"], found["joint"]["mean_pmc"]) == ("inf",) * 3
    assert [row["outcome"] for row in found["by_outcome"]] == ["a", "b"]
    assert found["by_outcome"][1]["pmc"] == "inf"


def test_from_data_is_what_the_counts_say() -> None:
    found = measured(*CENSUS)
    exact = dv.profile(dv.read_joint(dv.datasets.census_path(), "race", "income")).to_dict()
    assert found["secrets"] == exact["secrets"]
    for name in ("pml", "pmc", "lift", "mutual_information", "mean_pml"):
        assert found["joint"][name] == pytest.approx(exact["joint"][name], rel=1e-12)


def test_estimates_say_so_and_show_how_many_rows_they_rest_on() -> None:
    result = CliRunner().invoke(app, ["measure", *CENSUS])
    assert "estimate" in result.stderr
    assert "199,523 rows" in result.stderr
    assert "Under the prior, estimated [nats]" in result.stdout
    gained, ruled_out = (line for line in result.stdout.splitlines() if line.strip().startswith("50000+."))
    for line, rows in ((gained, "430"), (ruled_out, "49")):
        assert line.split()[:3] == ["50000+.", "0.06206", "12382"]
        assert line.split()[-1] == rows
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_an_estimate_below_nothing_is_told_as_such(tmp_path: Path) -> None:
    dv.write_channel(dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"]), tmp_path / "c.csv")
    for answers, told in ((["yes"] * 20 + ["no"] * 4, True), (["yes", "no"] * 12, False)):
        (tmp_path / "t.csv").write_text("\n".join(["ill", *answers]) + "\n")
        line = ["estimate", str(tmp_path / "t.csv"), "--mechanism", str(tmp_path / "c.csv"), "--column", "ill"]
        done = CliRunner().invoke(app, line)
        assert done.exit_code == 0, done.output
        assert ("2 estimates below 0 or above 1" in done.stderr) is told


def test_the_json_of_an_estimate_is_alone_on_standard_output() -> None:
    result = CliRunner().invoke(app, ["measure", *CENSUS, "--json"])
    json.loads(result.stdout)
    assert "estimate" in result.stderr


def test_a_prior_can_replace_the_one_in_the_data(tmp_path: Path) -> None:
    found = measured(*CENSUS, "--prior", "uniform")
    assert sum(row["probability"] for row in found["by_outcome"]) == pytest.approx(1)
    assert found["joint"]["pml"] != measured(*CENSUS)["joint"]["pml"]


def test_tables_show_every_measure_and_outcome(running: tuple[Path, Path]) -> None:
    out = CliRunner().invoke(app, ["measure", str(running[0]), "--prior", str(running[1])]).stdout
    for words in (
        "ldp",
        "2.709",
        "17/10",
        "19/11",
        "mutual_information",
        "alip.lower",
        "By outcome, most ruled out [nats]",
    ):
        assert words in out


def test_labels_are_text_and_no_markup(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("x,[red]a[/red],[/nonsense]\np,0.5,0.5\n")
    result = CliRunner().invoke(app, ["measure", str(tmp_path / "c.csv"), "--prior", "uniform"])
    assert (result.exit_code, "[red]a[/red]" in result.stdout) == (0, True)


def test_many_outcomes_are_cut_with_a_note(tmp_path: Path) -> None:
    dv.write_channel(dv.Channel([[1 / 128] * 128]), tmp_path / "c.npy")
    result = CliRunner().invoke(app, ["measure", str(tmp_path / "c.npy"), "--prior", "uniform"])
    assert "68 outcomes" in result.stderr


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return copies.run(arguments, text=True, env=ENVIRONMENT, **options)


def test_a_process_reads_standard_input() -> None:
    done = run("measure", "-", "--json", input="x,a,b\np,1/2,1/2\nq,1/4,3/4\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["channel"]["lift_capacity"] == 2.0


def test_a_process_ends_with_2_and_one_line_when_input_is_bad() -> None:
    done = run("measure", "-", input="[" * 200_000)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == ["error: standard input: is nested too deeply."]


def test_an_ascii_terminal_is_enough(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("x,é,\U0001f512\np,0.5,0.5\n", encoding="utf-8")
    plain = copies.run(["measure", str(tmp_path / "c.csv"), "--prior", "uniform"], encoding="ascii", env=ENVIRONMENT)
    assert (plain.returncode, plain.stderr) == (0, b"")


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    dv.write_channel(dv.Channel([[1 / 4096] * 4096]), tmp_path / "c.npy")
    line = f'"{sys.executable}" -m divulge measure "{tmp_path / "c.npy"}" --prior uniform --json | head -c 10'
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"secrets"', "")


def test_an_interrupt_ends_with_130() -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = copies.started(["measure", "-"], **pipes, text=True, env=ENVIRONMENT)
    assert process.stdin is not None
    process.stdin.write("secret,a,b\n" * 20_000)  # a pipe holds less than that: when it is written, the command reads
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert (process.returncode, said) == (130, "interrupted\n")


def test_released_values_of_one_row_are_told_and_missing_values_have_a_label(tmp_path: Path) -> None:
    path = tmp_path / "class.csv"
    path.write_text("id,ill,class\n1,no,a\n2,yes,a\n3,,b\n4,no,b\n")
    found = CliRunner().invoke(app, ["measure", "--data", str(path), "--secret", "ill", "--released", "id",
                                     "--null-as", "no answer", "--json"])  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "4 released values stand for one row each: whoever holds the table reads the secret there." in found.stderr
    assert json.loads(found.stdout)["secrets"] == ["no", "no answer", "yes"]
    shared = CliRunner().invoke(app, ["measure", "--data", str(path), "--secret", "id", "--released", "class"])
    assert "whoever holds the table" not in shared.stderr
    refused = CliRunner().invoke(app, ["measure", "--data", str(path), "--secret", "ill", "--released", "id"])
    assert refused.exit_code == 2
    assert "(--null-as)" in refused.stderr
