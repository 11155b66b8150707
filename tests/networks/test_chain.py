"""Chains against values worked out by hand, against sums over all trajectories, and against each other."""

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction as F
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from networks.worlds import Law, lifts, random_chain
from support import THOROUGH, few, fresh_seed

import divulge as dv
from divulge.networks import cones, count_at_least, differ, ever, function, never, temporal_limit
from divulge.networks.temporal import increment

STAY = [["9/10", "1/10"], ["1/10", "9/10"]]
TRUTH = [["3/4", "1/4"], ["1/4", "3/4"]]
PLACES = [["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"], ["0", "1/2", "1/2"]]
NEARLY = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]


def two(steps: int) -> dv.Chain:
    return dv.Chain(["1/2", "1/2"], STAY, TRUTH, steps=steps)


@pytest.mark.parametrize(
    ("secret", "lift", "least"),
    [
        (0, "24/13", "2/13"),
        (1, "49/26", "3/26"),
        (2, "24/13", "2/13"),
        ("all", "675/152", "25/312"),
        (ever(1), "2875/1768", "2575/12376"),
        (never(1), "225/104", "25/312"),
        (differ(0, 2), "125/84", "25/52"),
    ],
    ids=["first", "middle", "last", "trajectory", "ever", "never", "differ"],
)
def test_three_steps_by_hand(secret: Any, lift: str, least: str) -> None:
    worst, cost = two(3).worst(secret), two(3).worst(secret, "pmc")
    assert (worst.lower, worst.upper, worst.exact) == (F(lift), F(lift), True)
    assert (cost.lower, cost.exact) == (1 / F(least), True)


def test_five_steps_by_hand() -> None:
    chain = two(5)
    assert [chain.worst(t).lower for t in range(5)] == list(map(F, ("741/392", "109/56", "96/49", "109/56", "741/392")))
    assert chain.worst(2, "ldp").lower == 48
    assert chain.probability([0, 0, 1, 0, 0]) == F(171, 5000)
    lifts = ("271/152", "273/152", "32/19", "273/152", "271/152")
    assert [chain.lift(t, [0, 0, 1, 0, 0]) for t in range(5)] == list(map(F, lifts))
    assert two(3).prior(ever(1))[True] == F(119, 200)


def test_leakage_over_time_by_hand() -> None:
    rows = two(6).over_time()
    assert [math.exp(row.bpl) for row in rows] == pytest.approx([3, 7, 12, 109 / 7, 741 / 43, 839 / 47], rel=1e-13)
    assert [row.online.upper for row in rows] == pytest.approx([row.bpl for row in rows], rel=1e-13)
    places = dv.Chain(["1/4", "1/2", "1/4"], PLACES, NEARLY, steps=5).over_time()
    exact = [2, 3, F(34, 9), F(47, 11), F(514, 113)]
    assert [math.exp(row.online.upper) for row in places] == pytest.approx([float(v) for v in exact], rel=1e-13)
    assert [math.exp(row.bpl) for row in places] == pytest.approx([2, 3, 4, 5, 6], rel=1e-13)
    assert all(row.online.upper <= row.bpl * (1 + 1e-12) and row.exact.upper <= row.tpl * (1 + 1e-12) for row in places)


def test_a_list_of_moves_says_how_long_a_chain_is() -> None:
    moves = [[["3/4", "1/4"], ["1/4", "3/4"]], [["1/2", "1/2"], ["0", "1"]]]
    chain = dv.Chain(["1/2", "1/2"], moves, [["2/3", "1/3"], ["1/3", "2/3"]])
    assert len(chain.over_time()) == 3
    assert chain.probability([0, 0, 0]) > 0


def test_what_no_state_ever_is_counts_for_nothing_over_time() -> None:
    with_never = dv.Chain(
        ["1/2", "1/2", "0"],
        [["3/4", "1/4", "0"], ["1/4", "3/4", "0"], ["0", "0", "1"]],
        [["2/3", "1/3"], ["1/3", "2/3"], ["1/1000", "999/1000"]],
        steps=4,
    )
    moves = [["3/4", "1/4"], ["1/4", "3/4"]]
    without = dv.Chain(["1/2", "1/2"], moves, [["2/3", "1/3"], ["1/3", "2/3"]], steps=4)
    assert with_never.over_time().to_dict() == without.over_time().to_dict()


