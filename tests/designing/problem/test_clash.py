"""Requests that cannot be met: the guarantees named are the fewest that clash, and the levels named are the least."""

import itertools
import math
import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support import THOROUGH, few

import divulge as dv
from divulge.designing.infeasible import ConflictingGuarantees, conflicts

PRIOR = dv.Prior(["1/2", "3/10", "1/5"], secrets=["a", "b", "c"])
PAIRS = np.array([[0, 0, -math.inf], [-math.inf, 0, 0], [0, -math.inf, 0]])
"""Each outcome may come from two secrets."""


def possible(p: np.ndarray, pattern: np.ndarray, guarantees: list[Any]) -> bool:
    """Say whether some channel with these zeros keeps PML, PMC, LDP and capacity bounds: a program over all pairs."""
    n, m = pattern.shape
    rows: list[np.ndarray] = []
    limits: list[float] = []

    def rule(coefficients: dict[tuple[int, int], float], at_most: float = 0.0, tops: float = 0.0) -> None:
        row = np.zeros((n + 1, m))
        for place, value in coefficients.items():
            row[place] += value
        row[n] = tops
        rows.append(row.ravel())
        limits.append(at_most)

    for x, y in itertools.product(range(n), range(m)):
        row = np.zeros((n + 1, m))
        row[x, y], row[n, y] = 1, -1
        rows.append(row.ravel())
        limits.append(0)
    for g in guarantees:
        for x, y in itertools.product(range(n), range(m)):
            mean = {(z, y): float(p[z]) for z in range(n)}
            if g.kind == "pml":
                e = math.exp(g.epsilon)
                rule({place: -e * value + (place[0] == x) for place, value in mean.items()})
            if g.kind == "pmc":
                e = math.exp(-g.epsilon)
                rule({place: e * value - (place[0] == x) for place, value in mean.items()})
            if g.kind == "ldp":
                for z in set(range(n)) - {x}:
                    rule({(x, y): 1.0, (z, y): -math.exp(g.epsilon)})
        if g.kind == "maximal-leakage":
            rule({}, math.exp(g.epsilon), tops=1.0)
    sums = np.zeros((n, (n + 1) * m))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1
    top = np.append(np.where(np.isneginf(pattern), 0.0, 1.0), np.ones((1, m)), axis=0).ravel()
    found = linprog(np.zeros((n + 1) * m), np.array(rows), limits, sums, np.ones(n), [(0, t) for t in top])
    return found.status == 0


def refused(*arguments: Any, **options: Any) -> ConflictingGuarantees:
    with pytest.raises(ConflictingGuarantees) as caught:
        dv.design(*arguments, **options)
    return caught.value


def test_a_pattern_of_zeros_names_the_guarantee_and_its_least_level() -> None:
    alone = refused(PRIOR, dv.PML(0.3), utility=dv.Score(np.where(np.eye(3) > 0, 1.0, -math.inf)))
    assert str(alone) == (
        "`guarantee` must leave a channel that never releases what is forbidden; pml=0.3 rules it out, "
        "pml=1.60944 is the least that would do."
    )
    (clash,) = alone.conflicts
    assert float(clash.remedies[0].epsilon) == pytest.approx(math.log(5), abs=1e-5)
    both = refused(PRIOR, dv.PML(0.3), dv.LDP(1), utility=dv.Score(PAIRS))
    assert "pml=0.693148 is the least" in str(both)
    assert "ldp=1 rules it out at every level" in str(both)


@pytest.mark.parametrize("seed", range(few(8)))
def test_clashes_are_minimal_and_remedies_least_by_an_independent_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 3.0))
    pattern = np.where(rng.random((4, 5)) < 0.45, -math.inf, 0.0)
    pattern[range(4), range(4)] = 0.0
    asked: list[Any] = [dv.PML(rng.uniform(0.05, 0.9)), dv.guarantees.MaximalLeakage(rng.uniform(0.05, 0.6)), dv.PMC(2)]
    if possible(p, pattern, asked):
        found = dv.design(p, *asked, utility=dv.Score(pattern))
        assert all(g.holds_for(found.joint if g.about == "joint" else found.channel) for g in asked)
        return
    left = {g.kind: g for g in asked}
    for clash in refused(p, *asked, utility=dv.Score(pattern)).conflicts:
        assert not possible(p, pattern, list(clash.guarantees))
        for g in clash.guarantees:
            assert possible(p, pattern, [h for h in clash.guarantees if h is not g])
        for eased in clash.remedies:
            others = [g for g in clash.guarantees if g.kind != eased.kind]
            assert possible(p, pattern, [eased, *others])
            (name,) = eased.bounded()
            lower = replace(eased, **{name: float(getattr(eased, name)) * (1 - 1e-4)})
            assert not possible(p, pattern, [lower, *others])
        if len(clash.guarantees) == 1:
            del left[clash.guarantees[0].kind]
            left |= {g.kind: g for g in clash.remedies[:1]}


