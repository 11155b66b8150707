"""Chains and networks end with their time; outputs that rays have in common are kept once."""

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import divulge as dv
from divulge import clock
from divulge.cli.correlated import worst_text
from divulge.clock import OutOfTime
from divulge.networks import ever, influence_curve, markov_quilt, wasserstein
from divulge.networks.temporal import increment
from divulge.networks.worst import Worst, answer

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
    "calibrate": lambda: CHAIN.calibrate(1.0, time_limit=1),
    "curve": lambda: influence_curve(CHAIN, time_limit=1),
}


SEEN: dict[str, Callable[[], Any]] = {
    "seen": lambda: CHAIN.pml(6, [0] * 12, time_limit=1),
    "seen of all": lambda: CHAIN.pmc("all", [0] * 12, time_limit=1),
    "belief": lambda: CHAIN.posterior(ever(1), [0] * 12, time_limit=1),
}
"""What looks at the clock once a step."""


@pytest.mark.parametrize(("asked", "looks"), [*itertools.product(ASKED, (1, 7, 60)), *itertools.product(SEEN, (1, 7))])
def test_a_chain_is_refused_once_its_time_is_up(asked: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: 0.0 if next(seen) < looks else 1e9)
    with pytest.raises(OutOfTime, match="be long enough for a chain of 12 steps and 3 states"):
        (ASKED | SEEN)[asked]()
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
    with pytest.raises(dv.DivulgeError, match=r"at most 1,024; it is one with too many values, 6,561\. Hint: `pml`"):
        chain.worst((0, 1, 2))
    assert chain.pml((0, 1, 2), [0] * 9) > 6


def test_a_lift_is_bounded_by_what_is_known_before() -> None:
    """Of "ever 0", nearly certain, the bracket was 1.06 to 7,194: the cones of five states are thinned."""
    rng = np.random.default_rng(0)
    chain = dv.Chain(np.full(5, 0.2), rng.dirichlet(np.full(5, 3.0), size=5), np.eye(5) / 2 + 0.1, steps=9)
    found, before = chain.worst(ever(0)), chain.prior(ever(0))[True]
    assert not found.exact
    assert found.lower <= found.upper <= (1 / float(before)) * (1 + 1e-9)
    assert not found.caution


def test_a_bracket_that_says_next_to_nothing_says_so() -> None:
    wide = Worst("ever 0", "pmc", 2.5, 17017.6, (0, 4), True, False)
    assert "17017.6" in repr(wide)
    assert "between the two ends nothing is known" in repr(wide)
    assert "nothing is known" in worst_text({"pmc": wide}, "nats")
    narrow = Worst("ever 0", "pmc", 2.5, 24.0, (0, 4), True, False)
    assert "nothing" not in repr(narrow) + worst_text({"pmc": narrow}, "nats")


def test_slack_beyond_all_doubles_is_no_bound() -> None:
    steps = CHAIN.models[0]
    found = answer(steps, "pmc", "a secret", 2, 800.0, (), 0)
    assert (found.lower, found.upper) == (2, np.inf)


def test_a_curve_keeps_one_step_at_a_time() -> None:
    """Matrices of all pairs of steps took 8 GB of 10,000 steps."""
    chain = dv.Chain([0.25] * 4, np.eye(4) * 0.8 + 0.05, np.eye(4), steps=120)
    tracemalloc.start()
    influence_curve(chain)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20


def test_the_rows_of_a_calibration_go_side_by_side() -> None:
    """Of 20 states it took 23 seconds, a loop for each pair of rows."""
    rng = np.random.default_rng(0)
    moves = rng.dirichlet(np.ones(6), size=6)
    moves[0, :2], moves[1, 2:4] = 0, 0
    moves /= moves.sum(axis=1, keepdims=True)
    for level in (1e-9, 0.5, 3.0, 400.0, np.inf):
        pairs = itertools.permutations(moves, 2)
        best = max(_of_subsets(q, d, level) for q, d in pairs)
        assert increment(moves, level) == pytest.approx(best, rel=1e-12)


def _of_subsets(q: np.ndarray, d: np.ndarray, level: float) -> float:
    """Return max over sets I of log[(q_I (e^a - 1) + 1) / (d_I (e^a - 1) + 1)], by all of them."""
    best = 0.0
    for some in itertools.product([False, True], repeat=len(q)):
        above, below = float(q[list(some)].sum()), float(d[list(some)].sum())
        if level == np.inf:
            best = max(best, np.inf if above > 0 == below else np.log(above / below) if above > 0 else 0.0)
        else:
            rest = np.exp(-level)  # both sides over e^a
            best = max(best, np.log((above * -np.expm1(-level) + rest) / (below * -np.expm1(-level) + rest)))
    return best