def test_the_limit_over_time() -> None:
    assert temporal_limit(STAY, math.log(3)) == pytest.approx(2.8995049998, abs=1e-10)
    assert temporal_limit([[1, 0], [0, 1]], 0.1) == math.inf
    assert temporal_limit([[0.5, 0.5], [0.5, 0.5]], 0.1) == 0.1
    one_way = [["1/2", "1/2"], ["0", "1"]]  # d = 0, q = 1/2: finite below log 2
    assert temporal_limit(one_way, 0.5) == pytest.approx(math.log((0.5 * math.exp(0.5)) / (1 - 0.5 * math.exp(0.5))))
    assert temporal_limit(one_way, 0.7) == math.inf


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_limit_is_where_the_recursion_ends(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(few(30)):
        moves, epsilon = rng.dirichlet([0.7] * size, size=size), rng.uniform(0.01, 2)
        level = epsilon
        limit = temporal_limit(moves, epsilon)
        for _ in range(200 if THOROUGH else 50):
            level = epsilon + increment(moves, level)
        assert level <= limit * (1 + 1e-12)
        if limit < math.inf:  # and it is a fixed point, which the recursion cannot pass
            assert epsilon + increment(moves, limit) == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-100, 1e-16, 1e-12, 1e-3, 299.9, 300.1, 1000.0])
def test_the_limit_keeps_its_digits_at_small_and_large_levels(epsilon: float) -> None:
    """The root of d u^2 + (1 - q + d - q E) u - E = 0 in many digits, u = e^a - 1 and E = e^epsilon - 1."""
    with mp.workdps(1000):
        q, d, more = mp.mpf(0.9), mp.mpf(0.1), mp.expm1(mp.mpf(epsilon))
        b = 1 - q + d - q * more
        truth = float(mp.log1p((mp.sqrt(b * b + 4 * d * more) - b) / (2 * d)))
    assert temporal_limit([[0.9, 0.1], [0.1, 0.9]], epsilon) == pytest.approx(truth, rel=1e-14)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-310, 1e-200, 1e-17, 1e-12, 1e-6, 1e-3])
@pytest.mark.parametrize("flip", [0.1, 0.03])
def test_a_small_promise_over_time_is_kept(flip: float, epsilon: float) -> None:
    """By the tanh law of both directions at their fixed point, in many digits."""
    local = dv.Chain([0.5, 0.5], [[1 - flip, flip], [flip, 1 - flip]], TRUTH, steps=2).calibrate(epsilon)
    with mp.workdps(60):
        half = one_way = mp.tanh(mp.mpf(local) / 2)  # of the loss by half, whose sums are those of the tanh law
        for _ in range(800 if flip < 0.1 else 250):  # 0.8^250 and 0.94^800 are less than an ulp of an ulp
            told = (1 - 2 * mp.mpf(flip)) * one_way
            one_way = (half + told) / (1 + half * told)
        assert 4 * mp.atanh(one_way) - local <= epsilon
    assert local == 0 if epsilon < 1e-290 else local > epsilon * flip


def test_the_increment_is_the_worst_over_all_sets_of_states() -> None:
    """By listing the sets, and as what a mechanism of this level reaches on a chain of two steps."""
    rng = np.random.default_rng(fresh_seed())
    for _ in range(few(30)):
        moves, level = rng.dirichlet([0.5] * 4, size=4), rng.uniform(0.01, 4)
        more = math.expm1(level)
        listed = max(
            math.log((moves[i, list(inside)].sum() * more + 1) / (moves[k, list(inside)].sum() * more + 1))
            for i, k in product(range(4), repeat=2)
            for inside in ([x for x in range(4) if mask >> x & 1] for mask in range(16))
        )
        assert increment(moves, level) == pytest.approx(listed, rel=1e-9, abs=1e-15)


def test_calibration_is_the_tanh_law_for_two_states() -> None:
    chain = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], TRUTH, steps=2)
    assert chain.calibrate(1.0) == pytest.approx(0.115734, abs=5e-7)
    for theta, epsilon in ((0.1, 1.0), (0.3, 0.2), (0.01, 5.0)):
        chain = dv.Chain([0.5, 0.5], [[1 - theta, theta], [theta, 1 - theta]], TRUTH, steps=2)
        local = chain.calibrate(epsilon)
        grow = math.exp(epsilon)
        u = max(np.roots([1 - theta, theta * (grow - 1), -(1 - theta) * grow]).real)
        assert local == pytest.approx(epsilon - 2 * math.log(u), rel=1e-9)
        flip = 1 / (1 + math.exp(local))
        long = dv.Chain([0.5, 0.5], [[1 - theta, theta], [theta, 1 - theta]], [[1 - flip, flip], [flip, 1 - flip]], 60)
        assert long.worst(30, "ldp").upper <= grow * (1 + 1e-9)