def test_two_guarantees_that_only_clash_together_are_both_named() -> None:
    asked, no = (dv.PML(0.7), dv.guarantees.MaximalLeakage(0.6)), -math.inf
    pattern = np.array([[no, no, 0, no, 0], [0, no, 0, 0, no], [no, 0, 0, no, no], [0, 0, no, 0, 0]])
    p = np.array([0.11, 0.24, 0.4, 0.25])
    assert [possible(p, pattern, list(some)) for some in (asked[:1], asked[1:], asked)] == [True, True, False]
    (clash,) = refused(p, *asked, utility=dv.Score(pattern)).conflicts
    assert clash.guarantees == asked
    assert float(clash.remedies[-1].epsilon) == pytest.approx(math.log(2), abs=1e-5)


@pytest.mark.long
def test_two_guarantees_that_only_clash_together_over_a_utility_are_both_named() -> None:
    wanted = refused(PRIOR, dv.PML(0.52), dv.LDP(1.8), at_least=0.3)
    (clash,) = wanted.conflicts
    assert [g.kind for g in clash.guarantees] == ["pml", "ldp"]
    assert "pml=0.52 with ldp=1.8 rules it out" in str(wanted)
    for eased in clash.remedies:
        other = next(g for g in clash.guarantees if g.kind != eased.kind)
        assert dv.design(PRIOR, eased, other).utility >= 0.3
        lower = type(eased)(float(eased.epsilon) * (1 - 1e-4))
        assert dv.design(PRIOR, lower, other).bound < 0.3


def test_a_utility_out_of_reach_names_the_least_level() -> None:
    wanted = refused(["1/2", "1/2"], dv.LDP(0.5), utility="hamming", at_least=0.7)
    assert float(wanted.conflicts[0].remedies[0].epsilon) == pytest.approx(math.log(0.7 / 0.3), abs=1e-5)
    distortion = refused(["1/2", "1/2"], dv.LDP(0.5), utility="error", at_most=0.3)
    assert "error of at most 0.3; ldp=0.5 rules it out, ldp=0.847298 is" in str(distortion)
    assert dv.design(["1/2", "1/2"], dv.LDP(1), utility="error", at_most=0.3).utility < 0.3
    with pytest.raises(dv.DivulgeError, match=r"under no guarantee is at most 1\.02965301"):
        dv.design(PRIOR, dv.PML(1), at_least=4.0)


@pytest.mark.long
def test_a_utility_out_of_reach_of_two_numbers_or_over_a_set_names_the_least_levels() -> None:
    together = refused(PRIOR, dv.ALIP(0.5, 0.5), at_least=0.4).conflicts[0].remedies
    assert len(together) == 1
    assert float(together[0].lower) == pytest.approx(float(together[0].upper), rel=1e-4)
    assert dv.design(PRIOR, together[0]).utility >= 0.4
    ball = dv.measures.L1Ball(["3/5", "2/5"], "1/20")
    robust = refused(ball, dv.PML(0.5), utility="hamming", at_least=0.9).conflicts[0].remedies[0]
    assert dv.design(ball, robust, utility="hamming").utility >= 0.9


def test_a_utility_that_is_neither_found_nor_ruled_out_is_told_apart() -> None:
    p = np.random.default_rng(0).dirichlet(np.full(26 if THOROUGH else 18, 0.3))
    nearly_all = dv.design(p, dv.PML(0.5)).utility * (1 - 1e-6)
    with pytest.raises(dv.DivulgeError, match="the best that was found has"):
        dv.design(p, dv.PML(0.5), time_limit=0.0, at_least=nearly_all)


@pytest.mark.long
def test_levels_for_twenty_secrets_are_the_least_or_say_what_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(20))
    (clash,) = refused(p, dv.PML(0.3), at_least=0.5).conflicts
    assert not clash.short
    least = float(clash.remedies[0].epsilon)
    assert dv.design(p, dv.PML(least)).utility >= 0.5
    assert dv.design(p, dv.PML(least * (1 - 1e-5))).bound < 0.5
    monkeypatch.setattr("divulge.designing.infeasible._TRIES", 8)
    hurried = refused(p, dv.LDP(1), at_least=0.4)
    (clash,) = hurried.conflicts
    assert re.search(r"ldp=\S+ would do, ldp=\S+ would not", str(hurried))
    assert dv.design(p, clash.remedies[0]).utility >= 0.4
    assert dv.design(p, clash.short[0]).bound < 0.4


def test_what_no_design_decides_rules_no_guarantee_out() -> None:
    first, second = dv.PML(1), dv.LDP(1)

    def unknown(guarantees: tuple[dv.Guarantee, ...]) -> bool | None:
        return None if guarantees == (first,) else second not in guarantees

    (clash,) = conflicts((first, second), unknown)
    assert clash.guarantees == (second,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at_most": 0.1}, "`at_most` must be given as at_least; the utility is no distortion"),
        ({"at_least": 0.1, "utility": "error"}, "`at_least` must be given as at_most; the utility is a distortion"),
        ({"at_least": math.nan}, "`at_least` must be a finite number"),
        ({"utility": "lautum-information"}, "add a guarantee that forbids zeros"),
        ({"utility": [[0.0, 1], [-math.inf, -math.inf], [1, 0]]}, "every outcome is forbidden for 'b'"),
    ],
)
def test_other_contradictions_say_what_is_wrong(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=re.escape(words)):
        dv.design(PRIOR, dv.PML(0.5), **options)


