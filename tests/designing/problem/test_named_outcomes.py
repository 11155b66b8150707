"""Outcomes under the names of values: their names are true, scores agree with a linear program of plain rows."""

import copy
import itertools
import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support import THOROUGH, few, some
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.designing.naming import patterns
from divulge.designing.naming.estimation import ESTIMATION
from divulge.designing.naming.patterns import _inverse_squares, circulant_set
from divulge.designing.rounding import Checker
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee

KINDS = [
    ("pml=0.5",), ("pmc=1",), ("lip=0.5",), ("alip=0.4:0.7",), ("ldp=1",), ("dp=0.3",), ("lift=3/2",),
    ("lift-capacity=2",), ("bayes-capacity=2",), ("maximal-leakage=0.5",), ("ldp=2", "pml=0.7"), ("pml=0.1",),
]  # fmt: skip
UTILITIES = [
    "estimation", "worst-estimation", "hamming", "worst-hamming", "absolute-distance", "mutual-information",
    "total-variation", "chi-squared",
]  # fmt: skip
FAITHS = {"Catholic": 600, "None": 350, "Muslim": 100, "Other": 82, "Jewish": 18, "Buddhist": 12}


def assert_true_names(design: dv.results.Design) -> None:
    """The column of v is strictly largest at v, in integers, and the guarantees hold exactly."""
    weights, n = design.integers, len(design.integers)
    assert list(design.outcomes) == list(design.prior.secrets)
    assert (weights.sum(axis=1) == 2**design.bits).all()
    others = np.where(np.eye(n, dtype=bool), -1, weights).max(axis=0)
    assert (np.diag(weights) > others).all()
    for guarantee in design.guarantees:
        assert guarantee.holds_for(design.joint if guarantee.about == "joint" else design.channel)


def largest_score(p: np.ndarray, scores: np.ndarray, guarantees: tuple[Guarantee, ...]) -> float:
    """The best mean score by scipy over all entries and peaks, one row for each pair: C_vv >= C_xv, limits in pairs."""
    n, rows, right = len(p), [], []

    def add(at_most: float, *terms: tuple[Any, float]) -> None:
        row = np.zeros((n + 1, n))
        for place, value in terms:
            row[place] += value
        rows.append(row.ravel())
        right.append(at_most)

    for y in range(n):
        for x in range(n):
            add(0.0, ((x, y), 1.0), ((y, y), -1.0))
            add(0.0, ((x, y), 1.0), ((n, y), -1.0))
            for g in guarantees:
                mean = [((z, y), p[z]) for z in range(n)]
                low, high, ratio = bounds_of(g)
                if high < math.inf:
                    add(0.0, ((x, y), 1.0), *((at, -high * v) for at, v in mean))
                if low > 0:
                    add(0.0, ((x, y), -1.0), *((at, low * v) for at, v in mean))
                if ratio < math.inf:
                    for z in range(n):
                        add(0.0, ((x, y), 1.0), ((z, y), -ratio))
    for g in guarantees:
        if g.kind in ("bayes-capacity", "maximal-leakage"):
            capacity = math.exp(g.epsilon) if g.kind == "maximal-leakage" else float(g.ratio)
            add(capacity, *(((n, y), 1.0) for y in range(n)))
    sums = np.hstack([np.kron(np.eye(n), np.ones(n)), np.zeros((n, n))])
    cost = -np.append((p[:, None] * scores).ravel(), np.zeros(n))
    found = linprog(cost, np.array(rows), right, sums, np.ones(n), bounds=(0, None), method="highs")
    assert found.status == 0
    return -found.fun


def bounds_of(g: Any) -> tuple[float, float, float]:
    """The bounds on lifts from below and above, and on their ratios, of a guarantee."""
    if g.kind in ("pml", "lift"):
        return 0.0, math.exp(g.epsilon) if g.kind == "pml" else float(g.ratio), math.inf
    if g.kind == "pmc":
        return math.exp(-g.epsilon), math.inf, math.inf
    if g.kind == "lip":
        return math.exp(-g.epsilon), math.exp(g.epsilon), math.inf
    if g.kind == "alip":
        return math.exp(-g.lower), math.exp(g.upper), math.inf
    if g.kind in ("ldp", "dp"):
        return 0.0, math.inf, math.exp(g.epsilon)
    return 0.0, math.inf, float(g.ratio) if g.kind == "lift-capacity" else math.inf


