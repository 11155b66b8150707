"""Protect S, publish X: against a program over vertices of the polytope that knows nothing of the package."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support import THOROUGH, few

import divulge as dv
from divulge.designing.effort import NO_HURRY
from divulge.designing.polytope.limits import limits_of
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.protecting import mixture
from divulge.designing.protecting.law import Law

TABLE = np.array([[0.30, 0.10, 0.05, 0.05], [0.05, 0.10, 0.05, 0.30]])
"""P(s, x) of two values of S and four of X."""
EXACT = [[Fraction(6, 20), Fraction(2, 20), Fraction(1, 20), Fraction(1, 20)],
         [Fraction(1, 20), Fraction(2, 20), Fraction(1, 20), Fraction(6, 20)]]  # fmt: skip

KINDS: dict[str, Any] = {
    "pml": lambda e: (dv.PML(e), {"high": math.exp(e)}),
    "pmc": lambda e: (dv.PMC(e), {"low": math.exp(-e)}),
    "lip": lambda e: (dv.LIP(e), {"low": math.exp(-e), "high": math.exp(e)}),
    "ldp": lambda e: (dv.LDP(e), {"ratio": math.exp(e)}),
    "maximal-leakage": lambda e: (dv.guarantees.MaximalLeakage(e / 2), {"capacity": math.exp(e / 2)}),
}


def split(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (P(x), P(s | x) of shape (N, S)) of P(s, x)."""
    return joint.sum(axis=0), (joint / joint.sum(axis=0)).T


def vertices(joint: np.ndarray, low: float = 0.0, high: float = 50.0, ratio: float = math.inf) -> np.ndarray:
    """Return the vertices (v, M) of v >= 0, P v = 1, limits on the lifts of s, and M at least each of these."""
    p, back = joint.sum(axis=0), joint / joint.sum(axis=1)[:, None]
    s, n = joint.shape
    rows, bounds = [np.append(-row, 0.0) for row in np.eye(n)], [0.0] * n
    for k in range(s):
        rows += [np.append(-back[k], 0.0), np.append(back[k], -1.0)]
        bounds += [-low, 0.0]
        if ratio < math.inf:
            rows += [np.append(back[k] - ratio * back[j], 0.0) for j in range(s) if j != k]
            bounds += [0.0] * (s - 1)
    rows.append(np.append(np.zeros(n), 1.0))
    bounds.append(high)
    a, b, found = np.array(rows), np.array(bounds), []
    choices = np.array(list(itertools.combinations(range(len(b)), n)))
    for start in range(0, len(choices), 20_000):
        chosen = choices[start : start + 20_000]
        systems = np.concatenate([a[chosen], np.broadcast_to(np.append(p, 0.0), (len(chosen), 1, n + 1))], axis=1)
        right = np.concatenate([b[chosen], np.ones((len(chosen), 1))], axis=1)
        good = np.abs(np.linalg.det(systems)) > 1e-10
        points = np.linalg.solve(systems[good], right[good][:, :, None])[:, :, 0]
        found.append(points[(points @ a.T <= b + 1e-9).all(axis=1)])
    return np.unique(np.concatenate(found).round(11), axis=0)


def optimum(p: np.ndarray, points: np.ndarray, values: np.ndarray, capacity: float = math.inf) -> float:
    limited = {"A_ub": points[:, -1:].T, "b_ub": [capacity]} if capacity < math.inf else {}
    return -linprog(-values, A_eq=points[:, :-1].T, b_eq=np.ones(len(p)), **limited).fun


def drawn(rng: np.random.Generator, s: int, n: int) -> np.ndarray:
    joint = rng.dirichlet(np.full(s * n, rng.choice([0.7, 3.0]))).reshape(s, n)
    joint = np.maximum(joint, 1e-4)
    return joint / joint.sum()


def keeps(found: dv.results.Design, joint: np.ndarray, limits: dict[str, float]) -> bool:
    """Say by plain fractions whether the integers of a design keep limits on S, but for the last digits of doubles."""
    whole = [[Fraction(v) for v in row] for row in joint.tolist()]
    entries = found.integers.tolist()
    most = Fraction(0)
    for y in range(len(found.outcomes)):
        said = [sum(w * row[y] for w, row in zip(line, entries, strict=True)) / sum(line) for line in whole]
        mean = sum(w * row[y] for line in whole for w, row in zip(line, entries, strict=True)) / sum(map(sum, whole))
        most += max(said)
        near = 1 + Fraction(1, 10**14)
        if (
            max(said) > Fraction(limits.get("high", 1e9)) * mean * near
            or max(said) > Fraction(limits.get("ratio", 1e9)) * min(said) * near
        ):
            return False
        if min(said) * near < Fraction(limits.get("low", 0)) * mean:
            return False
    return most <= Fraction(limits.get("capacity", 1e9)) * 2**found.bits


