"""The worst of a list, and the worst prior for a gain, against enumeration and closed forms."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support import RUNNING_CHANNEL, RUNNING_PRIOR, THOROUGH, few, random_channel, random_joint, random_prior

import divulge as dv


def test_worst_of_a_list_is_the_largest_factor() -> None:
    joint = random_joint(np.random.default_rng(6), 5, 4)
    listed = [dv.Gain.tries(5, k) for k in (1, 2, 3)] + [dv.Gain.distance(5), dv.Cost.guesswork(5), dv.Cost.power(5, 2)]
    for case in ("average", "max"):
        factors = [dv.leakage(joint, one, case) for one in listed]
        attack = dv.adversaries.worst_adversary(joint, listed, case)
        assert attack.leakage == max(factors)
        assert attack.adversary is listed[factors.index(max(factors))]
    named = dv.adversaries.worst_adversary(dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL), {"burglar": dv.Gain.identity(3)})
    assert "'burglar'" in named.words
    with pytest.raises(dv.DivulgeError):
        dv.adversaries.worst_adversary(joint, [])


def average_by_strategies(c: np.ndarray, g: np.ndarray) -> float:
    """Return the supremum over priors by one program for each way of acting on the outcomes."""
    best = 0.0
    for actions in itertools.product(range(len(g)), repeat=c.shape[1]):
        objective = sum(c[:, y] * g[w] for y, w in enumerate(actions))
        best = max(best, -linprog(-objective, A_ub=g, b_ub=np.ones(len(g)), method="highs-ipm").fun)
    return best


@pytest.mark.parametrize("seed", range(few(6)))
def test_worst_prior_on_average_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = random_channel(rng, 3, 3, span=1.5, zeros=0.2)
    g = rng.random((3, 3)) + 0.05
    worst = dv.adversaries.worst_prior(c, dv.Gain(g), tolerance=1e-9)
    truth = average_by_strategies(np.array(c.floats), g)
    assert worst.leakage <= truth * (1 + 1e-9) <= worst.upper * (1 + 2e-9)
    assert worst.leakage == pytest.approx(truth, rel=1e-8)
    assert worst.attack.leakage == worst.leakage


@pytest.mark.thin
@pytest.mark.parametrize("case", ["average", "max"])
@pytest.mark.parametrize("seed", range(4))
def test_no_prior_beats_the_upper_bound(case: str, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    c = random_channel(rng, 4, 3, span=1.5, zeros=0.2 * (seed % 2))
    gain = dv.Gain(rng.random((3, 4)) * (rng.random((3, 4)) > 0.3) + 1e-3)
    worst = dv.adversaries.worst_prior(c, gain, case)
    assert worst.leakage <= worst.upper
    assert worst.leakage == dv.leakage(dv.Joint(worst.prior, c), gain, case)
    for _ in range(few(400)):
        prior = random_prior(rng, 4) if rng.random() < 0.5 else dv.Prior(rng.dirichlet(np.full(4, 0.3)))
        assert dv.leakage(dv.Joint(prior, c), gain, case) <= worst.upper * (1 + 1e-12)


@pytest.mark.thin
@pytest.mark.parametrize(
    ("channel", "gains", "supremum"),
    [
        ([[0, 0.25, 0.75], [1, 0, 0]], [[0, 0], [0.01, 0]], math.inf),  # (d, 1 - d): d before, 1 after
        ([[0.6, 0.4, 0], [0.6, 0.3, 0.1]], [[0, 2], [0, 0.02]], math.inf),
        ([[0.4, 0.6, 0], [0.3, 0, 0.7], [1, 0, 0]], [[1, 0, 0]], math.inf),
        ([[0, 1], [0.5, 0.5]], [[1, 0], [0, 3]], 3),  # outcome 0 is of secret 1 alone, which ever fewer have
        ([[0, 1], [1e-12, 1 - 1e-12]], [[1, 0], [0, 3]], 3),
        ([[1e-9, 1 - 1e-9], [0.5, 0.5]], [[1e-6, 0], [0, 3e-6]], 3),
        ([[1e-15, 1 - 1e-15], [0.5, 0.5]], [[0, 0], [0, 1]], 5e14),
    ],
)
def test_outcomes_that_hardly_ever_occur(channel: Any, gains: Any, supremum: float) -> None:
    """Under priors that make an outcome rare as can be; two secrets by a search over log-odds, the others by limits."""
    worst = dv.adversaries.worst_prior(channel, gains, "max", tolerance=5e-3)
    assert worst.upper >= supremum * (1 - 1e-9)
    assert worst.leakage >= min(supremum * 0.99, 1e6)
    assert worst.leakage == dv.leakage((worst.prior, channel), dv.Gain(gains), "max")
    for odds in 10.0 ** np.arange(-14, 15, 1 if THOROUGH else 4) if len(channel) == 2 else ():
        prior = [1 / (1 + odds), odds / (1 + odds)]
        assert dv.leakage((prior, channel), dv.Gain(gains), "max") <= worst.upper * (1 + 1e-12)


@pytest.mark.thin
@pytest.mark.parametrize("scale", [1e-9, 1e-200, 1e200])
@pytest.mark.parametrize("case", ["average", "max"])
def test_the_unit_of_gains_does_not_matter(case: Any, scale: float) -> None:
    rng = np.random.default_rng(4)
    n = 3 if THOROUGH or case == "average" else 2  # secrets
    c, g = random_channel(rng, n, 3, span=1.5), rng.random((3, n)) + 0.1
    near = 1e-3 if THOROUGH else 0.1  # how far the search goes, which is the same in every unit
    one, other = (dv.adversaries.worst_prior(c, g * unit, case, tolerance=near) for unit in (1.0, scale))
    assert other.upper == pytest.approx(one.upper, rel=2e-3)
    assert other.leakage == pytest.approx(one.leakage, rel=2e-3)


def test_worst_max_case_prior_of_one_guess_in_closed_form() -> None:
    rng = np.random.default_rng(20)
    for n, m in [(2, 2), (3, 3), (4, 3)] if THOROUGH else [(2, 2), (3, 2)]:
        c = random_channel(rng, n, m, span=1.0)
        truth = 0.0
        for y, x in itertools.product(range(m), range(n)):
            column = c.floats[:, y]
            others = np.sort(np.delete(column, x))
            truth = max(truth, *(k * column[x] / (column[x] + others[: k - 1].sum()) for k in range(1, n + 1)))
        worst = dv.adversaries.worst_prior(c, dv.Gain.identity(n), "max", tolerance=1e-4, steps=4000)
        assert worst.leakage <= truth * (1 + 1e-12) <= worst.upper * (1 + 1e-9)
        assert worst.leakage == pytest.approx(truth, rel=2e-4)


def test_worst_priors_that_are_known() -> None:
    rng = np.random.default_rng(5)
    c = random_channel(rng, 4, 5)
    identity = dv.adversaries.worst_prior(c, dv.Gain.identity(4))
    assert identity.leakage == pytest.approx(dv.bayes_capacity(c), rel=1e-12)
    assert dv.adversaries.worst_prior(c, dv.Gain([[0.0] * 4])).leakage == 1
    assert dv.adversaries.worst_prior(c, dv.Gain([[0.0] * 4]), "max").leakage == 1
    assert dv.adversaries.worst_prior([[1.0], [1.0]], dv.Gain.identity(2), "max").upper == pytest.approx(1, rel=1e-8)
    blind = dv.adversaries.worst_prior([[1.0, 0.0], [0.5, 0.5]], dv.Gain([[1.0, 0.0]]), "max")
    assert blind.upper <= dv.lift_capacity([[1.0, 0.0], [0.5, 0.5]]) == math.inf
    with pytest.raises(dv.DivulgeError):
        dv.adversaries.worst_prior(c, dv.Gain.identity(4), "worst")


@pytest.mark.parametrize(
    "options", [{"steps": 0}, {"steps": 1.5}, {"steps": math.nan}, {"tolerance": -1}, {"tolerance": math.nan}]
)
def test_a_search_without_an_end_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError, match=next(iter(options))):
        dv.adversaries.worst_prior([[0.75, 0.25], [0.25, 0.75]], dv.Gain.identity(2), **options)


def every_support(n: int) -> np.ndarray:
    """The uniform prior on every set of secrets."""
    sets = np.array([[(mask >> i) & 1 for i in range(n)] for mask in range(1, 2**n)], dtype=float)
    return sets / sets.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(few(8, least=2)))
def test_the_worst_prior_of_the_max_case_is_bracketed_closely(seed: int) -> None:
    """Gains of many shapes, some that pay nothing for a secret, against random priors and those of every support."""
    rng = np.random.default_rng(seed)
    n, m, w = rng.integers(2, 5, 3)
    c = rng.dirichlet(np.ones(m), n)
    g = np.eye(n) if seed % 3 == 0 else rng.random((w, n)) * (rng.random((w, n)) < 0.7) + np.eye(w, n) * 0.1
    found = dv.adversaries.worst_prior(c, dv.Gain(g), case="max")
    assert found.upper <= float(found.leakage) * 1.003
    priors = np.concatenate([every_support(n), *(rng.dirichlet(np.ones(n) * a, 2000) for a in (0.05, 0.4, 1.0))])
    before = (priors @ g.T).max(axis=1)
    after = [((priors * c[:, y]) @ g.T).max(axis=1) / np.maximum(priors @ c[:, y], 1e-300) for y in range(m)]
    best = (np.max(after, axis=0)[before > 0] / before[before > 0]).max()
    assert best <= found.upper * (1 + 1e-9)


def test_a_time_limit_leaves_an_honest_bracket() -> None:
    rng = np.random.default_rng(1)
    c, g = rng.dirichlet(np.ones(12), 12), rng.random((12, 12))
    found = dv.adversaries.worst_prior(c, dv.Gain(g), steps=20_000, time_limit=0.2)
    assert float(found.leakage) <= found.upper <= float(dv.bayes_capacity(c)) * (1 + 1e-9)
