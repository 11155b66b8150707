"""What rounding to integers costs: next to nothing for up to fifty secrets, whatever the prior and the kind."""

import numpy as np
import pytest
from designing.problems import KINDS, NAMES, random_prior
from support import THOROUGH

import divulge as dv

SCORES = ("hamming", "error", "absolute-distance", "worst-hamming")
MOST = 1e-9


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_loses_a_billionth_at_most(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)) + 2)
    averaged = "capacity" in KINDS[kind](1.0, 1.0, 1.0)[1]
    for trial, n in enumerate(([2, 4, 7, 9] if averaged else [2, 5, 9, 25, 50])[: None if THOROUGH else 3]):
        p = random_prior(rng, n)
        guarantees, _ = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)
        for utility in (NAMES[trial % len(NAMES)], SCORES[trial % len(SCORES)]):
            found = dv.design(p, *guarantees, utility=utility, time_limit=0.5)
            assert found.rounding_loss is not None
            assert found.rounding_loss <= MOST, (p, guarantees, utility)


def test_rounding_loses_little_for_small_epsilon_and_rare_secrets() -> None:
    rng = np.random.default_rng(3)
    cases = (3, 1e-3), (20, 0.01), (50, 1e-3), (50, 0.1), (50, 1.0)
    for n, epsilon in cases if THOROUGH else cases[:2]:
        p = np.maximum(rng.dirichlet(np.full(n, 0.3)), 1e-6)
        for guarantee in (dv.PML(epsilon), dv.LDP(epsilon)):
            found = dv.design(p / p.sum(), guarantee, time_limit=0.5)
            assert found.rounding_loss is not None
            assert found.rounding_loss <= MOST, (n, guarantee)


@pytest.mark.parametrize("utility", ["mutual-information", "error"])
def test_the_loss_is_what_lacks_to_the_blend_and_shrinks_with_the_grid(utility: str) -> None:
    p = np.random.default_rng(4).dirichlet(np.ones(9))
    coarse, fine = (dv.design(p, dv.LIP(1), utility=utility, bits=bits) for bits in (24, 53))
    assert coarse.unrounded == pytest.approx(fine.unrounded, rel=1e-12)
    lost = abs(coarse.utility - fine.utility) / abs(fine.utility)
    assert coarse.rounding_loss == pytest.approx(lost, rel=1e-3)
    assert coarse.rounding_loss > MOST


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize(("ratio", "size", "epsilon"), [(0.5, 40, 0.3), (0.7, 40, 1.6), (0.3, 18, 0.8)])
def test_rare_secrets_lose_no_more_of_a_utility_that_is_steep_at_zero(ratio: float, size: int, epsilon: float) -> None:
    p = ratio ** np.arange(size)
    found = dv.design(p / p.sum(), dv.PML(epsilon), utility="hellinger", time_limit=1)
    assert found.rounding_loss is not None
    assert found.rounding_loss <= 1e-10
    assert dv.PML(epsilon).holds_for(found.joint)


@pytest.mark.parametrize("utility", ["hamming", "absolute-distance"])
def test_a_set_of_priors_loses_little_of_its_worst_case(utility: str) -> None:
    found = dv.design(dv.measures.L1Ball([0.5, 0.3, 0.2], "1/10"), dv.PML(0.5), utility=utility)
    coarse = dv.design(dv.measures.L1Ball([0.5, 0.3, 0.2], "1/10"), dv.PML(0.5), utility=utility, bits=24)
    assert found.rounding_loss is not None
    assert coarse.rounding_loss is not None
    assert found.rounding_loss <= MOST
    assert coarse.unrounded == pytest.approx(found.unrounded, rel=1e-12)
    assert coarse.rounding_loss == pytest.approx(abs(coarse.utility - found.utility) / abs(found.bound), abs=1e-10)
    assert coarse.rounding_loss > found.rounding_loss


@pytest.mark.parametrize("method", ["enumeration", "column-generation"])
def test_a_function_of_the_secret_stays_one(method: str) -> None:
    found = dv.design([0.5, 0.3, 0.2], dv.PML(3), method=method)
    assert sorted(set(found.integers.ravel().tolist())) == [0, 2**53]
