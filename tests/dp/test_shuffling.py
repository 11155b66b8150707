"""Shuffled reports: all histograms of few people, one sum over scipy's binomials for many, and what must be refused."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import divulge as dv
from divulge.dp.shuffling import law
from divulge.dp.shuffling.hiding import Hiding
from divulge.dp.shuffling.law import ShuffledLaw

WRONG: Any = 2.5

Counts = dict[tuple[int, ...], float]


def histogram(rows: np.ndarray) -> Counts:
    """The probability of every histogram of one report from each row."""
    found: Counts = {(0,) * rows.shape[1]: 1.0}
    for row in rows:
        after: Counts = {}
        for counts, chance in found.items():
            for y, share in enumerate(row.tolist()):
                moved = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                after[moved] = after.get(moved, 0.0) + chance * share
        found = after
    return found


def delta(first: Counts, second: Counts, e: float) -> float:
    return math.fsum(max(0.0, first[k] - math.exp(e) * second[k]) for k in first)


def response(epsilon: float, k: int) -> np.ndarray:
    rows = np.ones((k, k)) + np.eye(k) * math.expm1(epsilon)
    return rows / rows.sum(axis=1, keepdims=True)


def random_rows(rng: np.random.Generator) -> np.ndarray:
    rows = (
        rng.dirichlet(np.full(int(rng.integers(2, 4)), rng.choice([0.5, 2.0, 20.0])), int(rng.integers(2, 4))) + 0.003
    )
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(12))
def test_no_pair_of_neighbors_is_above_and_no_attack_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, n = random_rows(rng), int(rng.integers(1, 6))
    (loss,) = dv.dp.Shuffled(rows, n).losses()
    (wide,) = dv.dp.Shuffled(dv.dp.epsilon_from_delta(rows, 0.0).value, n).losses()
    levels, attacked = np.linspace(0.0, loss.highest, 6)[:-1].tolist(), np.zeros(5)
    for others in itertools.combinations_with_replacement(range(len(rows)), n - 1):
        for i, j in itertools.permutations(range(len(rows)), 2):
            laws = [histogram(rows[[x, *others]]) for x in (i, j)]
            truth = [delta(laws[0], laws[1], e) for e in levels]
            assert all(t <= loss.delta(e) * (1 + 1e-12) + 1e-15 for t, e in zip(truth, levels, strict=True))
            attacked = np.maximum(attacked, truth)
    attack = loss.attained
    assert attack is not None
    assert all(attack.delta(e) <= t * (1 + 1e-9) + 1e-15 for e, t in zip(levels, attacked.tolist(), strict=True))
    assert all(loss.delta(e) <= wide.delta(e) * (1 + 1e-6) for e in levels)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_randomized_response_hides_among_those_who_answer_at_random(k: int, n: int) -> None:
    """The bound is that of whoever knows who of the others answered at random, and no more."""
    epsilon = 1.3
    p = math.exp(epsilon)
    other = 1 / (p + k - 1)
    (loss,) = dv.dp.Shuffled(dv.dp.RandomizedResponse(epsilon, k), n).losses()
    first = np.array([p * other, other, (k - 2) * other, 0.0])
    blanket = np.array([other, other, (k - 2) * other, 1 - k * other])
    laws = [histogram(np.array([row, *[blanket] * (n - 1)])) for row in (first, first[[1, 0, 2, 3]])]
    for e in (0.0, 0.2, 0.7, 1.2):
        assert loss.delta(e) == pytest.approx(delta(laws[0], laws[1], e), rel=1e-6)
    (same,) = dv.dp.Shuffled(response(epsilon, k), n).losses()
    assert same.delta(0.2) == pytest.approx(loss.delta(0.2), rel=1e-9)


def test_reports_that_tell_nothing_are_not_counted_among_the_rest() -> None:
    """A mechanism that the variation-ratio reduction, as it was stated, puts below its own delta."""
    p, alpha, n, e = math.exp(2.0), 0.05, 5, 1.4
    w = 1 - alpha * (p + 1)
    rows = np.array(
        [[p * alpha, alpha, w, 0], [alpha, p * alpha, w, 0], *[[alpha, alpha, w / p, 1 - 2 * alpha - w / p]] * (n - 1)]
    )
    truth = delta(histogram(rows[[0, *range(2, n + 1)]]), histogram(rows[[1, *range(2, n + 1)]]), e)
    stated = histogram(np.column_stack([rows[:, :2], rows[:, 2:].sum(axis=1)])[[0, *range(2, n + 1)]])
    back = histogram(np.column_stack([rows[:, :2], rows[:, 2:].sum(axis=1)])[[1, *range(2, n + 1)]])
    (loss,) = dv.dp.Shuffled(2.0, n).losses()
    assert delta(stated, back, e) < truth / 2
    assert truth <= loss.delta(e)


def one_sum(epsilon: float, n: int, e: float, rate: float) -> float:
    """delta of clones, summed over how many there are."""
    p, grown = math.exp(epsilon), math.exp(e)
    many = np.arange(int(binom.ppf(1e-18, n - 1, rate)), int(binom.isf(1e-18, n - 1, rate)) + 1)
    least = np.ceil((many + 1) * (grown * p - 1) / ((p - 1) * (1 + grown)) - 1e-12)
    moved, stayed = binom.sf(least - 2, many, 0.5), binom.sf(least - 1, many, 0.5)
    gained = (p * moved + stayed) - grown * (moved + p * stayed)
    return float(binom.pmf(many, n - 1, rate) @ np.maximum(gained, 0.0)) / (p + 1)


@pytest.mark.parametrize(
    ("n", "epsilon"), [(300, 1.0), (10_000, 2.0), pytest.param(100_000, 4.0, marks=pytest.mark.long)]
)
def test_many_people_with_an_epsilon(n: int, epsilon: float) -> None:
    (loss,) = dv.dp.Shuffled(epsilon, n).losses()
    for spent in (1e-3, 1e-6, 1e-10):
        e = float(loss.epsilon(spent))
        truth = one_sum(epsilon, n, e, 2 / (math.exp(epsilon) + 1))
        assert truth <= spent * (1 + 1e-9)
        assert truth >= spent * (1 - 2e-4)


def test_a_hundred_thousand_people() -> None:
    """The bound of clones, .16977 at 1e-6 (between .1675 and .1725 by ml-shuffling-amplification), is passed."""
    assert one_sum(4.0, 100_000, 0.1697697, math.exp(-4)) == pytest.approx(1e-6, rel=1e-5)
    found = dv.compose(dv.dp.Shuffled(4.0, 100_000)).epsilon(1e-6)
    assert found.lower == 0.0
    assert 0.118153066 <= found.upper <= 0.118154


@pytest.mark.parametrize(("work", "most"), [(2000, 3.0), (200_000, 1.05)])
def test_less_work_is_on_the_safe_side(monkeypatch: pytest.MonkeyPatch, work: int, most: float) -> None:
    hiding = Hiding.of(dv.dp.RandomizedResponse(2.0, 6))
    exact = ShuffledLaw(hiding, 400).atoms
    monkeypatch.setattr(law, "_WORK", work)
    rough = ShuffledLaw(hiding, 400).atoms
    for e in (0.0, 0.1, 0.3, 0.6):
        tight, loose = (float(np.maximum(p - math.exp(e) * q, 0.0).sum()) for _, p, q in (exact, rough))
        assert tight * (1 - 1e-7) <= loose <= tight * most


def test_it_is_a_mechanism_like_all_others() -> None:
    shuffled = dv.dp.Shuffled(dv.dp.RandomizedResponse(4.0), 10_000)
    level = dv.dp.epsilon_from_delta(shuffled, 1e-6)
    assert 0.40 < level.value < 0.42
    assert dv.dp.delta_from_epsilon(shuffled, level.value).value <= 1e-6
    assert dv.ADP(0.42, 1e-6).holds_for(shuffled)
    assert not dv.ADP(0.15, 1e-6).holds_for(shuffled)
    once, often = (dv.compose((shuffled, count), tolerance=1e-3) for count in (1, 100))
    bracket = often.epsilon(1e-6)
    assert once.epsilon(1e-6).upper < bracket.lower <= bracket.upper < 20 * once.epsilon(1e-6).upper
    assert dv.dp.renyi_dp(shuffled, 2.0).value < 2e-2
    assert once.pure_epsilon == pytest.approx(4.0)
    assert once.group(3).pure_epsilon == pytest.approx(12.0)  # by the local epsilon
    assert dv.dp.Shuffled(dv.dp.LaplaceMechanism(0.5), 50).losses()[0].highest == 2.0
    (still,) = dv.dp.Shuffled(np.full((2, 3), 1 / 3), 10).losses()
    assert still.delta(0.0) == 0.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dv.dp.Shuffled(4.0, 0), "`n` must be a whole number"),
        (lambda: dv.dp.Shuffled(4.0, WRONG), "`n` must be a whole number"),
        (lambda: dv.dp.Shuffled(4.0, True), "`n` must be a whole number"),
        (lambda: dv.dp.Shuffled(0.0, 10), "`local` must have an epsilon"),
        (lambda: dv.dp.Shuffled(math.nan, 10), "`local` must have an epsilon"),
        (lambda: dv.dp.Shuffled(dv.dp.GaussianMechanism(1.0), 10), "`local` must have an epsilon"),
        (lambda: dv.dp.Shuffled([[1.0, 0.0], [0.5, 0.5]], 10), "`local` must have an epsilon"),
        (lambda: dv.dp.PoissonSampled(dv.dp.Shuffled(1.0, 10), 0.1), "shuffled reports"),
        (lambda: dv.dp.FixedSizeSampled(dv.dp.Shuffled(1.0, 10), 5, 100), "shuffle the 5 reports"),
        (
            lambda: dv.compose(dv.dp.Shuffled(1.0, 10), dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.1)),
            "sampled in one way",
        ),
    ],
)
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words):
        make()
