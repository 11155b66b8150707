"""What a design promises: exact guarantees, honest bounds, clear refusals; the command line's file checked by hand."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import THOROUGH
from typer.testing import CliRunner

import divulge as dv
from divulge import exact
from divulge.cli.main import app
from divulge.designing import methods, rounding
from divulge.designing.effort import Budget, Effort
from divulge.designing.master.column_generation import uninformed
from divulge.designing.polytope.limits import Limits, classes_of, limits_of
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.pricing.problem import Problem


def test_the_json_of_design_reads_back_and_checks_exactly(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"a": "1/2", "b": "1/3", "c": "1/6"}')
    arguments = ["design", "--prior", str(tmp_path / "p.json"), "--guarantee", "pml=0.5", "--json"]
    found: dict[str, Any] = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert {"secrets", "outcomes", "matrix", "utility", "bound", "gap", "guarantee", "method"} <= set(found)
    assert found["guarantee"] == {"kind": "pml", "epsilon": 0.5}
    assert found["utility"]["name"] == "mutual-information"
    channel = dv.Channel(found["matrix"], found["secrets"], found["outcomes"])
    assert channel.exact
    assert dv.PML(0.5).holds_for(dv.Joint(["1/2", "1/3", "1/6"], channel))
    assert 0 <= found["gap"] < 1e-9


@pytest.mark.parametrize("bad", [["--guarantee", "foo=1"], ["--guarantee", "pml=-1"], ["--guarantee", "zcdp=1"],
                                 ["--guarantee", "pml=1", "--utility", "beauty"],
                                 ["--guarantee", "pml=1", "--method", "magic"]])  # fmt: skip
def test_bad_requests_end_with_one_message_and_exit_2(bad: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"a": "1/2", "b": "1/2"}')
    result = CliRunner().invoke(app, ["design", "--prior", str(tmp_path / "p.json"), *bad])
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_several_columns_in_one_command() -> None:
    table = dv.datasets.census_path()
    priors = [part for name in ("race", "sex", "citizenship") for part in ("--prior", f"{table}:{name}")]
    result = CliRunner().invoke(app, ["design", *priors, "--guarantee", "pml=0.5", "--json"])
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [len(f["secrets"]) for f in found] == [5, 2, 5]
    assert all(f["gap"] <= 1e-9 * f["bound"] for f in found)


def test_float_priors_measure_within_their_guarantee_too() -> None:
    rng = np.random.default_rng(2)
    for n in (2, 5, 9, 16, 40) if THOROUGH else (2, 9):
        p = rng.dirichlet(np.ones(n))
        for guarantee in (dv.PML(0.5), dv.PMC(0.5), dv.LDP(0.7), dv.ALIP(1, 0.4)):
            found = dv.design(p, guarantee)
            assert guarantee.holds_for(found.joint if guarantee.about == "joint" else found.channel)
            if guarantee.kind == "pml":
                assert dv.pml(found.joint).max() <= 0.5
            assert (found.integers.sum(axis=1) == 2**found.bits).all()
            assert found.integers.min() >= 0


@pytest.mark.long
def test_certification_costs_next_to_nothing() -> None:
    rng = np.random.default_rng(4)
    for n in (10, 30, 50):
        counts = [int(c) for c in rng.integers(1, 200, n)]
        found = dv.design(dv.Prior.from_counts(counts), dv.PML(0.4))
        assert found.relative_gap < 1e-9


@pytest.mark.parametrize("limits", [Limits(high=Fraction(3, 2)), Limits(low=Fraction(1, 2)), Limits(ratio=Fraction(2))])
def test_the_checker_decides_like_fractions(limits: Limits) -> None:
    rng = np.random.default_rng(0)
    prior = np.array([Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)])
    checker = rounding.Checker.of(prior, limits)
    columns = np.array(list(itertools.product(range(1, 7), repeat=3))).T
    columns = np.concatenate([columns, rng.integers(0, 2**52, (3, 100))], axis=1)
    for column, kept in zip(columns.T.tolist(), checker.keeps(columns).tolist(), strict=True):
        q = sum(p * c for p, c in zip(prior.tolist(), column, strict=True))
        right = (
            (limits.high == math.inf or max(column) <= limits.high * q)
            and min(column) >= Fraction(limits.low) * q
            and (limits.ratio == math.inf or max(column) <= limits.ratio * min(column))
        )
        assert kept == right, column


def test_a_channel_that_misses_is_repaired_or_silenced() -> None:
    prior = np.array([Fraction(1, 4), Fraction(3, 4)])
    checker = rounding.Checker.of(prior, limits_of((dv.PML("0.2"),)))
    weights, lifts = np.array([0.25, 0.75]), np.array([[4.0, 0.0], [0.0, 4 / 3]])
    integers = rounding.certified(weights, lifts, checker, 53)
    assert checker.keeps(integers).all()
    assert (integers.sum(axis=1) == 2**53).all()


def test_exponentials_are_rounded_to_the_safe_side() -> None:
    limits = limits_of((dv.ALIP("0.3", "0.7"), dv.LDP(1)))
    assert exact.log(limits.high) <= 0.7
    assert limits.high < Fraction(math.exp(0.7)) + Fraction(1, 2**50)
    assert -exact.log(limits.low) <= 0.3
    assert limits.ratio <= Fraction(math.e) + Fraction(1, 2**50)


def test_edges_of_the_guarantees() -> None:
    prior = dv.Prior(["1/2", "1/4", "1/4"])
    silent = dv.design(prior, dv.PML(0))
    assert (silent.utility, silent.bound, silent.channel.shape) == (0.0, 0.0, (3, 1))
    everything = dv.design(prior)
    assert everything.utility == pytest.approx(1.5 * math.log(2), rel=1e-12)
    assert dv.design(prior, dv.PML(math.inf)).utility == pytest.approx(everything.utility, rel=1e-12)
    assert dv.design([1.0], dv.PML(1)).utility == 0.0
    assert dv.design(prior, "pml=0.3", "pml=0.1").utility == dv.design(prior, "pml=0.1").utility


def test_secrets_that_never_occur_still_count_for_ldp() -> None:
    found = dv.design(dv.Prior(["1/2", "0", "1/2"], secrets=list("abc")), dv.LDP(1))
    assert found.channel.shape[0] == 3
    assert dv.LDP(1).holds_for(found.channel)
    assert found.utility == pytest.approx(dv.design(["1/2", "1/2"], dv.LDP(1)).utility, rel=1e-12)


def test_a_time_limit_returns_an_honest_gap() -> None:
    p = np.random.default_rng(0).dirichlet(np.full(26, 0.3))
    told: list[dv.designing.effort.Progress] = []
    quick = dv.design(p, dv.PML(0.5), time_limit=0.0, progress=told.append)
    slow = dv.design(p, dv.PML(0.5), time_limit=1.0)
    assert told[0].gap >= 0
    assert quick.bound >= slow.utility
    assert slow.bound >= quick.utility
    assert slow.relative_gap < 1e-3
    assert dv.PML(0.5).holds_for(quick.joint)


@pytest.mark.parametrize(("size", "guarantee"), [
    (18, dv.PML(1.434)), *(pytest.param(24, one, marks=pytest.mark.long) for one in (dv.ALIP(0.8, 1.592), dv.PML(2))),
    *(pytest.param(24, one, marks=pytest.mark.long) for one in (dv.LDP(3), dv.PML(0.292))),
])  # fmt: skip
def test_large_epsilon_and_heavy_secrets_leave_small_gaps(size: int, guarantee: dv.Guarantee) -> None:
    for tails in (0.4, 1.0):
        p = np.maximum(np.random.default_rng(1).dirichlet(np.full(size, tails)), 1e-9)
        assert dv.design(p / p.sum(), guarantee, time_limit=8).relative_gap < 1e-5


def test_heavy_tails_have_small_gaps() -> None:
    p = np.random.default_rng(0).dirichlet(np.full(36, 0.1))
    found = dv.design(np.maximum(p, 1e-12) / np.maximum(p, 1e-12).sum(), dv.LDP(1), time_limit=8)
    assert found.relative_gap < 1e-3


def test_bad_inputs_are_refused() -> None:
    for arguments, words in (
        (([0.5, 0.5], 3), "guarantee"),
        (([0.5, 0.5], dv.guarantees.MutualInformation(1)), "one that a design can keep .pml, "),
        (([0.5, 0.5], "zcdp=1"), "one that a design can keep .pml, "),
        (([0.5, 0.5], "pml=nan"), "epsilon"),
        (([0.5, 0.5], "pml=-1"), "epsilon"),
        (([float("nan"), 1.0], dv.PML(1)), "prior"),
    ):
        with pytest.raises(dv.DivulgeError, match=words):
            dv.design(*arguments)
    for options, words in (
        ({"bits": 8}, "bits"),
        ({"bits": 53.5}, "bits"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"time_limit": -1}, "time_limit"),
        ({"utility": ["f"]}, "utility"),
        ({"outcomes": 5}, "outcomes"),
        ({"outcomes": ["a", "a", "b", "c"]}, "outcomes"),
        ({"method": "magic"}, "method"),
        ({"utility": "beauty"}, "utility"),
    ):
        with pytest.raises(dv.DivulgeError, match=words):
            dv.design([0.5, 0.5], dv.PML(0.3), **options)


def test_channels_from_integer_weights_are_the_same_channels() -> None:
    found = dv.design(dv.Prior.from_counts([5, 3, 2]), dv.PML(0.4))
    slow = [[Fraction(w, 2**found.bits) for w in row] for row in found.integers.tolist()]
    assert found.channel == dv.Channel(slow, found.prior.secrets, found.outcomes)
    for weights in (np.array([[3, 2], [1, 3]]), np.array([[-1, 5], [1, 3]]), np.array([[0.5, 3.5], [1, 3]])):
        with pytest.raises(dv.DivulgeError, match="weights"):
            dv.Channel.from_weights(weights, 4)


@pytest.mark.parametrize("guarantee", ["pml=0.5", "ldp=1", "alip=1:0.5"])
def test_the_unit_is_that_of_the_guarantee_too(guarantee: str, tmp_path: Path) -> None:
    prior, out = tmp_path / "p.json", tmp_path / "c.json"
    prior.write_text('{"b": "1/4", "g": "1/2", "bg": "1/4"}')
    bits = ["--prior", str(prior), "--guarantee", guarantee, "--unit", "bits", "--json"]
    found = json.loads(CliRunner().invoke(app, ["design", *bits, "-o", str(out)]).stdout)
    assert found["guarantee"] == json.loads(CliRunner().invoke(app, ["check", str(out), *bits]).stdout)["guarantee"]
    assert CliRunner().invoke(app, ["check", str(out), *bits]).exit_code == 0
    lift = dv.lift(dv.Joint(["1/4", "1/2", "1/4"], found["matrix"]))
    if guarantee == "pml=0.5":
        assert 0 <= 2 - lift**2 < 1e-12  # pml of half a bit is a lift of at most sqrt 2
        nats = dv.design(["1/4", "1/2", "1/4"], dv.PML(math.log(2) / 2))
        assert found["utility"]["value"] * math.log(2) == pytest.approx(nats.utility, rel=1e-12)


@pytest.mark.long
def test_a_limited_search_leaves_time_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel is there before the search starts, so that what is left is spent on a better one or not at all."""
    p = np.random.default_rng(4).dirichlet(np.ones(150))
    limits = limits_of((dv.PML(0.5),)).floats().tightened(float(p.min()), 150)
    problem = Problem.of(classes_of(p), SUBCONVEX["mutual-information"], limits)
    first = methods.first_of(problem)
    assert methods.mixture_of(problem, Effort(deadline=0.0, first=first))[1].vertices is first.vertices
    monkeypatch.setitem(methods.MIXTURES, methods.SEARCHED, lambda problem, _: uninformed(problem, problem.bound))
    without = methods.mixture_of(problem, Effort(deadline=math.inf, first=first))[1]
    assert without.utility(problem) == first.utility(problem) > 0  # a search that was cut off has nothing
    monkeypatch.undo()
    for guarantee in ("pml=0.5", "ldp=1", "alip=1:1/2"):
        found = dv.design(p, guarantee, time_limit=0.0)
        assert all(g.holds_for(found.joint if g.about == "joint" else found.channel) for g in found.guarantees)
        assert found.relative_gap < 0.05


def test_who_asks_whether_time_is_up_spends_nothing_and_all_who_spend_share_one_budget() -> None:
    effort = Effort(budget=Budget(2))
    parts = effort.some(0.5), effort.less(1.0), effort
    assert not any(effort.late() for _ in range(9))
    assert [one.spend() for one in parts] == [True, True, False]
    assert all(one.late() for one in parts)
    assert Effort(deadline=0.0).late()
    assert not Effort(deadline=0.0).spend()