@pytest.mark.parametrize("table", [TABLE, EXACT], ids=["doubles", "fractions"])
def test_what_is_protected_costs_less_than_all_of_it(table: Any) -> None:
    p = [sum(column) for column in zip(*table, strict=True)]
    given = [[v / q for v in column] for column, q in zip(zip(*table, strict=True), p, strict=True)]
    found = dv.design(p, "pml=0.3", protect=given)
    assert found.utility == pytest.approx(0.889514140, abs=1e-9)
    assert 0 <= found.gap < 1e-10
    assert dv.design(p, "pml=0.3").utility == pytest.approx(0.165650, abs=1e-6)
    perfect = dv.design(p, "pml=0", protect=given)
    assert perfect.utility == pytest.approx(0.801818553, abs=1e-9)
    assert 0 <= perfect.gap < 1e-10
    (joint,) = perfect.protected
    assert joint.exact
    assert (joint.channel.matrix == joint.channel.matrix[:1]).all()
    assert dv.pml(joint).max() == 0
    assert all(g.holds_for(found.protected[0]) for g in found.guarantees)
    assert float(found.achieved[0].epsilon) <= 0.3


@pytest.mark.thin
@pytest.mark.parametrize("listed", [True, False], ids=["extreme columns", "column generation"])
@pytest.mark.parametrize("kind", KINDS)
def test_designs_equal_the_best_mixture_of_all_vertices(
    kind: str, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not listed:
        monkeypatch.setattr(mixture, "_LARGEST", 0)
    rng = np.random.default_rng(len(kind))
    for trial in range(few(12, least=2)):
        joint = drawn(rng, 2 + trial % 2, 3 + trial % 2)
        p, given = split(joint)
        guarantee, limits = KINDS[kind](float(rng.uniform(0.05, 0.8)))
        name = list(SUBCONVEX)[trial % 3]
        points = vertices(joint, **{k: v for k, v in limits.items() if k != "capacity"})
        values = (p * SUBCONVEX[name].f(np.maximum(points[:, :-1], 0.0))).sum(axis=1)
        best = optimum(p, points, values, limits.get("capacity", math.inf))
        found = dv.design(p, guarantee, utility=name, protect=given)
        assert found.utility == pytest.approx(best, rel=1e-7, abs=1e-9)
        assert found.bound >= best * (1 - 1e-9)
        assert found.bound <= best * (1 + (1e-9 if listed else 1e-6)) + 1e-12
        assert keeps(found, joint, limits)


def test_a_utility_about_a_third_variable_equals_the_best_mixture_of_all_vertices() -> None:
    """The privacy funnel, I(U; Y) under a bound on what Y says of S."""
    rng = np.random.default_rng(4)
    for _ in range(few(12, least=2)):
        joint = drawn(rng, 2, 4)
        p, given = split(joint)
        about = rng.dirichlet(np.ones(3), size=4)
        mass = p @ about
        points = vertices(joint, high=math.exp(0.2))
        seen = points[:, :-1] @ (p[:, None] * about / mass)
        values = (mass * SUBCONVEX["mutual-information"].f(np.maximum(seen, 0.0))).sum(axis=1)
        found = dv.design(p, "pml=0.2", utility=dv.About(about), protect=given)
        assert found.utility == pytest.approx(optimum(p, points, values), rel=1e-7)
        assert found.utility <= found.bound <= found.utility * (1 + 1e-8)


def test_scores_equal_a_program_over_all_entries() -> None:
    rng = np.random.default_rng(6)
    for _ in range(few(12, least=2)):
        joint = drawn(rng, 3, 4)
        p, given = split(joint)
        scores, back = rng.normal(size=(4, 4)), joint / joint.sum(axis=1)[:, None]
        rows = []
        for s, y in itertools.product(range(3), range(4)):
            row = np.zeros((4, 4))
            row[:, y] = back[s] - math.exp(0.25) * p
            rows.append(row.ravel())
        best = -linprog(
            -(p[:, None] * scores).ravel(),
            np.array(rows),
            np.zeros(12),
            np.kron(np.eye(4), np.ones((1, 4))),
            np.ones(4),
        ).fun
        found = dv.design(p, "pml=0.25", utility=scores, outcomes=range(4), protect=given)
        assert found.utility == pytest.approx(best, rel=1e-8, abs=1e-9)
        assert found.utility <= found.bound <= best + 1e-9
        assert keeps(found, joint, {"high": math.exp(0.25)})


@pytest.mark.thin
@pytest.mark.parametrize("utility", ["mutual-information", "total-variation", "hamming"])
@pytest.mark.parametrize("asked", ["pml=0.4", "pmc=0.3", "ldp=0.7", "maximal-leakage=0.2"])
def test_protecting_the_data_themselves_is_a_design(asked: str, utility: str) -> None:
    p = ["1/2", "1/3", "1/6"]
    alone = dv.design(p, asked, utility=utility)
    found = dv.design(p, asked, utility=utility, protect=np.eye(3, dtype=int).tolist())
    assert found.utility == pytest.approx(alone.utility, rel=1e-9)
    assert found.bound == pytest.approx(alone.bound, rel=1e-9)


def test_several_are_protected_at_once() -> None:
    p, given = split(TABLE)
    other = [[1, 0], [0, 1], [1, 0], [0, 1]]
    one, two = (dv.design(p, "pml=0.1", protect=given), dv.design(p, "pml=0.1", protect=other))
    both = dv.design(p, "pml=0.1", protect=(given, other))
    assert both.utility <= min(one.bound, two.bound)
    assert both.utility == pytest.approx(dv.design(p, "pml=0.1", protect=(other, given)).utility, rel=1e-9)
    assert all(dv.PML(0.1).holds_for(joint) for joint in both.protected)
    assert len(both.protected) == 2
    joint = dv.Joint.from_matrix(TABLE.tolist(), ["s", "t"], list(range(4)))
    assert dv.design(p, "pml=0.1", protect=joint).utility == pytest.approx(one.utility, rel=1e-9)


def test_values_that_never_occur_and_secrets_that_nothing_is_told_of() -> None:
    p = ["1/2", "1/2", 0]
    found = dv.design(p, "pml=0", protect=[["1/2", "1/2", 0], ["1/2", "1/2", 0], [0, 0, 1]])
    assert found.utility == pytest.approx(math.log(2))
    assert len(found.protected[0].secrets) == 2
    nothing = dv.design(["1/2", "1/2"], "pml=0", protect=[[1, 0], [0, 1]])
    assert (nothing.utility, len(nothing.outcomes)) == (0.0, 1)


def test_bounds_hold_beyond_what_is_listed_and_no_random_mechanism_beats_them() -> None:
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(42)).reshape(3, 14)
    p, given = split(joint)
    found = dv.design(p, "pml=0.3", protect=given)
    assert found.method == "column-generation"
    assert 0 <= found.gap < 1e-4
    assert keeps(found, joint, {"high": math.exp(0.3)})
    back = joint / joint.sum(axis=1)[:, None]
    for _ in range(50):
        channel = rng.dirichlet(np.full(14, 0.1), size=14)
        q = p @ channel
        over = float((back @ channel / q).max())
        share = min(1.0, (math.exp(0.3) - 1) / (over - 1))
        assert dv.mutual_information(dv.Joint(p, share * channel + (1 - share) * q)) <= found.bound


