"""Claims about any set of outcomes: false alarms at claims that are just true, power at those that are not."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.stats import binom, binomtest, norm
from support import THOROUGH
from typer.testing import CliRunner

import divulge as dv
from divulge.auditing import chosen
from divulge.auditing.chosen import BY_EVENT, FEW, chosen_event
from divulge.cli.main import app
from divulge.guarantees import parse

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]

JUST_TRUE: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "Laplace noise": (
        lambda rng, x: rng.laplace(x, 1.0),
        ("dp=1", f"adp=0.5:{-math.expm1(-0.25)!r}", f"tv={-math.expm1(-0.5)!r}", f"kl={math.exp(-1)!r}"),
    ),
    "Gaussian noise": (
        lambda rng, x: rng.normal(x, 1.0),
        ("gdp=1", "zcdp=1/2", "rdp=2:1", f"adp=1:{float(norm.cdf(-0.5) - math.e * norm.cdf(-1.5))!r}"),
    ),
    "nothing": (lambda rng, x: rng.normal(size=len(x)), ("dp=0", "gdp=0", "tv=0", "tcdp=0:2")),
}
"""What comes with a secret of 0 or 1, and claims that hold, but for no smaller a number (KL of Laplace is 1/e)."""


def table(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Return counts of secrets and outcomes, and the outcomes."""
    values, column = np.unique(y, return_inverse=True)
    counts = np.zeros((int(x.max()) + 1, len(values)), dtype=np.int64)
    np.add.at(counts, (x, column.ravel()), 1)
    return counts, values.tolist()


def false_alarms(name: str, runs: int, rows: int, risk: float) -> dict[str, int]:
    """Return how often each claim is refuted, of so many runs."""
    draw, texts = JUST_TRUE[name]
    claims, alarms = {text: parse(text) for text in texts}, dict.fromkeys(texts, 0)
    for run in range(runs):
        rng = np.random.default_rng(run)
        x = rng.integers(0, 2, rows)
        counts, outcomes = table(x, draw(rng, x))
        for text, claim in claims.items():
            found = chosen_event(counts, outcomes, claim, risk)
            assert found is not None
            alarms[text] += found.refuted
    return alarms


RUNS, RISK = 120 if THOROUGH else 15, 0.3
MOST = int(binom.isf(1e-6, RUNS, RISK))
"""More alarms than this come once in a million times if each has the risk at most."""


@pytest.mark.parametrize("name", JUST_TRUE)
def test_what_is_just_true_is_refuted_as_seldom_as_said(name: str) -> None:
    assert max(false_alarms(name, RUNS, 300, RISK).values()) <= MOST


def test_an_event_that_is_tested_on_the_rows_that_chose_it_alarms_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "_parts", lambda counts: (counts // 2 + counts % 2,) * 3)
    assert max(false_alarms("nothing", RUNS, 300, RISK).values()) > MOST


def test_what_is_false_is_refuted_and_bounded_by_the_truth() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 20_000)
    counts, outcomes = table(x, rng.normal(x, 1.0))
    truths = {"gdp=0.5": (1, 0.7), "zcdp=0.2": (0.5, 0.3), "rdp=2:0.3": (1, 0.5), "kl=0.2": (0.5, 0.3),
              "tv=0.2": (0.3829, 0.3), "bounded-cdp=0.2:4": (0.5, 0.3), "tcdp=0.2:4": (0.5, 0.3)}  # fmt: skip
    for claim, (truth, shown) in truths.items():
        found = chosen_event(counts, outcomes, parse(claim), 0.01)
        assert found is not None
        assert found.refuted, claim
        assert shown < found.level < truth < found.most or claim.startswith("tv"), claim
    adp = chosen_event(counts, outcomes, parse("adp=0.5:1e-3"), 0.01)
    assert adp is not None
    assert 1 < adp.level < dv.compose(dv.dp.GaussianMechanism(1.0)).epsilon(1e-3).upper


def test_the_numbers_of_the_test_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, 4000)
    counts, outcomes = table(x, rng.laplace(2 * x))
    found = chosen_event(counts, outcomes, parse("adp=1:1/100"), 0.05)
    assert found is not None
    (hits, n), (alarms, m) = found.rows
    low = binomtest(hits, n).proportion_ci(0.95, method="exact").low
    high = binomtest(alarms, m).proportion_ci(0.95, method="exact").high
    assert found.level == pytest.approx(math.log((low - 0.01) / high), rel=1e-9)
    assert abs(n + m - 2000) < 200
    least = binomtest(0, m).proportion_ci(0.95, method="exact").high, binomtest(0, n).proportion_ci(0.95, "exact").high
    assert found.most == pytest.approx(max(math.log((1 - b - 0.01) / a) for a, b in (least, least[::-1])), rel=1e-9)