@pytest.mark.parametrize(
    ("turn", "utility", "guarantees"),
    [(i, *pair) for i, pair in enumerate(some(list(itertools.product(UTILITIES, KINDS))))],
)
def test_names_are_true_under_every_guarantee(turn: int, utility: str, guarantees: tuple[str, ...]) -> None:
    random = np.random.default_rng([len(utility), len(guarantees[0])])
    priors: list[Any] = [random.dirichlet(np.ones(4)), [Fraction(1, 3)] * 3, [0.9, 0.1]]
    for prior in priors if THOROUGH else priors[turn % 3 : turn % 3 + 1]:
        found = dv.design(dv.Prior(prior), *guarantees, utility=utility, outcomes="values")
        assert_true_names(found)
        sign = -1 if found.minimized else 1
        assert found.unnamed_bound is not None
        assert found.names_cost is not None
        assert sign * found.utility <= sign * found.bound + 1e-12 * (1 + abs(found.bound))
        assert sign * found.bound <= sign * found.unnamed_bound + 1e-12 * (1 + abs(found.bound))


@pytest.mark.parametrize("guarantees", KINDS, ids="+".join)
def test_scores_are_the_best_with_names(guarantees: tuple[str, ...]) -> None:
    random = np.random.default_rng(len(guarantees[0]))
    for n in (2, 4, 5) if THOROUGH else (4,):
        p, scores = random.dirichlet(np.ones(n)), random.normal(size=(n, n))
        found = dv.design(dv.Prior(p), *guarantees, utility=dv.Score(scores), outcomes="values")
        assert_true_names(found)
        best = largest_score(p, scores, found.guarantees)
        assert abs(found.bound - best) < 1e-7 * (1 + abs(best))
        assert abs(found.utility - best) < 1e-6 * (1 + abs(best))


