"""A released column and statistics of the same source: what the ledger says they add up to, against all outcomes."""

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from support import NEVER, few

import divulge as dv
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.promised import Spent, together

HALF = 1 / math.log(2)

VALUES = ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(few(8)))
def test_no_outcome_of_both_tells_more_than_the_total(seed: int) -> None:
    """One record, the others known: its released value and noisy counts of a table over the same column."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 40, 3)
    shares = [Fraction(int(w), int(weights.sum())) for w in weights]
    rows = rng.integers(1, 12, (3, 3))
    channel = dv.Channel([[Fraction(int(v), int(row.sum())) for v in row] for row in rows], VALUES, VALUES)
    integer = dv.IntegerChannel.of(channel)
    prior = dv.Prior(shares, VALUES)
    released = Spent(("x",), integer, prior)
    counts = Aggregate(("x",), {"ldp": math.nextafter(2 * math.log(2), 3)}, 9.0, None).spent
    for several in ([released, counts], [released, counts, counts]):
        tables = sum(spent.channel is None for spent in several)
        found = together(several, None)
        ratio, lift, cost = Fraction(0), Fraction(0), Fraction(0)
        for y in range(3):
            for outcome in product((0, 1), repeat=3 * tables):
                w = []
                for x in range(3):
                    hot = [int(i == x) for i in range(3)] * tables
                    distance = sum(abs(a - b) for a, b in zip(outcome, hot, strict=True))
                    w.append(integer.exact.matrix[x, y] * Fraction(1, 2) ** distance)
                q = sum((p * v for p, v in zip(shares, w, strict=True)), Fraction(0))
                ratio, lift, cost = max(ratio, max(w) / min(w)), max(lift, max(w) / q), max(cost, q / min(w))
        assert found["ldp"] >= math.log(ratio) - 1e-12
        assert found["pml"] >= math.log(lift) - 1e-12
        assert found["pmc"] >= math.log(cost) - 1e-12
        assert found["pml"] <= found["ldp"]
        assert math.log(ratio) > 0.6 * found["ldp"]


def test_yesterdays_column_is_added(tmp_path: Path) -> None:
    table = pa.table({"race": ["a", "b", "c", "a"] * 50, "age": list(range(200))})
    book = tmp_path / "ledger.sqlite"
    coin = dv.mechanisms.randomized_response(3, 1.0)
    named = dv.Channel(coin.matrix, VALUES, VALUES)
    dv.release(table, column="race", mechanism=named, ledger=book, source_name="people")
    values = {"race": VALUES}
    first = dv.publish(table, dv.Count("race"), guarantee="pml=1", record_prior="lower=0.01", values=values,
                       ledger=book, source_name="people", budget="ldp=3")  # fmt: skip
    assert any("2 releases" in line for line in first.told)
    spent = dv.Ledger(book).spent("people", ["race"])
    assert spent["ldp"] == pytest.approx(1 + first.loss, rel=1e-6)
    p = 0.01
    assert spent["pml"] == pytest.approx(-math.log(p + (1 - p) * math.exp(-spent["ldp"])), rel=1e-9)
    with pytest.raises(dv.DivulgeError, match="budget"):
        dv.publish(table, dv.Count("race"), guarantee="dp=1", values=values, ledger=book, source_name="people",
                   budget="ldp=3")  # fmt: skip
    mean = {"guarantee": "dp=1", "ledger": book, "source_name": "people"}
    with pytest.raises(dv.DivulgeError, match="budget"):  # a person is in every column
        dv.publish(table, dv.Mean("age", (0, 200)), budget="dp=1", **mean)
    dv.Ledger(book).keep("people", "ldp=4")
    told = dv.publish(table, dv.Mean("age", (0, 200)), budget="dp=4", **mean).told
    assert any("3 releases about the records" in line for line in told)
    assert dv.Ledger(book).spent("people", ["age"])["ldp"] == 1
    assert dv.Ledger(book).spent("people", [])["ldp"] == pytest.approx(spent["ldp"] + 1, rel=1e-9)
    recorded = sorted(entry.columns for entry in dv.Ledger(book).entries("people"))
    assert recorded == [("age",), ("race",), ("race",)]


@pytest.mark.parametrize(("truth", "coin", "least"), [
    ({"per_row": True}, {"person": "who", "one_answer": True}, Fraction(1, 5)),
    ({"person": "who", "rows_per_person": 2}, {"person": "who", "one_answer": True}, Fraction(1, 5)),
    ({"per_row": True, "prior": "lower=0.01"}, {"per_row": True}, Fraction(1, 100)),
    ({"per_row": True}, {"per_row": True}, Fraction(1, 5)),
], ids=["rows-of-people", "several-rows", "a-set-of-priors", "one-prior-each"])  # fmt: skip
def test_what_is_known_of_one_secret_bounds_no_other(
    truth: dict[str, Any], coin: dict[str, Any], least: Fraction, tmp_path: Path
) -> None:
    """A faith is published as it is: whoever held it for the rarest is sure, whatever a coin about smoking says."""
    rows = range(400)
    table = pa.table({"who": [i // 2 for i in rows], "faith": ["abcde"[i // 2 % 5] for i in rows],
                      "smokes": ["yes" if i // 2 % 3 else "no" for i in rows]})  # fmt: skip
    how: dict[str, Any] = {"ledger": tmp_path / "l.sqlite", "source_name": "s"}
    dv.release(table, column="faith", mechanism="identity", **truth, **how)
    dv.release(table, column="smokes", guarantee="ldp=1", **coin, **how)
    about = {"person": "who", "rows_per_person": 2} if "person" in coin else {"per_row": True}
    values = {"smokes": ["yes", "no"]}
    told = dv.publish(table, dv.Count("smokes"), guarantee="dp=1", values=values, **about, **how).told
    for columns in ([], ["faith"], ["faith", "smokes"]):
        spent = dv.Ledger(tmp_path / "l.sqlite").spent("s", columns)
        assert spent["ldp"] == math.inf
        assert spent.get("pml", math.inf) >= -math.log(least)
    stated = [line for line in told if "adds up to" in line]
    assert not stated or f"pml {-math.log(least):.4f}"[:8] in stated[0]


def test_concentrated_noise_beside_an_approximate_promise_is_both_at_a_delta(tmp_path: Path) -> None:
    """Gauss of rho and the worst mechanism of (epsilon, delta): what both miss at the total is at most its delta.

    With probability delta the second one tells all, else odds change by e^epsilon: what is missed is delta and what
    Gaussian noise misses (in closed form, Balle and Wang) at the rest.
    """
    rho, (epsilon, delta) = 0.1, (0.5, 1e-6)
    book, table = tmp_path / "l.sqlite", pa.table({"x": ["a", "b"] * 200})
    how: dict[str, Any] = {"ledger": book, "source_name": "t"}
    dv.publish(table, dv.Count("x"), guarantee=f"adp={epsilon}:{delta}", **how)
    dv.publish(table, dv.Count("x"), guarantee=f"zcdp={rho}", noise="gaussian", values={"x": ["a", "b"]}, **how)
    spent = dv.Ledger(book).spent("t", ["x"])
    assert spent["ldp"] == math.inf
    rest, noise = spent["adp"] - epsilon, 1 / math.sqrt(2 * rho)
    missed = norm.cdf(1 / (2 * noise) - rest * noise) - math.exp(rest) * norm.cdf(-1 / (2 * noise) - rest * noise)
    assert missed <= spent["delta"] - delta
    assert rest < rho + 2 * math.sqrt(rho * math.log(1 / delta))  # no worse than the bound that everybody uses
    done = dv.release(table, column="x", guarantee="ldp=1", **how)
    assert done.together is not None
    assert done.together["guarantees"]["adp"] == pytest.approx(spent["adp"] + 1)
    assert "with a slack of at most 1 in 5" in " ".join(dv.statement(done).text().split())


def test_noise_without_a_bound_at_every_outcome_adds_up_in_zcdp(tmp_path: Path) -> None:
    table, book = pa.table({"x": ["a", "b"] * 50}), tmp_path / "ledger.sqlite"
    how = {"values": {"x": ["a", "b"]}, "ledger": book, "source_name": "t", "noise": "gaussian"}
    dv.publish(table, dv.Count("x"), guarantee="zcdp=0.1", budget="zcdp=0.25", **how)
    dv.publish(table, dv.Count("x"), guarantee="zcdp=0.1", budget="zcdp=0.25", **how)
    assert dv.Ledger(book).spent("t", ["x"])["zcdp"] == pytest.approx(0.2)
    for budget in ("zcdp=0.25", "ldp=10", "adp=1:1e-9"):
        with pytest.raises(dv.DivulgeError, match="budget"):
            dv.publish(table, dv.Count("x"), guarantee="zcdp=0.1", budget=budget, **how)
    dv.Ledger(book).keep("t", None)
    dv.publish(table, dv.Count("x"), guarantee="zcdp=0.1", budget="adp=10:1e-9", **how)


def test_repeated_runs_refute_what_the_noise_does_not_keep() -> None:
    here, there = pa.table({"x": ["a"] + ["b"] * 9}), pa.table({"x": ["b"] * 10})
    for guarantee, noise in (("dp=1", "laplace"), ("zcdp=0.5", "gaussian")):
        runs = dv.repeated_runs(here, there, dv.Count("x"), times=10_000, guarantee=guarantee, noise=noise,
                                values={"x": ["a", "b"]})  # fmt: skip
        assert dv.audit(runs, secret="table", released="outcome", claim="ldp=0.5").violated
        if noise == "laplace":
            assert not dv.audit(
                runs, secret="table", released="outcome", claim="ldp=1.0001", confidence=1 - NEVER
            ).violated
    with pytest.raises(dv.DivulgeError, match="differ"):
        dv.repeated_runs(here, here, dv.Count("x"), times=9, guarantee="dp=1", values={"x": ["a", "b"]})
    ages = pa.table({"x": [1, 2]})
    with pytest.raises(dv.DivulgeError, match="quantiles"):
        dv.repeated_runs(ages, ages, dv.Quantiles("x", (0, 9)), times=9, guarantee="dp=1")


def test_runs_of_many_cells_are_measured_before_they_are_drawn() -> None:
    values = [f"v{i}" for i in range(500)]
    here, there = pa.table({"x": values}), pa.table({"x": values[:1] * 500})
    asked = {"guarantee": "dp=1", "values": {"x": values}}
    assert dv.repeated_runs(here, there, dv.Count("x"), times=10, **asked).num_rows == 20
    with pytest.raises(dv.DivulgeError, match="cells in which the tables differ, must have at most 20,000,000 cells"):
        dv.repeated_runs(here, there, dv.Count("x"), times=100_000, **asked)


@pytest.mark.parametrize("kind", ["dp", "zcdp"])
@pytest.mark.parametrize(("share", "times"), [("1", 2), ("1/4", 4), ("0.1", 3), ("0.3", 10), ("1/7", 7)])
@pytest.mark.parametrize("neighbors", ["replaced", "added"])
@pytest.mark.thin
def test_a_budget_is_spent_to_its_end_and_no_further(
    kind: str, share: str, times: int, neighbors: str, tmp_path: Path
) -> None:
    """So many equal parts of a budget fit into it: sums are exact. A further release, however small, does not."""
    table, per_row = pa.table({"v": ["a", "b"] * 20}), {"replaced": 1, "added": 2}[neighbors]
    book = dv.Ledger(tmp_path / "ledger.sqlite")
    noise = {"dp": "laplace", "zcdp": "gaussian"}[kind]
    asked = {"ledger": book, "source_name": "s", "values": {"v": VALUES}, "neighbors": neighbors, "noise": noise}
    budget = f"{kind}={Fraction(share) * times * per_row}"
    for _ in range(times):
        dv.publish(table, dv.Count("v"), guarantee=f"{kind}={share}", budget=budget, **asked)
    for more in (share, "1e-6"):
        with pytest.raises(dv.DivulgeError, match="`budget` must allow") as caught:
            dv.publish(table, dv.Count("v"), guarantee=f"{kind}={more}", budget=budget, **asked)
        allowed, given = str(caught.value).split(" in all; it is ")
        assert float(allowed.split()[-1].replace(",", "")) > float(Fraction(given.split(". ")[0]))
    assert len(book.entries()) == times


def test_the_number_of_rows_belongs_to_every_column(tmp_path: Path) -> None:
    """Who is there is told by the number of rows as by the counts of a column."""
    book = dv.Ledger(tmp_path / "ledger.sqlite")
    asked = {"ledger": book, "source_name": "s", "neighbors": "added", "guarantee": "dp=1"}
    table = pa.table({"v": ["a", "b"] * 20})
    dv.publish(table, dv.Count(), **asked)
    assert book.spent("s", ["v"])["ldp"] == 1
    with pytest.raises(dv.DivulgeError, match="must allow dp 3 in all"):
        dv.publish(table, dv.Count("v"), values={"v": VALUES}, budget="dp=2", **asked)


@pytest.mark.parametrize("how", [{"noise": "gaussian", "values": {"v": VALUES}}, {}])
def test_what_holds_but_for_a_delta_fits_into_the_budget_that_says_the_same(how: dict, tmp_path: Path) -> None:
    """Epsilons add up, and deltas; with Gaussian noise, and with labels that only appear where there are enough."""
    book = dv.Ledger(tmp_path / "ledger.sqlite")
    table = pa.table({"v": ["a", "b"] * 200})

    def publish(guarantee: str, budget: str) -> None:
        book.keep("s", None)
        dv.publish(table, dv.Count("v"), guarantee=guarantee, budget=budget, ledger=book, source_name="s", **how)

    publish("adp=1:1e-6", "adp=1:1e-6")
    with pytest.raises(dv.DivulgeError, match="`budget` must allow adp"):
        publish("adp=1e-3:1e-9", "adp=1:1e-6")
    with pytest.raises(dv.DivulgeError, match="`budget` must allow adp"):
        publish("adp=1:1e-6", "adp=1:1e-5")
    publish("adp=1:1e-6", "adp=2:2e-6")
    kept = [entry.mechanisms[0].adp for entry in dv.Ledger(tmp_path / "ledger.sqlite").entries()]
    assert [epsilon for epsilon, _ in kept] == [1, 1]
    assert all(0.5e-6 < delta <= 1e-6 for _, delta in kept)
    with pytest.raises(dv.DivulgeError, match="`budget` must allow ldp"):
        publish("adp=1:1e-6", "ldp=100")


def test_added_neighbors_are_two_steps_from_a_replaced_one(tmp_path: Path) -> None:
    """What is told of one record more or less is not what is told of a record that is another one."""
    table, book = pa.table({"v": ["a", "b"] * 200}), tmp_path / "ledger.sqlite"
    asked = {"values": {"v": VALUES}, "noise": "gaussian", "neighbors": "added", "ledger": book, "source_name": "s"}
    with pytest.raises(dv.DivulgeError, match="`budget` must allow adp"):
        dv.publish(table, dv.Count("v"), guarantee="adp=1:1e-6", budget="adp=1:1e-6", **asked)
    dv.publish(table, dv.Count("v"), guarantee="adp=1:1e-6", budget="adp=3:1e-5", **asked)


def test_what_is_kept_of_rows_is_kept_of_a_person_as_often_as_they_have_rows(tmp_path: Path) -> None:
    """A person with ten rows is told of ten times by a release of rows, one in a home by that of homes; the public is
    not told how often."""
    table = pa.table({"v": ["a", "b"] * 20, "who": [i // 10 for i in range(40)], "home": [0] * 40})
    asked = {"source_name": "s", "values": {"v": VALUES}, "guarantee": "dp=1"}
    of_rows: dict = {}
    for first, second, spent in [
        (of_rows, {"person": "who"}, 11), ({"person": "home"}, {"person": "who"}, 5),
        ({"person": "who"}, of_rows, 11), ({"person": "who"}, {"person": "who", "at_most": 4}, 2),
    ]:  # fmt: skip
        book = dv.Ledger(tmp_path / f"{first}{second}.sqlite")
        dv.publish(table, dv.Count("v"), ledger=book, **asked, **first)
        with pytest.raises(dv.DivulgeError, match=rf"must allow dp {spent}(\.0)? in all"):
            dv.publish(table, dv.Count("v"), ledger=book, budget=f"dp={spent - 0.01}", **asked, **second)
        keeper: list[str] = []
        done = dv.publish(
            table, dv.Count("v"), ledger=book, budget=f"dp={spent}", warn=keeper.append, **asked, **second
        )
        assert book.spent("s", ["v"])["ldp"] == spent
        assert ("adds up to ldp 2" in done.told[-1]) == (spent == 2)
        assert ("No bound at every outcome holds" in done.told[-1]) == (spent != 2)
        assert any("how many rows one has is read off" in sentence for sentence in keeper) == (spent != 2)
