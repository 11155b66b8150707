"""Chains and networks end with their time; outputs that rays have in common are kept once."""

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import divulge as dv
from divulge import clock
from divulge.clock import OutOfTime
from divulge.networks import ever, influence_curve, markov_quilt, wasserstein

LATER = 3
"""Looks that may follow once the time is up: the first one refuses."""

TOLD = [["3/4", "1/8", "1/8"], ["1/8", "3/4", "1/8"], ["1/8", "1/8", "3/4"]]
STAY = [["1/2", "1/4", "1/4"], ["1/5", "3/5", "1/5"], ["1/3", "1/6", "1/2"]]
CHAIN = dv.Chain(["1/3"] * 3, STAY, TOLD, steps=12)
ASKED: dict[str, Callable[[], Any]] = {
    "step": lambda: CHAIN.worst(6, time_limit=1),
    "steps": lambda: CHAIN.worst((0, 5), time_limit=1),
    "all": lambda: CHAIN.worst("all", time_limit=1),
    "ever": lambda: CHAIN.worst(ever(1), "pmc", time_limit=1),
    "over time": lambda: CHAIN.over_time(time_limit=1),
    "wasserstein": lambda: wasserstein(CHAIN, 1, 1.0, time_limit=1),
    "quilts": lambda: markov_quilt(CHAIN, 1.0, time_limit=1),
    "curve": lambda: influence_curve(CHAIN, time_limit=1),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("looks", [1, 7, 60])
def test_a_chain_is_refused_once_its_time_is_up(asked: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: 0.0 if next(seen) < looks else 1e9)
    with pytest.raises(OutOfTime, match="be long enough for a chain of 12 steps and 3 states"):
        ASKED[asked]()
    assert next(seen) <= looks + LATER


@pytest.mark.parametrize("looks", [1, 7])
def test_a_network_whose_time_is_up_leaves_a_wider_bracket(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"v0": ["1/2", "1/2"]} | {f"v{i}": ([f"v{i - 1}"], [["3/4", "1/4"], ["1/4", "3/4"]]) for i in range(1, 20)}
    network = dv.Network(many)
    for name in many:
        network = network.release(name, [["2/3", "1/3"], ["1/3", "2/3"]])
    whole = network.worst("v5")
    seen = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: 0.0 if next(seen) < looks else 1e9)
    short = network.worst("v5", time_limit=1)
    assert next(seen) <= looks + LATER
    assert short.lower <= whole.upper
    assert short.upper > whole.upper
    seen = itertools.count()
    assert set(network.by_variable(time_limit=1)) == set(many)
    assert next(seen) <= looks + LATER * len(many)  # in all, not for each


def test_outputs_are_kept_once_for_all_rays() -> None:
    moves, told = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.75, 0.25], [0.25, 0.75]])
    chain = dv.Chain([0.5, 0.5], moves, told, steps=3000)
    tracemalloc.start()
    worst = chain.worst(1500)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(worst.outputs) == 3000
    assert most < 30e6  # a list of outputs for each ray takes the square of the steps, 100 MB


def test_a_secret_with_too_much_to_remember_for_its_worst_outputs_is_refused_before_the_work() -> None:
    chain = dv.Chain(np.full(9, 1 / 9), np.full((9, 9), 1 / 9), np.eye(9), steps=9)
    with pytest.raises(dv.DivulgeError, match=r"at most 4,000; it is one with too many values, 6,561\. Hint: `pml`"):
        chain.worst((0, 1, 2))
    assert chain.pml((0, 1, 2), [0] * 9) > 6
