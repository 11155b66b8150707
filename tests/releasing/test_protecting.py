"""A column that goes out under a guarantee about another: its numbers from receipt and counts, by another route."""

import json
import math
from collections import Counter
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from support import few
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app


def people(rng: np.random.Generator, rows: int = 400) -> dict[str, list[str]]:
    """Return a column x, and a column s that depends on it."""
    n, m = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    laws = rng.dirichlet(np.ones(m), n)
    x = np.concatenate([np.arange(n), rng.integers(0, n, rows)])
    return {"x": [f"x{v}" for v in x], "s": [f"s{rng.choice(m, p=laws[v])}" for v in x]}


def lifts(table: dict[str, list[str]], receipt: Any) -> list[F]:
    """Return P(s | y) / P(s) of every s and y from counts of the table and the integers of the receipt."""
    pairs, ones = Counter(zip(table["x"], table["s"], strict=True)), Counter(table["s"])
    rows, channel = len(table["x"]), receipt.mechanisms[0].channel
    weights = dict(zip(channel.secrets, channel.weights.tolist(), strict=True))
    found: list[F] = []
    for y in range(len(channel.outcomes)):
        said = F(sum(weights[x][y] for x in table["x"]), rows)
        for s, n in ones.items():
            found.append(F(sum(k * weights[x][y] for (x, t), k in pairs.items() if t == s), n) / said)
    return found


@pytest.mark.parametrize("purpose", ["statistics", "record", "information"])
@pytest.mark.parametrize("seed", range(few(12)))
def test_what_is_said_of_the_other_column_is_that_of_its_definition(seed: int, purpose: str) -> None:
    rng = np.random.default_rng(seed)
    table, epsilon = people(rng), float(rng.choice([0.05, 0.2, 0.5]))
    receipt = dv.release(pa.table(table), column="x", protect="s", guarantee=f"pml={epsilon}", purpose=purpose)
    found = lifts(table, receipt)
    told = receipt.about["guarantees"]
    assert math.log(max(found)) <= min(told["pml"], epsilon) * (1 + 1e-12) + 1e-15
    assert told["pml"] == pytest.approx(math.log(max(found)), rel=1e-9, abs=1e-12)
    assert -math.log(min(found)) <= epsilon * (1 + 1e-12)  # both sides are bounded, as nothing was allowed to rule out
    assert told["pmc"] == pytest.approx(-math.log(min(found)), rel=1e-9, abs=1e-12)
    assert receipt.about["variable"] == "s"
    assert receipt.table.column_names == ["x_perturbed"]  # what is protected does not go out
    assert receipt.about["guarantees"]["pml"] <= receipt.about["off"][0]["pml"] <= receipt.about["off"][1]["pml"]
    (within,) = receipt.about["within"]  # 1.1 times as much of 10/21, 10/11 of the rest: a total variation of 1/21
    assert told["pml"] <= within["pml"] <= receipt.about["off"][1]["pml"]
    assert told["pmc"] <= within["pmc"] <= float(receipt.about["always"])
    assert within["pmc"] <= told["pmc"] + 2 * math.log(1.1) + 1e-12


def test_missing_values_of_both_columns_count_as_values() -> None:
    """Those of the column under the label that it was given, those of the protected one under a name that is free."""
    given = {"x": ["a", "b", None, "a", None, "b"] * 30, "s": ["u", "missing", None, "u", "u", None] * 30}
    receipt = dv.release(pa.table(given), column="x", protect="s", guarantee="pml=0.2", null_as="none", per_row=True)
    assert sorted(receipt.about["values"]) == ["missing", "no answer", "u"]
    named = {"x": [v or "none" for v in given["x"]], "s": [v or "no answer" for v in given["s"]]}
    found = lifts(named, receipt)
    assert receipt.about["guarantees"]["pml"] == pytest.approx(math.log(max(found)), rel=1e-9)
    assert 1 < max(found) <= math.exp(0.2)


def test_a_promise_about_another_column_keeps_more_of_this_one() -> None:
    table = {"x": ["a", "b", "c", "d"] * 50, "s": ["u", "u", "v", "v"] * 50}
    about = dv.release(pa.table(table), column="x", protect="s", guarantee="pml=0.1", purpose="information")
    own = dv.release(pa.table(table), column="x", guarantee="ldp=0.1", purpose="information")

    def nats(receipt: Any) -> float:
        return dv.mutual_information(dv.Joint(dv.Prior.uniform(receipt.channel.secrets), receipt.channel))

    assert nats(about) >= math.log(2) * (1 - 1e-9) > 5 * nats(own)