def test_an_event_of_many_outcomes_refutes_where_none_does_alone() -> None:
    """40 outcomes, each twice as likely with one secret: 2/3 - 1/3 of all, and no more than 1/60 of any."""
    rng = np.random.default_rng(3)
    row = np.repeat([2.0, 1.0], 20) / 60
    counts = np.stack([rng.multinomial(1500, row), rng.multinomial(1500, row[::-1])])
    labels = [f"y{i}" for i in range(40)]
    found = dv.audit(counts, secret=["a", "b"], released=labels, claim="tv=0.2")
    assert found.violated
    assert found.witness is not None
    assert found.witness.secrets == ("a", "b")
    held = {int(label[1:]) for label in found.witness.outcome}
    assert len(held & set(range(20))) > 15
    assert len(held - set(range(20))) < 5
    assert found.witness.lower < 1 / 3
    assert not dv.audit(counts, secret=["a", "b"], released=labels, claim="adp=0.6931472:0").violated


def test_the_pair_is_found_among_many_secrets_and_outcomes_in_the_plane() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 60, 30_000)
    y = [f"y{value}" for value in np.where((x == 7) & (rng.random(30_000) < 0.9), 5, rng.integers(0, 30, 30_000))]
    found = dv.audit(pa.table({"x": x, "y": y}), secret="x", released="y", claim="dp=1")
    assert found.witness is not None
    assert found.witness.secrets[0] == 7
    assert found.witness.outcome == ("y5",)
    x, place = rng.integers(0, 2, 3000), rng.normal(size=(3000, 2))
    place[:, 0] += x
    place[:, 1] -= x
    plane = pa.table({"x": x, "east": place[:, 0], "north": place[:, 1]})
    seen = dv.audit(plane, secret="x", released=("east", "north"), claim="gdp=0.8")
    assert seen.violated
    assert seen.witness is not None
    assert "* column 1 + " in str(seen.witness.outcome)


def test_complements_and_mechanisms_and_single_secrets() -> None:
    one_sided = np.array([[5000, 0], [2500, 2500]])
    found = dv.audit(one_sided, secret=["a", "b"], released=["quiet", "alarm"], claim="dp=1")
    assert found.witness is not None
    assert (found.witness.secrets, found.witness.outcome) == (("b", "a"), ("alarm",))
    assert found.witness.rows[1][0] == 0
    mechanism = dv.Channel([["1", "0"], ["1/2", "1/2"]], ["a", "b"], ["quiet", "alarm"])
    kept = dv.audit(one_sided, secret=["a", "b"], released=["quiet", "alarm"], claim="tv=1/2", mechanism=mechanism)
    assert not kept.violated
    alone = dv.audit([[50, 30]], secret=None, released=None, claim="tv=0")
    assert not alone.violated
    assert alone.power is not None
    assert "cannot refute any claim of tv" in alone.power


def test_what_is_not_refuted_says_what_could_have_been() -> None:
    found = dv.audit([[50, 60], [55, 58]], secret=None, released=None, claim="zcdp=0.5")
    assert not found.violated
    assert found.power is not None
    assert "claim of zcdp" in found.power
    assert any("other half" in note for note in found.notes)
    nats, bits = (found.to_dict(unit)["refutable"]["zcdp"] for unit in ("nats", "bits"))
    assert nats == pytest.approx(bits * math.log(2))
    assert set(BY_EVENT) <= set(dv.guarantees.catalog.KINDS)


def test_the_command_says_where_and_ends_with_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 3000)
    pa.csv.write_csv(pa.table({"x": x, "y": rng.normal(x).round(3)}), tmp_path / "t.csv")
    base = ["audit", "--data", str(tmp_path / "t.csv"), "--secret", "x", "--released", "y"]
    told = CliRunner().invoke(app, [*base, "--claim", "adp=0.2:1e-5"])
    assert told.exit_code == 1
    assert "VIOLATED" in told.stdout
    assert "where the number is a" in told.stdout
    parsed = CliRunner().invoke(app, [*base, "--claim", "gdp=1.2", "--json"])
    assert parsed.exit_code == 0
    assert json.loads(parsed.stdout)["violated"] is False
    listed = CliRunner().invoke(app, [*base[:4], "x", "--released", "x", "--claim", "dp=1"])
    assert listed.exit_code == 1
    assert "any of the outcomes" in listed.stdout
    refused = CliRunner().invoke(app, [*base, "--claim", "mean-pml=1"])
    assert refused.exit_code == 2
    assert "that rows can refute" in refused.stderr
    assert FEW < 100
