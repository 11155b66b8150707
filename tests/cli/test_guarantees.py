"""`divulge convert` and `divulge check`, as a user runs them."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from divulge.cli.main import app

run = CliRunner().invoke


@pytest.fixture
def channel(tmp_path: Path) -> str:
    path = tmp_path / "c.csv"
    path.write_text(",b,g\nb,3/4,1/4\ng,1/4,3/4\nbg,19/20,1/20\n")
    return str(path)


@pytest.fixture
def prior(tmp_path: Path) -> str:
    path = tmp_path / "p.json"
    path.write_text('{"b": "1/4", "g": "1/2", "bg": "1/4"}')
    return str(path)


def test_convert_writes_what_is_implied_and_why() -> None:
    found = json.loads(run(app, "convert pml=0.05 --to ldp,pmc,lip,alip --p-min 0.1 --json".split()).stdout)
    assert found["given"] == {"kind": "pml", "epsilon": 0.05}
    assert found["context"]["p_min"] == 0.1
    cost = math.log(0.1 / (0.1 - 0.9 * math.expm1(0.05)))
    values = {g["kind"]: g for g in found["implied"]}
    assert values["pmc"]["epsilon"] == pytest.approx(cost)
    assert values["lip"]["epsilon"] == pytest.approx(cost)
    assert values["ldp"]["epsilon"] == pytest.approx(cost + 0.05)
    assert (values["alip"]["lower"], values["alip"]["upper"]) == (pytest.approx(cost), 0.05)
    assert {"theorem", "from", "to"} <= set(values["ldp"]["derivation"][0])
    assert found["unknown"] == []


def test_convert_says_infinity_and_unknown() -> None:
    found = json.loads(run(app, "convert pml=0.5 --to ldp --p-min 0.1 --json".split()).stdout)
    assert found["implied"][0]["epsilon"] == "inf"
    found = json.loads(run(app, "convert pml=0.5 --to ldp,lift --json".split()).stdout)
    assert found["unknown"] == ["ldp"]
    assert [g["kind"] for g in found["implied"]] == ["lift"]
    text = run(app, "convert pml=0.5 --to ldp".split()).stdout
    assert "without p_min" in text


def test_convert_takes_a_prior_several_guarantees_and_everything(prior: str) -> None:
    found = json.loads(run(app, ["convert", "pml=0.2", "pmc=0.3", "--prior", prior, "--json"]).stdout)
    assert [g["kind"] for g in found["given"]] == ["pml", "pmc"]
    values = {g["kind"]: g for g in found["implied"]}
    assert values["ldp"]["epsilon"] == pytest.approx(0.5)
    assert len(values) >= 15
    text = run(app, ["convert", "pml=0.2", "pmc=0.3", "--prior", prior]).stdout
    assert "local differential privacy" in text
    assert "=>" in text


def test_convert_speaks_bits() -> None:
    found = json.loads(
        run(app, "convert ldp=1 --to lift-capacity,pml,tail-pml=0.5:? --p-min 1/2 --unit bits --json".split()).stdout
    )
    values = {g["kind"]: g for g in found["implied"]}
    assert values["lift-capacity"]["ratio"] == pytest.approx(2)
    assert values["pml"]["epsilon"] == pytest.approx(math.log2(4 / 3))
    assert values["tail-pml"] == values["tail-pml"] | {"epsilon": pytest.approx(0.5), "delta": 0.0}
    assert found["given"] == {"kind": "ldp", "epsilon": 1.0}
    assert found["unit"] == "bits"


def test_check_exits_0_or_1_with_the_witness(channel: str, prior: str) -> None:
    kept = run(app, ["check", channel, "--prior", prior, "--guarantee", "pml=0.6", "--json"])
    assert kept.exit_code == 0
    assert json.loads(kept.stdout)["holds"] is True
    broken = run(app, ["check", channel, "--prior", prior, "--guarantee", "pml=0.5", "--json"])
    assert broken.exit_code == 1
    found = json.loads(broken.stdout)
    assert found["holds"] is False
    assert found["guarantee"] == {"kind": "pml", "epsilon": 0.5}
    assert found["measured"] == pytest.approx(math.log(19 / 11))
    assert (found["witness"]["outcome"], found["witness"]["secret"]) == ("b", "bg")


def test_check_reports_the_worst_of_several(channel: str, prior: str) -> None:
    arguments = ["check", channel, "--prior", prior, "--guarantee", "ldp=3", "--guarantee", "alip=1:1"]
    done = run(app, [*arguments, "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [c["holds"] for c in found["checks"]] == [True, False]
    assert found["guarantee"]["kind"] == "alip"
    assert set(found["measured"]) == {"lower", "upper"}
    text = run(app, arguments).stdout
    assert "ldp=3 holds" in text
    assert "alip=1:1 does not hold" in text


def test_check_in_bits_and_without_a_prior(channel: str) -> None:
    assert run(app, ["check", channel, "--guarantee", "ldp=3.91", "--unit", "bits"]).exit_code == 0
    assert run(app, ["check", channel, "--guarantee", "ldp=3.90", "--unit", "bits"]).exit_code == 1
    missing = run(app, ["check", channel, "--guarantee", "pml=1"])
    assert missing.exit_code == 2
    assert "--prior" in missing.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "convert speed=1",
        "convert pml=-1",
        "convert pml=1 --p-min 0.7",
        "convert pml=1 --to speed",
        "convert pml=1 --to tail-pml",
        "convert pml=1 --p-min 0.1 --n 11",
        "check {channel} --guarantee pml=x --prior uniform",
        "check missing.csv --guarantee ldp=1",
    ],
)
def test_bad_input_is_exit_2_with_one_message(arguments: str, channel: str) -> None:
    done = run(app, arguments.format(channel=channel).split())
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def implied_of(command: str) -> dict[str, dict[str, object]]:
    found = json.loads(run(app, [*command.split(), "--json"]).stdout)
    return {f"{g['kind']}:{g.get('delta', g.get('alpha', ''))}": g for g in found["implied"]}


def test_convert_says_epsilon_at_usual_deltas_and_renyi_at_usual_orders() -> None:
    values = implied_of("convert zcdp=0.1")
    for delta in (1e-6, 1e-9):
        alphas = [1 + 10 ** (k / 200) for k in range(-200, 600)]
        usual = min(
            0.1 * a + math.log1p(-1 / a) - math.log(delta * a) / (a - 1) for a in alphas
        )  # the conversion of Canonne, Kamath and Steinke
        assert values[f"adp:{delta}"]["epsilon"] == pytest.approx(usual, rel=1e-3)
        assert float(str(values[f"adp:{delta}"]["epsilon"])) <= usual
    assert values["rdp:2.0"]["epsilon"] == pytest.approx(0.2)
    assert values["rdp:32.0"]["epsilon"] == pytest.approx(3.2)
    text = run(app, ["convert", "zcdp=0.1"]).stdout
    assert "adp=" in text
    assert "No finite bound on: pml, pmc" in text


@pytest.mark.thin
@pytest.mark.parametrize("given", ["zcdp=0.1", "rdp=8:1", "gdp=1", "adp=1:1e-5", "ldp=1.2"])
def test_delta_at_an_epsilon_and_epsilon_at_a_delta_are_twins(given: str) -> None:
    (found,) = implied_of(f"convert {given} --to adp=0.9:?").values()
    assert found["epsilon"] == 0.9
    delta = float(str(found["delta"]))
    (back,) = implied_of(f"convert {given} --to adp=?:{delta!r}").values()
    assert float(str(back["epsilon"])) <= 0.9 * (1 + 1e-12)
    (less,) = implied_of(f"convert {given} --to adp=?:{delta * (1 - 1e-6)!r}").values()
    assert less["epsilon"] == "inf" or float(str(less["epsilon"])) > 0.9


def test_delta_is_0_where_the_epsilon_is_pure() -> None:
    (found,) = implied_of("convert ldp=1 --to adp=1:?").values()
    assert found["delta"] == 0
    (found,) = implied_of("convert adp=1:1e-5 --to adp=1:?").values()
    assert found["delta"] == 1e-5


@pytest.mark.parametrize("query", ["adp=?:?", "adp=1", "adp=1:2", "rdp=?:1", "pml=1"])
def test_a_query_with_nothing_or_all_unknown_is_refused(query: str) -> None:
    found = run(app, ["convert", "zcdp=0.1", "--to", query])
    assert found.exit_code == 2
    assert "be written" in found.stderr


def test_full_support_is_said_to_be_assumed() -> None:
    found = json.loads(run(app, "convert lift=3 --to bayes-capacity --json".split()).stdout)
    assert found["context"]["assumed"] == ["full support"]
    assert found["implied"][0]["derivation"][-1]["assuming"] == "every secret can occur"
    assert "assuming that every secret can occur" in run(app, "convert lift=3 --to bayes-capacity".split()).stdout
    known = json.loads(run(app, "convert lift=3 --to bayes-capacity --p-min 1/10 --json".split()).stdout)
    assert known["context"]["assumed"] == []
    assert "assuming" not in known["implied"][0]["derivation"][-1]


@pytest.mark.parametrize("given", ["1e300:1e300", "0:1e200", "1.7e308:1e200", "1e-320:1.7e308"])
@pytest.mark.thin
def test_promises_beyond_all_use_end_in_no_message_about_something_else(given: str) -> None:
    """What they imply has a parameter below all doubles, or infinity less infinity."""
    done = CliRunner().invoke(app, ["convert", f"mcdp={given}"])
    assert done.exit_code == 0, done.stderr
    assert "0" * 30 not in done.stdout or "-320" in given


@pytest.mark.parametrize("guarantee", ["ldp=39.1", "pmc=3", "alip=3:3", "lip=3"])
def test_what_is_ruled_out_is_said_in_words(guarantee: str, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("secret,a,b\nx,1/2,1/2\ny,1,0\n")
    result = CliRunner().invoke(app, ["check", str(path), "--guarantee", guarantee, "--prior", "uniform"])
    assert result.exit_code == 1
    assert "inf times" not in result.stdout
    assert "never" in result.stdout


@pytest.fixture
def geometric(tmp_path: Path) -> str:
    path = tmp_path / "geometric.csv"
    path.write_text(",10,20,30\n10,2/3,1/6,1/6\n20,1/3,1/3,1/3\n30,1/6,1/6,2/3\n")
    return str(path)


def test_check_decides_a_rate_per_distance(geometric: str, tmp_path: Path) -> None:
    def check(*words: str) -> tuple[int, str]:
        found = run(app, ["check", geometric, *words])
        return found.exit_code, found.output

    code, text = check("--guarantee", "metric=0.0694", "--distance", "line")
    assert code == 0
    assert "under 10 as under 20, 10 away: 0.0693148 per unit of distance" in text
    assert check("--guarantee", "metric=0.0693", "--distance", "line")[0] == 1
    assert check("--guarantee", "metric=1.4/km", "--distance", "grid:3x1:500m")[0] == 0
    distances = tmp_path / "far.csv"
    distances.write_text(",30,20,10\n30,0,1,2\n20,1,0,1\n10,2,1,0\n")
    assert check("--guarantee", "metric=0.7", "--distance", str(distances))[0] == 0
    assert check("--guarantee", "metric=0.69", "--distance", str(distances))[0] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("metric=1", "come with a metric"),
        ("metric=1 --distance grid:3x1:500m", "write metric=1/km"),
        ("metric=1/h --distance grid:3x1:500m", "per km"),
        ("metric=1/km --distance grid:3x1", "bare number"),
        ("metric=nan --distance line", "number"),
        ("metric=1 --distance grid:2x1", "3"),
        ("metric=1 --distance nowhere.csv", "no such file"),
        ("metric=1 --distance grid:3x0", "at least 1"),
    ],
)
def test_a_rate_that_means_nothing_is_bad_input(geometric: str, words: str, message: str) -> None:
    found = run(app, ["check", geometric, "--guarantee", *words.split()])
    assert found.exit_code == 2
    assert message in found.output


def test_a_matrix_that_is_no_metric_is_bad_input(geometric: str, tmp_path: Path) -> None:
    far = tmp_path / "far.csv"
    far.write_text(",10,20,30\n10,0,1,3\n20,1,0,1\n30,3,1,0\n")
    found = run(app, ["check", geometric, "--guarantee", "metric=1", "--distance", str(far)])
    assert found.exit_code == 2
    assert "d(10, 30) <= d(10, 20) + d(20, 30)" in found.output


def test_convert_knows_distances(tmp_path: Path) -> None:
    prior = tmp_path / "p.csv"
    counts = [22, 46, 22, 26, 76, 26, 12, 22, 12]
    prior.write_text("secret,share\n" + "".join(f"{i},{c}/264\n" for i, c in enumerate(counts)))
    words = ["convert", "metric=1/km", "--distance", "grid:3x3:1km", "--prior", str(prior), "--json"]
    values = {g["kind"]: g for g in json.loads(run(app, words).stdout)["implied"]}
    assert values["pml"]["epsilon"] == pytest.approx(1.453146317, abs=1e-9)
    assert values["pmc"]["epsilon"] == pytest.approx(1.892674016, abs=1e-9)
    assert values["bayes-capacity"]["ratio"] == pytest.approx(3.3563368671516, rel=1e-12)
    back = json.loads(run(app, "convert ldp=1 --to metric --distance grid:2x2:500m --json".split()).stdout)
    assert back["implied"][0]["epsilon"] == 2.0
    assert back["implied"][0]["per"] == "km"