@pytest.mark.thin
@pytest.mark.parametrize("lead", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("utility", ["estimation", "hamming", "mutual-information"])
@pytest.mark.parametrize("guarantee", ["ldp=1", "pml=0.4", "lip=0.6", "maximal-leakage=0.4"])
def test_values_occur_and_lead_as_asked(guarantee: str, utility: str, lead: float) -> None:
    prior = dv.Prior.from_counts(FAITHS)
    asked = dv.OwnNames(occurrence=0.5, lead=lead)
    found = dv.design(prior, guarantee, utility=utility, outcomes=asked)
    assert_true_names(found)
    assert found.naming == asked
    channel = found.channel.floats
    assert (prior.floats @ channel >= 0.5 * np.minimum(prior.floats, 1 / 6) * (1 - 1e-12)).all()
    if lead == 1 and guarantee == "ldp=1":
        others = np.where(np.eye(6, dtype=bool), 0, channel).max(axis=0)
        assert np.allclose(np.diag(channel) / others, math.e, rtol=1e-5)


def test_the_variance_is_that_of_simulated_estimates() -> None:
    prior = dv.Prior.from_counts(FAITHS)
    found = dv.design(prior, dv.LDP(1), utility="estimation")
    random, inverse = np.random.default_rng(1), np.linalg.inv(found.channel.floats)
    shares = random.multinomial(1000, prior.floats @ found.channel.floats, size=20_000) / 1000
    variances = 1000 * (shares @ inverse).var(axis=0)
    assert abs(variances.sum() / found.utility - 1) < 0.02
    worst = dv.design(prior, dv.LDP(1), utility="worst-estimation")
    assert abs(variances.max() / worst.utility_of(found.channel) - 1) < 0.05


def test_the_bound_of_the_variance_is_reached_by_two_values_and_by_pairs_of_many_outcomes() -> None:
    two = dv.design(dv.Prior([0.3, 0.7]), dv.PML(0.3), utility="estimation")
    assert two.gap < 1e-8 * two.bound
    even = dv.design(dv.Prior.uniform(6), dv.LDP(1), utility="estimation")
    subsets = np.array([[1.0 if x in pair else 0.0 for pair in _pairs(6)] for x in range(6)]) * (math.e - 1) + 1
    other = subsets / subsets.sum(axis=1, keepdims=True)
    assert even.bound <= even.utility_of(other) * (1 + 1e-9)
    assert even.utility_of(other) < even.bound * 1.05


def _pairs(n: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(n) for b in range(a)]


def test_sets_estimate_many_values_better_than_randomized_response() -> None:
    prior = dv.Prior.from_counts(range(1, 51))
    found = dv.design(prior, dv.LDP(1), utility="estimation")
    assert_true_names(found)
    response = (1 + (math.e - 1) * np.eye(50)) / (49 + math.e)
    assert found.utility < 0.3 * found.utility_of(response)
    assert found.utility < 1.5 * found.bound


@pytest.mark.thin
@pytest.mark.parametrize("guarantees", [("ldp=1",), ("pml=0.5",), ("lip=0.4",), ("pml=1", "ldp=3/2")], ids="+".join)
@pytest.mark.parametrize("utility", ["estimation", "hamming", "worst-estimation"])
def test_names_hold_over_a_set_of_priors(utility: str, guarantees: tuple[str, ...]) -> None:
    ball = dv.measures.L1Ball(dv.Prior.from_counts([60, 35, 10, 8, 4]), "1/10")
    found = dv.design(ball, *guarantees, utility=utility, outcomes="values")
    assert_true_names(found)
    random = np.random.default_rng(0)
    for _ in range(few(200)):
        moved = np.clip(
            ball.center.floats + random.dirichlet(np.ones(5)) / 20 - random.dirichlet(np.ones(5)) / 20, 0, 1
        )
        prior = dv.Prior(moved / moved.sum())
        if np.abs(prior.floats - ball.center.floats).sum() > 0.1:
            continue
        joint = dv.Joint(prior, dv.Channel(found.channel.matrix))
        assert all(g.holds_for(joint if g.about == "joint" else joint.channel) for g in found.guarantees)
        if utility != "hamming":
            value = found.goal.of(prior.floats, found.channel.floats)
            assert value <= found.utility * (1 + 1e-9)


def test_values_of_probability_zero_have_outcomes_of_their_own() -> None:
    prior = dv.Prior({"a": 0.7, "b": 0.3, "c": 0.0})
    for utility in ("estimation", "hamming", "mutual-information"):
        for guarantee in ("ldp=1", "pml=0.5", "lip=0.5"):
            assert_true_names(dv.design(prior, guarantee, utility=utility, outcomes="values"))


def test_sets_say_what_they_raise() -> None:
    prior = dv.Prior.from_counts(FAITHS)
    for guarantee in ("pml=0.5", "ldp=1", "pmc=0.5", "lip=0.1"):
        found = dv.design(prior, guarantee, outcomes="sets")
        assert len(set(map(str, found.outcomes))) == len(found.outcomes)
        lifts = found.channel.floats / (prior.floats @ found.channel.floats)
        for label, column in zip(found.outcomes, lifts.T, strict=True):
            assert set(label.values) == {x for x, v in zip(prior.secrets, column, strict=True) if v > 1 + 1e-8}
        again = pickle.loads(pickle.dumps(found))
        assert [o.values for o in again.outcomes] == [o.values for o in copy.deepcopy(found).outcomes]


def test_labels_of_sets_are_never_mistaken() -> None:
    from divulge.designing.naming.sets import labels_of, set_label

    everything = ["a or b", "a", "b", "any but a", "c", "d"]
    assert set_label(["a", "b"], everything) != set_label(["a or b"], everything)
    assert set_label(["any but a"], everything) != set_label(everything[:1] + everything[2:], everything)
    up = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 0]], dtype=bool)
    weights = np.array([[5, 4, 4], [4, 5, 5], [1, 1, 1]])
    labels = labels_of(["x", "y", "z"], up, weights)
    assert list(labels) == ["any but z, x most", "any but z, y most (1 of 2)", "any but z, y most (2 of 2)"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pml=0",), "leave something to say"),
        (("ldp=1", "pml=0"), "leave something to say"),
    ],
)
def test_guarantees_that_leave_nothing_to_say_are_refused(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(DivulgeError, match=words):
        dv.design([0.5, 0.3, 0.2], *arguments, outcomes="values")


def test_what_names_cannot_be_asked_for_is_refused() -> None:
    forbids = dv.Score([[1, -math.inf], [0, 1]])
    wrong: list[dict[str, Any]] = [
        {"outcomes": "value"},
        {"outcomes": "values", "forbidden": [(0, 1)]},
        {"outcomes": "values", "utility": forbids},
        {"outcomes": "values", "method": "counting"},
        {"outcomes": "sets", "utility": "estimation"},
        {"outcomes": ["a", "b"], "utility": "estimation"},
    ]
    for options in wrong:
        with pytest.raises(DivulgeError):
            dv.design([0.5, 0.5], "ldp=1", **options)
    for name in ("occurrence", "lead"):
        for value in (-0.1, 1.1, math.nan, "much"):
            with pytest.raises(DivulgeError):
                dv.OwnNames(**{name: value})


@pytest.mark.parametrize(
    ("outcomes", "expected"), [("values", {"a", "b", "c"}), ("sets", {"any but a", "any but b", "any but c"})]
)
def test_the_command_line_names_outcomes(outcomes: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"a": "1/2", "b": "1/4", "c": "1/4"}')
    arguments = ["--prior", str(tmp_path / "p.json"), "--guarantee", "pml=0.1", "--outcomes", outcomes, "--json"]
    found = json.loads(CliRunner().invoke(app, ["design", *arguments]).stdout)
    assert set(found["outcomes"]) == expected
    channel = dv.Channel(found["matrix"], found["secrets"], found["outcomes"])
    assert dv.PML(0.1).holds_for(dv.Joint(["1/2", "1/4", "1/4"], channel))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("guarantee", [dv.LDP(1), dv.PML(1), dv.LDP(0)])
@pytest.mark.parametrize("utility", ["mutual-information", "total-variation", "chi-squared", "hamming"])
def test_a_single_value_is_named_by_itself(utility: str, guarantee: Guarantee) -> None:
    found = dv.design(dv.Prior(["1"], ["a"]), guarantee, utility=utility, outcomes="values")
    assert (list(found.outcomes), found.channel.matrix.tolist()) == (["a"], [[1]])
    assert found.utility == (1 if utility == "hamming" else 0)


def test_values_that_share_a_probability_bound_the_variance_as_all_of_them_do() -> None:
    for prior in (np.full(5, 0.2), np.array([0.4, 0.15, 0.15, 0.15, 0.15]), np.array([0.35, 0.25, 0.2, 0.15, 0.05])):
        u = np.sqrt(prior)
        beside = np.eye(5) - np.outer(u, u)
        eigenvalues = np.linalg.eigvalsh(beside @ np.diag(prior) @ beside)[1:]
        assert ESTIMATION["estimation"].bound(prior, 0.3) == pytest.approx(np.sqrt(eigenvalues).sum() ** 2 / 0.3)


def test_swaps_are_those_that_are_tried_one_by_one() -> None:
    for size, many in ((12, 3), (40, 11), (7, 6)):
        random, column = np.random.default_rng(0), np.zeros(size, dtype=bool)
        column[0] = True
        column[1 + random.permutation(size - 1)[: many - 1]] = True
        best = _inverse_squares(column)
        for _ in range(patterns._SWAPS):
            sides = [np.flatnonzero(column[1:] == inside) for inside in (True, False)]
            swapped = [1 + int(side[random.integers(len(side))]) for side in sides]
            column[swapped] ^= True
            if (value := _inverse_squares(column)) < best:
                best = value
            else:
                column[swapped] ^= True
        assert (circulant_set.__wrapped__(size, many) == column).all()


def test_a_rounding_that_has_room_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = list[bool]()
    keeps = Checker.keeps_all
    monkeypatch.setattr(Checker, "keeps_all", lambda self, found: decided.append(keeps(self, found)) or decided[-1])
    made = dv.design(dv.Prior.uniform(9), "ldp=1", utility="estimation", outcomes="values")
    assert decided == [True]
    assert_true_names(made)
