"""Outcomes that occur so seldom that doubles take their probability for 0: they count like all others."""

import math
import warnings
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import divulge as dv

UNDERFLOWS = [
    ([1e-200, 1.0], [[1e-200, 1.0], [0.0, 1.0]]),
    ([0.5, 0.5], [[0.0, 0.5, 0.5], [5e-324, 0.5, 0.5]]),
    ([1.0, 1e-200], [[1e-323, 2e-200, 0.0, 1.0], [2.4703282292062326e-124, 0.5, 0.0, 0.5]]),
    ([1e-300, 1e-300, 1.0], [[1e-150, 1.0], [2e-150, 1.0], [3e-310, 1.0]]),
]


def whole(weights: list[float]) -> list[F]:
    """Return doubles as fractions that sum to 1."""
    total = sum(map(F, weights))
    return [F(v) / total for v in weights]


def level(ratio: F) -> float:
    """Return the logarithm of a fraction of any size."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.parametrize(("prior", "rows"), UNDERFLOWS)
def test_an_outcome_that_underflows_counts(prior: list[float], rows: list[list[float]]) -> None:
    p, c = whole(prior), [whole(row) for row in rows]
    columns = [column for column in zip(*c, strict=True) if any(column)]
    lifts = [[v / sum(a * b for a, b in zip(p, column, strict=True)) for v in column] for column in columns]
    most, least = max(map(max, lifts)), min(map(min, lifts))
    joint = dv.Joint(dv.Prior(prior), dv.Channel(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dv.pml(joint).values.tolist() == pytest.approx([level(max(column)) for column in lifts], rel=1e-12)
        assert dv.pml(joint).max() == dv.alip(joint).upper == pytest.approx(level(most), rel=1e-12)
        assert dv.pmc(joint).max() == pytest.approx(level(1 / least) if least else math.inf, rel=1e-12)
        assert dv.lip(joint) == max(dv.pml(joint).max(), dv.pmc(joint).max())
        assert dv.profile(joint).to_dict()["joint"]["pml"] == dv.pml(joint).max()
    assert not dv.PML(level(most) * (1 - 1e-9)).holds_for(joint).holds
    assert dv.PML(level(most) * (1 + 1e-9)).holds_for(joint).holds
    assert dv.PMC(1e6).holds_for(joint).holds == (least > 0)


def test_fractions_beside_doubles_keep_what_doubles_lose() -> None:
    tiny = F(1, 10**400)
    channel = dv.Channel([[0, 1], [tiny, 1 - tiny]])
    assert dv.pmc((dv.Prior([0.5, 0.5]), channel)).max() == math.inf
    assert dv.pml((dv.Prior([0.25, 0.75]), channel)).values[0] == pytest.approx(math.log(4 / 3), rel=1e-12)
    prior = dv.Prior([tiny, 1 - tiny])
    assert dv.pml((prior, dv.Channel([[0.5, 0.5], [0.0, 1.0]]))).max() == pytest.approx(400 * math.log(10), rel=1e-12)


def test_a_stack_says_what_each_says_alone() -> None:
    priors, rows = [[0.5, 0.5], [1e-200, 1.0]], [[[0.0, 1.0], [5e-324, 1.0]], [[1e-200, 1.0], [0.0, 1.0]]]
    stack = dv.measures.Stack(rows, priors)
    joints = [dv.Joint(dv.Prior(p), dv.Channel(c)) for p, c in zip(priors, rows, strict=True)]
    assert stack.pml().tolist() == [dv.pml(joint).values.tolist() for joint in joints]
    assert stack.pmc().tolist() == [dv.pmc(joint).values.tolist() for joint in joints]
    assert stack.holds(dv.PMC(1)).tolist() == stack.holds(dv.LIP(1)).tolist() == [False, False]


def test_what_a_verdict_names_can_be_asked_about() -> None:
    joint = dv.Joint(dv.Prior([0.5, 0.5]), dv.Channel(UNDERFLOWS[1][1]))
    verdict = dv.PMC(1).holds_for(joint)
    assert not verdict.holds
    assert verdict.witness.outcome == 0
    assert joint.posterior(0).to_dict() == {0: 0, 1: 1}


def test_so_many_entries_are_refused_rather_than_left_out() -> None:
    rows = np.full((600, 600), 1 / 599)
    rows[:, 0] = 0
    rows[0, 0] = 5e-324
    joint = dv.Joint(dv.Prior.uniform(600), dv.Channel(rows))
    with pytest.raises(dv.DivulgeError, match="leave every outcome that occurs a probability above 1e-289"):
        dv.pml(joint)


def test_small_probabilities_that_doubles_hold_stay_doubles() -> None:
    joint = dv.Joint(dv.Prior([0.5, 0.5]), dv.Channel([[1e-280, 1.0, 0.0], [0.5, 0.5, 0.0]]))
    assert not joint.exact
    assert dv.pml(joint).values.tolist() == pytest.approx([math.log(2), math.log(4 / 3)])


RARE = [[1e-200, 1.0], [1e-190, 1.0]]


def test_two_releases_whose_product_underflows_keep_their_level() -> None:
    channel = dv.Channel(RARE)
    for both in (channel.alongside(channel), channel.product(channel)):
        assert dv.ldp(both) == pytest.approx(20 * math.log(10), rel=1e-9)
    assert not dv.LDP(24).holds_for(channel.alongside(channel)).holds


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_processed_and_underflows_keeps_its_level(sparse: bool) -> None:
    last: Any = csr_matrix([[1e-200, 1.0], [0.0, 1.0]]) if sparse else [[1e-200, 1.0], [0.0, 1.0]]
    assert dv.ldp(dv.Channel(RARE).then(last)) == pytest.approx(10 * math.log(10), rel=1e-9)


def test_products_of_what_doubles_hold_stay_doubles() -> None:
    channel = dv.Channel([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]])
    assert not channel.alongside(channel).exact
    assert not channel.then(np.eye(3)).exact


def test_large_products_that_underflow_are_refused() -> None:
    rows = np.full((600, 600), 1 / 599)
    rows[:, 0], rows[0, 0] = 0, 1e-200
    with pytest.raises(dv.DivulgeError, match="have products of probabilities above 1e-289"):
        dv.Channel(rows).then(rows)