@pytest.mark.parametrize("seed", range(few(30)))
def test_a_wrong_law_says_at_most_what_is_told_and_attains_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, outcomes = (int(v) for v in rng.integers(2, 5, 3))
    prior = rng.dirichlet(np.ones(n))
    given, channel = rng.dirichlet(np.ones(m), n), rng.dirichlet(np.ones(outcomes), n)
    off = float(rng.choice([0, 0.01, 0.1, 0.5, 1]))
    shares = prior @ given
    laws = (prior[:, None] * given / shares).T  # P(x | s)
    bound = float(dv.adversaries.dalenius((shares, laws), channel).if_wrong(radius=off))

    def worst(moved: np.ndarray) -> float:
        said = moved @ channel
        return float((said / (shares @ said)).max())

    assert worst(laws) <= bound * (1 + 1e-12)
    for _ in range(50):
        other = rng.dirichlet(np.ones(n) * 0.3, m)
        far = np.abs(other - laws).sum(axis=1, keepdims=True) / 2
        inside = laws + (other - laws) * np.minimum(1, off / np.maximum(far, 1e-300))
        assert worst(inside) <= bound * (1 + 1e-9)
    best = 0.0
    for y in range(outcomes):  # extreme laws: mass goes where the outcome is likeliest for one, least so for all others
        for s in range(m):
            moved = laws.copy()
            for t in range(m):
                order = np.argsort(channel[:, y] * (1 if t == s else -1))
                left, to = off, order[-1]
                for x in order[:-1]:
                    taken = min(left, moved[t, x])
                    moved[t, x] -= taken
                    moved[t, to] += taken
                    left -= taken
            best = max(best, worst(moved))
    assert best == pytest.approx(bound, rel=1e-9)


def test_a_law_from_elsewhere_and_a_mechanism_of_ones_own(tmp_path: Path) -> None:
    table = pa.table({"x": ["b", "a", "a", "b"] * 5})
    law = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["u", "v"])
    dv.write_channel(law, tmp_path / "law.csv")
    joint = dv.Joint(dv.Prior.uniform(["u", "v"]), dv.Channel(law.matrix, ["u", "v"], ["a", "b"]))
    coin = dv.Channel([["1/4", "3/4"], ["3/4", "1/4"]], ["b", "a"], ["a", "b"])  # its rows in another order
    for protect in (law, tmp_path / "law.csv", joint):
        receipt = dv.release(table, column="x", protect=protect, guarantee="lift=5/4", mechanism=coin, rule_out=True)
        assert receipt.about["guarantees"]["pml"] == pytest.approx(math.log(F(5, 4)), abs=1e-15)
        assert receipt.about["counted"] is False
    with pytest.raises(dv.DivulgeError, match="about what is protected"):
        dv.release(table, column="x", protect=law, guarantee="lift=6/5", mechanism=coin, rule_out=True)


def test_papers_say_it_first_and_come_back(tmp_path: Path) -> None:
    table = people(np.random.default_rng(3))
    rows = pa.table(table | {"age": [str(i) for i in range(len(table["x"]))]})
    pyarrow.csv.write_csv(rows, tmp_path / "t.csv")
    line = ["release", str(tmp_path / "t.csv"), "--column", "x", "--protect", "s", "--guarantee", "pml=0.1",
            "-o", str(tmp_path / "o.csv"), "--no-ledger", "--json"]  # fmt: skip
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["about"]["variable"] == "s"
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == '"x_perturbed","age"'
    place = tmp_path / "o.receipt.json"
    assert "no value of “s” becomes more than 1.11 times as likely" in " ".join(dv.statement(place).text().split())
    assert "kein Wert von „s“" in " ".join(dv.statement(place, "de").text().split())
    assert "each share of an answer is at most 1.1 times as large" in " ".join(dv.statement(place).text().split())
    assert "höchstens 1,1-mal so groß oder so klein" in " ".join(dv.statement(place, "de").text().split())
    for language, own, never in (
        ("en", "The promise of this page is about “s”. None was made about “x_perturbed”.", "No promise was typed"),
        (
            "de",
            "Das Versprechen dieser Seite gilt für „s“. Für „x_perturbed“ wurde keines gegeben.",
            "kein Versprechen",
        ),
    ):
        text = " ".join(dv.statement(place, language).text().split())
        assert own in text
        assert never not in text.replace("Es ist kein Versprechen über", "")
    assert any("The guarantee is about 's'" in one for one in dv.results.Receipt.read(place).warnings)


def test_a_preview_tells_levels_of_it() -> None:
    found = dv.preview(pa.table(people(np.random.default_rng(5))), column="x", protect="s", guarantee="pml=0.2")
    assert len(found.levels) >= 2
    assert any("The guarantee is about 's'" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"guarantee": ()}, "guarantee"),
        ({"guarantee": "pml=0.1", "keep": "s"}, "does not go out"),
        ({"guarantee": "pml=0.1", "protect": "x"}, "does not go out"),
        ({"guarantee": "pml=0.1", "protect": "q"}, "a column of the table, or the file"),
        ({"guarantee": "pml=0.1", "rows_per_person": 2}, "another variable is protected"),
        ({"guarantee": "pml=0.1", "prior": "uniform"}, "be left out where what is protected is a column"),
        ({"guarantee": "pml=0.1", "protect": dv.Channel([[1]], ["x0"], ["s"])}, "as many labels"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], said: str) -> None:
    table = pa.table(people(np.random.default_rng(1)))
    with pytest.raises(dv.DivulgeError, match=said):
        dv.release(table, column="x", **({"protect": "s"} | options))