def test_worst_outputs_are_the_worst_of_all() -> None:
    rng = np.random.default_rng(fresh_seed())
    for _ in range(24 if THOROUGH else 2):
        chain, paths, told, m = random_chain(rng)
        last = chain.steps - 1
        secrets: list[tuple[Any, Law, bool]] = [
            (int(rng.integers(chain.steps)), lambda x: x, False),
            ((0, last), lambda x: (x[0], x[-1]), False),
            ("all", lambda x: x, False),
            (ever(1), lambda x: 1 in x, True),
            (count_at_least(0, 2), lambda x: x.count(0) >= 2, True),
            (differ(0, last), lambda x: x[0] != x[-1], True),
            (function([0, last], lambda a, b: a + b), lambda x: x[0] + x[-1], False),
        ]
        step = secrets[0][0]
        secrets[0] = step, lambda x, step=step: x[step], False
        for secret, law, event in secrets:
            seen = list(lifts(paths, told, m, law, event))
            if not seen:
                continue
            highest = max(max(values) for _, values in seen)
            lowest = min(min(values) for _, values in seen)
            worst, cost = chain.worst(secret), chain.worst(secret, "pmc")
            assert worst.exact
            assert (worst.lower, worst.upper) == (highest, highest)
            assert cost.lower == (1 / lowest if lowest else math.inf)
            assert chain.lift(secret, worst.outputs) == highest
            outputs, values = seen[int(rng.integers(len(seen)))]
            assert chain.lift(secret, outputs) == max(values)
            assert chain.pmc(secret, outputs) == pytest.approx(
                -math.log(min(values)) if min(values) else math.inf, abs=1e-12
            )


def test_doubles_enclose_the_exact_answer() -> None:
    rng = np.random.default_rng(fresh_seed())
    for _ in range(few(30)):
        exact, *_ = random_chain(rng)
        model = exact.models[0]
        floats = [np.asarray(move, dtype=float) for move in model.moves]
        told = [np.asarray(table, dtype=float) for table in model.tables if table is not None]
        chain = dv.Chain(np.asarray(model.start, dtype=float), floats, told)
        for secret in (0, (0, chain.steps - 1), "all"):
            for side in ("pml", "pmc"):
                right, bracket = exact.worst(secret, side), chain.worst(secret, side)
                assert not bracket.exact or right.lower == math.inf
                assert float(bracket.lower) <= float(right.lower) * (1 + 1e-15)
                assert float(bracket.upper) >= float(right.lower) * (1 - 1e-15)
                assert right.lower == math.inf or bracket.upper <= bracket.lower * (1 + 1e-8)


def test_too_many_rays_leave_a_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    moves, told = ([[F(int(v), 24) for v in rng.multinomial(20, [0.25] * 4) + 1] for _ in range(4)] for _ in range(2))
    chain = dv.Chain(["1/4"] * 4, moves, told, steps=6)
    exact = chain.worst(3)
    monkeypatch.setattr(cones, "MOST", 4)
    bracket = chain.worst(3)
    assert exact.exact
    assert not bracket.exact
    assert bracket.lower <= exact.lower <= bracket.upper
    assert bracket.upper < 3 * float(exact.lower)


def test_candidates_are_as_bad_as_the_worst_of_them() -> None:
    one = [["1/2", "1/2"], ["1/2", "1/2"]]
    both = dv.Chain(["1/2", "1/2"], dv.networks.Candidates([STAY, one]), TRUTH, steps=3)
    assert both.worst(1).lower == two(3).worst(1).lower
    assert both.lift(1, [0, 0, 0]) == two(3).lift(1, [0, 0, 0])
    with pytest.raises(dv.DivulgeError, match="one model"):
        both.posterior(0, [0, 0, 0])


def test_nothing_goes_out_where_the_release_is_none() -> None:
    chain = dv.Chain(["1/2", "1/2"], [STAY] * 2, [TRUTH, None, TRUTH])
    assert chain.worst(1).outputs[1] is None
    assert chain.worst(1).lower < two(3).worst(1).lower
    assert chain.lift(1, [0, None, 0]) == chain.worst(1).lower