@pytest.mark.parametrize(
    "asked", ["pml=0.3", *(pytest.param(text, marks=pytest.mark.long) for text in ("lip=0.3", "ldp=0.5"))]
)
def test_branch_and_bound_ends_where_all_extreme_columns_do(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(len(asked))
    p, given = split(rng.dirichlet(np.ones(15)).reshape(3, 5))
    about = dv.About(rng.dirichlet(np.ones(3), size=5))
    for utility in ("mutual-information", about) if THOROUGH else (about,):
        listed = dv.design(p, asked, utility=utility, protect=given)
        with monkeypatch.context() as patched:
            patched.setattr(mixture, "_LARGEST", 0)
            found = dv.design(p, asked, utility=utility, protect=given)
        assert (listed.method, found.method) == ("extreme-columns", "column-generation")
        assert found.utility == pytest.approx(listed.utility, rel=2e-7)
        assert listed.utility <= found.bound <= listed.utility * (1 + 3e-7)


def test_boxes_hold_every_column_that_exceeds_the_target() -> None:
    """Random columns of the polytope are in the box that a node is narrowed to, or under the target."""
    rng, narrowed = np.random.default_rng(8), 0
    for trial in range(24 if THOROUGH else 2):
        joint = drawn(rng, 3, 6)
        p, given = split(joint)
        prior = dv.Prior(p)
        law = Law.of(prior, np.arange(6), (dv.Channel(given),), limits_of((dv.LDP(0.5) if trial % 2 else dv.PML(0.3),)))
        search = mixture.Search(law, SUBCONVEX["mutual-information"], NO_HURRY)
        dual = mixture.Dual(-p * np.log(p) * rng.uniform(0.3, 0.7), np.zeros(1))
        points = vertices(joint, high=math.exp(0.3)) if trial % 2 == 0 else vertices(joint, ratio=math.exp(0.5))
        mixed = rng.dirichlet(np.full(len(points), 0.02), size=500) @ points[:, :-1]
        lifts = np.concatenate([points[:, :-1], mixed])
        excess = SUBCONVEX["mutual-information"].at(p, np.maximum(lifts, 0)) - lifts @ dual.rows
        target = float(np.quantile(excess, 0.995))
        node = search._nodes(search.floor[None], search.high[None], None, dual, target)
        above = lifts[excess > target]
        assert len(node.bound) == 1
        assert len(above)
        assert node.bound[0] >= excess.max() - 1e-9
        assert (above >= node.low - 1e-9).all()
        assert (above <= node.high + 1e-9).all()
        narrowed += (search.high - search.floor).sum() > 1.1 * (node.high - node.low).sum()
        chosen = lifts[np.argsort(-excess)[:20]]  # small boxes, where chords are near: what is best in them stays
        wide, place = (search.high - search.floor) * 0.02, rng.random((20, 6))
        low, high = np.maximum(chosen - wide * place, 0), chosen + wide * (1 - place)
        for k, mine in enumerate(excess[np.argsort(-excess)[:20]]):
            small = search._nodes(low[k : k + 1], high[k : k + 1], None, dual, mine - 1e-9)
            assert len(small.bound) == 1
            assert (chosen[k] >= small.low - 1e-9).all()
            assert (chosen[k] <= small.high + 1e-9).all()
        assert excess.max() <= search._priced(dual, target) + 1e-9
    assert narrowed


@pytest.mark.parametrize("kind", KINDS)
def test_many_programs_at_once_are_those_of_highs(kind: str) -> None:
    """Costs of which many are 0, boxes in which there is nothing, and bases of other boxes to begin with."""
    rng = np.random.default_rng(len(kind))
    guarantee, _ = KINDS[kind](0.4)
    joint, many = drawn(rng, 3, 8), few(36, least=6)
    p, given = split(joint)
    law = Law.of(dv.Prior(p), np.arange(8), (dv.Channel(given),), limits_of((guarantee,)))
    program = mixture.Program(law, rng.dirichlet(np.ones(8), 2) if kind == "pml" else None)
    simplex, zero = program.simplex, rng.random((many, 1)) < 0.3
    cost = program._cost(rng.normal(size=(many, 8)) * p * (rng.random((many, 8)) < 0.5 + 0.5 * ~zero), 0.0, 0.1, many)
    low, high = np.tile(program.low, (many, 1)), np.tile(program.high, (many, 1))
    for k in range(many):
        high[k, rng.integers(8, size=k % 6)] *= rng.random()
    rows = simplex.matrix[:, : simplex.n] / simplex.columns
    first = simplex.solved(cost, low, high)
    again = simplex.solved(cost[::-1], low[::-1], high[::-1], first.basis)
    for k in range(many):
        best = linprog(-cost[k], np.vstack([rows, -rows]), np.append(simplex.most, -simplex.least) + 1e-13,
                       bounds=np.column_stack([low[k], high[k]]))  # fmt: skip
        bounds = np.array([first.bounds[k], again.bounds[many - 1 - k]])
        if best.status == 2:
            assert (bounds == -math.inf).all()
            continue
        assert bounds == pytest.approx(-best.fun, abs=1e-7)
        assert first.feasible[k]
        assert cost[k] @ first.points[k] == pytest.approx(-best.fun, abs=1e-7)
        assert cost[k] @ first.points[k] <= bounds.min()
        assert (rows @ first.points[k] <= simplex.most + 1e-8).all()
        assert (rows @ first.points[k] >= simplex.least - 1e-8).all()


def test_bases_do_not_come_back_where_many_costs_are_0() -> None:
    """A program of this law went round eleven bases, one as good as another."""
    rng = np.random.default_rng(7)
    p, given = split(rng.dirichlet(np.ones(18)).reshape(3, 6))
    law = Law.of(dv.Prior(p), np.arange(6), (dv.Channel(given),), limits_of((dv.LDP(0.5),)))
    program = mixture.Program(law, None)
    cost = [-0.01582947, -0.06468696, 0.10546389, -0.03908495, -0.0884734, 0.12447149, 0.0, 0.0]
    found = program.simplex.solved(np.array([cost]), program.low[None], program.high[None])
    assert found.feasible.all()
    assert found.bounds[0] == pytest.approx(0.61699695, abs=1e-7)


def test_columns_that_are_nearly_alike_leave_a_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simplex method of HiGHS sees none at its least tolerance, though one column alone is a mixture always."""
    rng = np.random.default_rng(1127)
    n, s = int(rng.integers(4, 13)), int(rng.integers(2, 6))
    joint = rng.dirichlet(np.full(n * s, rng.choice([0.05, 0.15, 0.3, 1.0]))).reshape(s, n)
    if rng.random() < 0.4:
        joint[:, 0] *= 1e-6
    p, given = split(joint / joint.sum())
    listed = dv.design(p, "ldp=0.5", utility="hellinger", protect=given)
    monkeypatch.setattr(mixture, "_LARGEST", 0)
    found = dv.design(p, "ldp=0.5", utility="hellinger", protect=given)
    assert all(g.holds_for(found.protected[0]) for g in found.guarantees)
    assert found.utility <= listed.bound
    assert listed.utility <= found.bound


@pytest.mark.parametrize("listed", [True, False], ids=["extreme columns", "column generation"])
@pytest.mark.parametrize(
    ("rare", "asked", "utility"),
    [(1e-17, "pml=0.3", "mutual-information"),
     *(pytest.param(*one, marks=pytest.mark.long)
       for one in ((1e-9, "pmc=0.4", "le-cam"), (1e-12, "ldp=0.5", "hellinger")))],
)  # fmt: skip
def test_values_that_hardly_ever_occur_leave_no_gap(
    rare: float, asked: str, utility: str, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A price of them that is off by what the solver may miss is no price of 1 / P_x; it left half of the bound."""
    monkeypatch.setattr(mixture, "_LARGEST", 12 if listed else 0)
    joint = np.random.default_rng(5).dirichlet(np.ones(14)).reshape(2, 7)
    without = dv.design(*split(joint[:, 2:] / joint[:, 2:].sum())[:1], asked, utility=utility,
                        protect=split(joint[:, 2:])[1])  # fmt: skip
    joint[:, :2] *= rare
    p, given = split(joint / joint.sum())
    found = dv.design(p, asked, utility=utility, protect=given)
    assert found.bound - found.unrounded <= 5e-7 * found.bound
    assert found.utility == pytest.approx(without.utility, rel=1e-5)
    assert found.bound >= without.utility * (1 - 1e-6)
    assert all(g.holds_for(found.protected[0]) for g in found.guarantees)


def test_lifts_of_values_that_hardly_ever_occur_leave_a_mixture() -> None:
    columns = np.array([[1.0, 1.0], [1e17, 0.0], [0.0, 1.0]])
    weights, dual = mixture.master(np.array([0.0, 5e17, 1.0]), columns, np.ones((3, 1)), limits_of((dv.PML(1),)))
    assert weights @ columns == pytest.approx([1, 1])
    assert weights @ [0.0, 5e17, 1.0] == pytest.approx(dual.rows.sum()) == pytest.approx(6)


def test_without_an_answer_of_the_program_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise dv.DivulgeError("no end")

    p, given = split(TABLE)
    best = dv.design(p, "pml=0.3", protect=given)
    monkeypatch.setattr(mixture, "master", none)
    found = dv.design(p, "pml=0.3", protect=given)
    assert (found.utility, len(found.outcomes)) == (0.0, 1)
    assert found.bound >= best.utility


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbidden": [(0, 1)]}, "forbidden"), ({"method": "enumeration"}, "method"),
        ({"outcomes": "values"}, "outcomes"), ({"utility": "estimation"}, "outcomes|utility"),
        ({"protect": ()}, "protect"), ({"protect": [[1, 0]]}, "protect"),
        ({"protect": [[0.7, 0.2], [1, 0]]}, "sum to 1"),
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.design(["1/2", "1/2"], "pml=0.1", **{"protect": [[1, 0], [0, 1]], **options})


def test_conflicts_and_least_levels_are_about_what_is_protected() -> None:
    p, given = split(TABLE)
    with pytest.raises(dv.DivulgeError, match=r"pml=0\.36985 is the least that would do"):
        dv.design(p, "pml=0.1", protect=given, at_least=0.95)
    least = dv.least_epsilon(p, dv.PML, at_least=0.889514140, protect=given)
    assert least.epsilon == pytest.approx(0.3, abs=1e-6)