def test_a_clash_in_bits_and_in_a_pickle() -> None:
    error = refused(["1/2", "1/2"], dv.LDP(0.5), utility="hamming", at_least=0.7)
    assert "ldp=0.721348" in str(error.in_unit("bits"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_is_forbidden_to_a_secret_that_never_occurs_stays_so() -> None:
    prior = dv.Prior(["1/2", "0", "1/2"])
    scores = np.array([[1, 0, 0.5], [-math.inf, 0, 0], [0, 1, 0.5]])
    found = dv.design(prior, dv.PML(1), utility=dv.Score(scores))
    place = {y: j for j, y in enumerate(found.outcomes)}
    assert 0 not in place or found.channel.matrix[1, place[0]] == 0
    strict = dv.design(prior, dv.LDP(1), utility=dv.Score(scores))
    assert 0 not in strict.outcomes
    assert dv.LDP(1).holds_for(strict.channel)


COUNTS = (11, 14, 26, 7, 9)
FOUR = ("alip=0.833:0.319", "pml=0.092", "pmc=1.492", "maximal-leakage=0.348")


def least_error(p: np.ndarray, guarantees: list[Any]) -> float:
    """Return the least P(Y != X): with an entry for each pair, and the largest of each column, by one program."""
    n = len(p)
    rows: list[np.ndarray] = []
    limits: list[float] = []

    def rule(row: np.ndarray, tops: np.ndarray | None = None, at_most: float = 0.0) -> None:
        rows.append(np.append(row.ravel(), np.zeros(n) if tops is None else tops))
        limits.append(at_most)

    for x, y in itertools.product(range(n), range(n)):
        own, mean = np.zeros((n, n)), np.zeros((n, n))
        own[x, y], mean[:, y] = 1.0, p
        rule(own, -np.eye(n)[y])
        for g in guarantees:
            low = g.lower if g.kind == "alip" else g.epsilon if g.kind == "pmc" else math.inf
            high = g.upper if g.kind == "alip" else g.epsilon if g.kind == "pml" else math.inf
            if low < math.inf:
                rule(math.exp(-low) * mean - own)
            if high < math.inf:
                rule(own - math.exp(high) * mean)
    for g in guarantees:
        if g.kind == "maximal-leakage":
            rule(np.zeros((n, n)), np.ones(n), math.exp(g.epsilon))
    cost = np.append(-np.diag(p).ravel(), np.zeros(n))
    sums = np.column_stack([np.kron(np.eye(n), np.ones((1, n))), np.zeros((n, n))])
    return 1 + linprog(cost, np.array(rows), limits, sums, np.ones(n), (0, 1)).fun


@pytest.mark.long
def test_remedies_do_beside_those_that_are_named_and_no_others() -> None:
    """Two numbers of a guarantee are each as low as can be, and no remedy waits for what is not named."""
    wanted = 0.061194
    p = np.array(COUNTS) / sum(COUNTS)
    found = refused(dv.Prior.from_counts(COUNTS), *FOUR, utility="error", at_most=wanted).conflicts
    assert len(found) > len(FOUR)
    for clash in found:
        assert least_error(p, list(clash.guarantees)) > wanted
        for g in clash.guarantees:
            assert least_error(p, [h for h in clash.guarantees if h is not g]) <= wanted + 1e-8
        assert clash.remedies
        for eased in clash.remedies:
            others = [g for g in clash.guarantees if g.kind != eased.kind]
            assert least_error(p, [eased, *others]) <= wanted + 1e-8
            asked = next(g for g in clash.guarantees if g.kind == eased.kind)
            for name in eased.bounded():
                if getattr(eased, name) > getattr(asked, name):
                    lower = replace(eased, **{name: float(getattr(eased, name)) * (1 - 1e-4)})
                    assert least_error(p, [lower, *others]) > wanted


@pytest.mark.long
@pytest.mark.parametrize(("size", "wanted"), [(3, 0.95), (4, 0.97), (8, 0.99)][: few(3, 1)])
def test_both_bounds_of_a_remedy_are_as_low_as_can_be_by_symmetry(size: int, wanted: float) -> None:
    """Of equal secrets the mean over all orders is no worse: h on the diagonal, lifts N h and N (1 - h) / (N - 1)."""
    (clash,) = refused([f"1/{size}"] * size, dv.ALIP(0.5, 0.3), utility="hamming", at_least=wanted).conflicts
    (eased,) = clash.remedies
    least = -math.log(size * (1 - wanted) / (size - 1)), math.log(size * wanted)
    for level, low in zip((eased.lower, eased.upper), least, strict=True):
        assert low <= level <= low * (1 + 1e-5)
    assert eased.lower > eased.upper