def test_the_joint_is_what_every_measure_applies_to() -> None:
    for secret in (0, (0, 2), "all", ever(1)):
        joint = two(3).joint(secret)
        event = isinstance(secret, dv.networks.Secret)
        lift = joint.lift[joint.secrets.index(True)].max() if event else dv.lift(joint)
        assert lift == two(3).worst(secret).lower


def test_long_chains_in_doubles_agree_with_fractions() -> None:
    rng = np.random.default_rng(5)
    outputs = rng.integers(0, 2, 400).tolist()
    exact = two(400).posteriors(outputs)
    model = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]], steps=400)
    assert np.abs(model.posteriors(outputs) - exact.astype(float)).max() < 1e-13
    many = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]], steps=100_000)
    seen = rng.integers(0, 2, 100_000).tolist()
    shares = many.posteriors(seen)
    assert shares.shape == (100_000, 2)
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-12


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a row that misses 1": (lambda: dv.Chain([0.5, 0.5], [[0.9, 0.2], [0.1, 0.9]], TRUTH, 2), "sum to 1"),
    "no steps": (lambda: dv.Chain([0.5, 0.5], STAY, TRUTH), "`steps` must be given"),
    "steps of half": (lambda: dv.Chain([0.5, 0.5], STAY, TRUTH, 2.5), "whole number"),
    "not square": (lambda: dv.Chain([0.5, 0.5], [[0.5, 0.25, 0.25]] * 2, TRUTH, 2), "square"),
    "one move too few": (lambda: dv.Chain([0.5, 0.5], [STAY], TRUTH, 4), "one matrix a move"),
    "states that differ": (lambda: dv.Chain([0.5, 0.5], np.eye(3), TRUTH, 2), "one row for each of 2 states"),
    "a release of other states": (
        lambda: dv.Chain([0.5, 0.5], dv.Channel(STAY, ["a", "b"], ["a", "b"]), dv.Channel(TRUTH, ["a", "c"]), 2),
        "`release` must have the same labels as the states; 'b' is missing",
    ),
    "moves to other states": (
        lambda: dv.Chain(["1/2", "1/2"], dv.Channel(TRUTH, ["a", "b"], ["a", "c"]), dv.Channel(TRUTH, ["a", "b"]), 3),
        "a row without a column is 'b'",
    ),
    "an unknown step": (lambda: two(3).worst(3), "a step from 0 to 2"),
    "an unknown side": (lambda: two(3).worst(0, "up"), "one of pml, pmc, ldp"),
    "an unknown outcome": (lambda: two(3).pml(0, [0, 2, 0]), r"outputs\[1\]"),
    "too many outputs": (lambda: two(3).pml(0, [0] * 4), "one outcome a step"),
    "what cannot occur": (
        lambda: dv.Chain(["1", "0"], [[1, 0], [0, 1]], [[1, 0], [0, 1]], 3).pml(0, [0, 1, 0]),
        "that of step 1",
    ),
    "an event that cannot occur": (
        lambda: dv.Chain(["1", "0"], [[1, 0], [0, 1]], TRUTH, 2).worst(ever(1)),
        "cannot occur",
    ),
    "too many values": (lambda: two(40).posterior("all", [0] * 40), "few enough values to list"),
    "too many outputs to list": (lambda: two(40).joint(0), "at most 200,000 pairs of a value and outputs"),
    "states that never settle": (
        lambda: dv.Chain([1.0, 0.0], [[0, 1], [1, 0]], TRUTH, 2).calibrate(1.0),
        "settle in the long run",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(dv.DivulgeError, match=message):
        call()


@pytest.mark.parametrize("n", [8, 9, 12, 13])
def test_posteriors_of_many_states_are_those_of_fractions(n: int) -> None:
    rng = np.random.default_rng(n)

    def rows(count: int) -> list[list[F]]:
        return [[F(int(v), int(row.sum())) for v in row] for row in rng.integers(1, 50, (count, n))]

    steps = 20 if THOROUGH else 6
    start, moves, told, outputs = rows(1)[0], rows(n), rows(n), rng.integers(0, n, steps).tolist()
    exact = dv.Chain(start, moves, told, steps=steps).posteriors(outputs)
    doubles = dv.Chain(np.array(start, float), np.array(moves, float), np.array(told, float), steps=steps)
    assert np.abs(doubles.posteriors(outputs) - exact.astype(float)).max() < 1e-14


def test_outputs_of_a_long_chain_that_cannot_occur_name_the_step() -> None:
    frozen = dv.Chain([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], steps=5000)
    with pytest.raises(dv.DivulgeError, match="that of step 4000"):
        frozen.posteriors([0] * 4000 + [1] + [0] * 999)


def list_of(state: Any) -> Any:
    return [state]


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (never("0"), "name states that there are; one is '0'"),  # it would never occur, and nothing be told of it
        (ever(2), "name states"),
        (count_at_least("x", 1), "name states"),
        (differ(0, 9), "name steps or variables that there are; one is 9"),
        (function([0, 9], lambda *states: max(states)), "name steps or variables"),
        (function([0], list_of), "are equal to themselves"),
        (function([0], lambda _: float("nan")), "are equal to themselves"),
    ],
)
def test_a_secret_of_what_is_not_there_is_refused(secret: Any, said: str) -> None:
    for ask in (lambda: two(3).worst(secret), lambda: two(3).pml(secret, [0, 0, 0]), lambda: two(3).joint(secret)):
        with pytest.raises(dv.DivulgeError, match=said):
            ask()


