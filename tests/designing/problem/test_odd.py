"""Odd requests: the result is right, or one message says what is wrong; never anything else."""

import math
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support import THOROUGH

import divulge as dv

P = [0.5, 0.3, 0.2]
ENTROPY = -math.fsum(p * math.log(p) for p in P)
EPSILON_KINDS = (dv.PML, dv.PMC, dv.LIP, dv.LDP, dv.guarantees.MaximalLeakage)


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def designed(*arguments: Any, **options: Any) -> dv.results.Design:
    found = dv.design(*arguments, **options)
    for guarantee in found.guarantees:
        assert guarantee.holds_for(found.joint if guarantee.about == "joint" else found.channel)
    sign = -1 if found.minimized else 1
    assert sign * found.utility <= sign * found.bound
    return found


EXTREME = [(0, 0.0, 0.5), (1e-12, 0.0, 0.5), (700, ENTROPY, 1.0), (10**6, ENTROPY, 1.0), (math.inf, ENTROPY, 1.0)]
EXTREMES = [(kind, *one) for one in EXTREME for kind in EPSILON_KINDS]


@pytest.mark.parametrize(
    ("kind", "epsilon", "information", "truth"),
    EXTREMES if THOROUGH else EXTREMES[::3],  # each with several
)
def test_extreme_epsilons(kind: Any, epsilon: Any, information: float, truth: float) -> None:
    assert designed(P, kind(epsilon)).utility == pytest.approx(information, abs=1e-11)
    assert designed(P, kind(epsilon), utility="hamming").utility == pytest.approx(truth, abs=1e-11)


@pytest.mark.parametrize(
    "guarantee",
    [
        dv.ALIP(0, 1),
        dv.ALIP(1, 0),
        dv.guarantees.Lift(1),
        dv.guarantees.BayesCapacity(1),
        dv.guarantees.LiftCapacity(1),
    ],
)
def test_guarantees_that_leave_silence_only(guarantee: Any) -> None:
    found = designed(P, guarantee)
    assert (found.utility, found.bound, found.channel.shape) == (0.0, 0.0, (3, 1))


@pytest.mark.thin
@pytest.mark.parametrize("prior", [[1], [1.0], [1.0, 0.0], {"a": "1", "b": "0"}])
@pytest.mark.parametrize("guarantee", [dv.PML(1), dv.LDP(1), dv.guarantees.MaximalLeakage(1), dv.ALIP(1, 1)])
def test_one_secret_has_nothing_to_tell(prior: Any, guarantee: Any) -> None:
    assert designed(prior, guarantee).utility == 0
    assert designed(prior, guarantee, utility="hamming").utility == 1
    assert len(designed(prior, guarantee).compare().rows) > 5
    assert dv.least_epsilon(prior, dv.PML, at_least=0).epsilon == 0


def test_columns_of_text_are_counted_and_fractions_stay_exact() -> None:
    counted = designed(dv.Prior.from_counts({"x": 2, "y": 1, "z": 1}), "pml=0.5").utility
    for column in (pd.Series(list("xyxz")), pl.Series(list("xyxz"))):
        found = designed(column, "pml=0.5")
        assert (found.utility, list(found.prior.secrets)) == (counted, ["x", "y", "z"])
    text = designed(pd.Series(["1/3", "2/3"]), dv.PML(Fraction(1, 2)))
    assert text.prior.probabilities.tolist() == [Fraction(1, 3), Fraction(2, 3)]
    frequencies = pd.Series(list("xyxz")).value_counts(normalize=True)
    assert designed(frequencies, "pml=1/2").utility == pytest.approx(counted, rel=1e-9)


@pytest.mark.parametrize(
    "function",
    [lambda v: v * math.log(v) if v > 0 else 0.0, lambda v: v * np.log(np.maximum(v, 1e-300)),
     lambda v: [x * math.log(x) if x else 0 for x in v]],
)  # fmt: skip
def test_functions_of_numbers_arrays_or_lists_are_the_same_utility(function: Any) -> None:
    assert designed(P, "pml=0.5", utility=function).utility == pytest.approx(designed(P, "pml=0.5").utility, rel=1e-9)


def test_functions_that_are_infinite_at_zero_need_a_guarantee() -> None:
    assert designed(P, dv.LDP(0.5), utility=lambda v: 1 / v).utility > 0
    with pytest.raises(dv.DivulgeError, match="forbids zeros"):
        dv.design(P, dv.PML(0.5), utility=lambda v: -np.log(v))


def test_scores_from_frames_and_numbers_written_as_text() -> None:
    frame = pd.DataFrame(np.eye(2))
    assert designed([0.5, 0.5], dv.LDP(1), utility=frame).utility == pytest.approx(math.e / (1 + math.e), rel=1e-9)
    text = designed({"20": 0.5, "30": 0.3, "1e2": 0.2}, dv.LDP(1), utility="absolute-distance")
    numbers = designed({20: 0.5, 30: 0.3, 100: 0.2}, dv.LDP(1), utility="absolute-distance")
    assert text.utility == pytest.approx(numbers.utility, rel=1e-12)


def test_tiny_probabilities_and_huge_counts() -> None:
    for prior in ([1 - 1e-300, 1e-300], [0.5, 0.5 - 1e-15, 1e-15], dv.Prior.from_counts([10**30, 7, 1])):
        for guarantee in (dv.PML(1), dv.ALIP(1, 1), dv.LDP(1)) if THOROUGH else (dv.ALIP(1, 1), dv.LDP(1)):
            found = designed(prior, guarantee)
            assert found.gap < 1e-11
            designed(prior, guarantee, utility="hamming")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"utility": "Mutual-Information"}, "one of mutual-information"),
        ({"utility": None}, "utility"),
        ({"utility": lambda v: 1 / 0}, "finite"),
        ({"utility": lambda v: "no"}, "refused: ValueError"),
        ({"utility": np.sqrt}, "convex"),
        ({"time_limit": "5"}, "time_limit"),
        ({"at_least": "much"}, "at_least"),
        ({"outcomes": "xyz"}, "outcomes"),
    ],
)
def test_what_is_no_request(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words):
        dv.design(P, dv.PML(0.5), **options)


def test_what_is_no_frontier_or_comparison() -> None:
    for levels in (1.0, ["a"], [math.nan], []):
        with pytest.raises(dv.DivulgeError, match="epsilon"):
            dv.frontier(P, dv.PML, levels)
    assert dv.frontier(P, dv.PML, [1, math.inf]).utilities[1] == pytest.approx(ENTROPY, rel=1e-9)
    for kind in (dv.PML, dv.LDP):
        for at_least in ("0.1", math.nan):
            with pytest.raises(dv.DivulgeError, match="at_least"):
                dv.least_epsilon(P, kind, at_least=at_least)