def test_a_network_knows_the_names_in_a_secret() -> None:
    net = dv.Network({"a": ["1/2", "1/2"], "b": (["a"], STAY)}).release("b")
    for secret in (never("0"), differ("a", "c"), function(["a", "c"], lambda *both: both), ["a"]):
        with pytest.raises(dv.DivulgeError, match="`secret` must name"):
            net.worst(secret)


def test_steps_are_as_many_as_fit() -> None:
    with pytest.raises(dv.DivulgeError, match="`steps` must be at most 1,000,000"):
        two(10**12)
    with pytest.raises(dv.DivulgeError, match="`outputs` must be a list"):
        two(3).pml(0, 5)


def test_a_formula_that_fails_is_refused_in_words() -> None:
    net = dv.Network({"a": ["1/2", "1/2"], "b": (["a"], STAY)}).release("b")
    wrong: dict[str, Callable[..., Any]] = {
        "raises ZeroDivisionError": lambda a: 1 / a,
        "raises TypeError": lambda a, b: a,
        "raises RuntimeError: no such state": failing,
        "can be keys": list_of,
    }
    for said, formula in wrong.items():
        for ask in (
            lambda f=formula: two(3).posterior(function([0], f), [0]),
            lambda f=formula: two(3).worst(function([0], f)),
            lambda f=formula: net.worst(function(["a"], f)),
            lambda f=formula: net.joint(dv.networks.Secret("own", 0, lambda _, place, state: f(state))),
        ):
            with pytest.raises(dv.DivulgeError, match=said):
                ask()


def failing(state: Any) -> Any:
    raise RuntimeError("no such state")


def test_an_event_is_true_or_false_whatever_its_value_is() -> None:
    odd = dv.networks.Secret("odd", 0, lambda before, _, x: (before + x) % 2, lambda seen: np.int64(seen), event=True)
    as_it_is = dv.networks.Secret("odd", 0, lambda before, _, x: (before + x) % 2, lambda seen: seen == 1, event=True)
    assert two(3).worst(odd).lower == two(3).worst(as_it_is).lower > 1


def test_the_hull_of_points_in_the_plane_is_that_of_qhull() -> None:
    rng = np.random.default_rng(5)
    for trial in range(few(200, least=20)):
        points = rng.normal(size=(int(rng.integers(4, 60)), 2))
        if trial % 3 == 0:
            points = points.round(0 if trial % 2 else 1)  # many on one line, some twice
        plane, general = cones._polygon(points), cones._polytope(points)
        assert plane is not None
        assert general is not None
        assert {tuple(points[i]) for i in plane[0]} == {tuple(points[i]) for i in general[0]}
        for body in (plane, general):
            assert (points @ body[2].T + body[3] <= 1e-12).all()
            for (a, b), normal, offset in zip(body[1].tolist(), body[2], body[3], strict=True):
                assert points[[a, b]] @ normal + offset == pytest.approx([0, 0], abs=1e-12)
    assert cones._polygon(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])) is None


def test_worst_outputs_of_three_states_load_no_qhull() -> None:
    code = (
        "import sys\nimport divulge as dv\n"
        "moves = [['1/2', '1/4', '1/4'], ['1/8', '5/8', '1/4'], ['1/3', '1/3', '1/3']]\n"
        "told = [['1/2', '1/3', '1/6'], ['1/4', '1/2', '1/4'], ['1/7', '2/7', '4/7']]\n"
        "assert dv.Chain(['1/3'] * 3, moves, told, steps=8).worst(4).exact\n"
        "assert 'scipy.spatial' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
