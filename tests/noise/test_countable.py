"""Discrete scipy secrets: values anywhere, countable ones cut, and what is beyond the cut carried along."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import divulge as dv

MASSES: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "dlaplace": (stats.dlaplace(0.8), lambda k: mp.tanh(mp.mpf(0.8) / 2) * mp.exp(-mp.mpf(0.8) * abs(k))),
    "skellam": (
        stats.skellam(3, 5),
        lambda k: mp.exp(-8) * (mp.mpf(3) / 5) ** (mp.mpf(k) / 2) * mp.besseli(abs(k), 2 * mp.sqrt(15)),
    ),
    "poisson": (stats.poisson(3), lambda k: mp.exp(-3) * mp.mpf(3) ** k / mp.factorial(k) if k >= 0 else mp.mpf(0)),
    "zipf": (stats.zipf(4), lambda k: mp.mpf(k) ** -4 / mp.zeta(4) if k >= 1 else mp.mpf(0)),
    "betanbinom": (
        stats.betanbinom(5, 2.5, 3),
        lambda k: mp.beta(7.5, 3 + k) / mp.beta(2.5, 3) * mp.binomial(4 + k, k) if k >= 0 else mp.mpf(0),
    ),
}
"""Name -> (secret, its probabilities)."""


@cache
def masses(name: str) -> dict[int, Any]:
    """Return what the values from -300 to 299 have, in 60 digits."""
    with mp.workdps(60):
        return {k: MASSES[name][1](k) for k in range(-300, 300)}


@pytest.mark.parametrize("name", MASSES)
@pytest.mark.parametrize("y", [100.0, 0.3, -60.0])
def test_far_values_of_a_countable_secret_count(name: str, y: float) -> None:
    secret = MASSES[name][0]
    m = dv.NoiseMechanism("laplace", secret, scale=1.0)
    with mp.workdps(60):
        near = range(round(y) - 1, round(y) + 2)
        weights = masses(name)
        low = min(k for k, w in weights.items() if w > 0)
        best = max(mp.exp(-abs(mp.mpf(y) - max(k, low))) for k in near)
        truth = mp.log(best / mp.fsum(w * mp.exp(-abs(mp.mpf(y) - k)) for k, w in weights.items()))
        assert abs(m.pml(y) - truth) <= m.error(y) < 1e-10


def test_discrete_secrets_lie_anywhere() -> None:
    """Three values half a step apart, and quarter steps, moved: the supremum is that of the values themselves."""
    for places, loc in (([0, 1.5, 3], 0.0), ([0, 0.25, 0.75], 0.5)):
        secret = stats.rv_discrete(values=(places, [0.1, 0.6, 0.3]))
        told = ", ".join(f"{v + loc}:{p}" for v, p in zip(places, (0.1, 0.6, 0.3), strict=True))
        m, same = (dv.NoiseMechanism("laplace", s, scale=1.0) for s in (secret(loc=loc), f"values({told})"))
        assert m.pml_supremum == same.pml_supremum
        assert m.secret.probabilities is not None
        assert m.secret.probabilities.tolist() == pytest.approx([0.1, 0.6, 0.3], rel=1e-15)
    assert dv.NoiseMechanism("laplace", secret, scale=1.0).secret.values is not None  # needs no parameters


def test_probabilities_below_the_smallest_double_count() -> None:
    """Beyond all data 2,000 coins leak log E e^X and 2,000 - log E e^X, though both ends are rarer than doubles."""
    m = dv.NoiseMechanism("laplace", stats.binom(2000, 0.5), scale=1.0)
    k = 2000 * math.log((1 + math.e) / 2)
    assert m.pmc_supremum.value == pytest.approx(k, rel=1e-12)
    assert m.pml_supremum.value == pytest.approx(2000 - k, rel=1e-12)
    rare = dv.NoiseMechanism("gaussian", stats.binom(20, 1e-30), scale=1.0)
    with mp.workdps(60):
        p = [mp.binomial(20, k) * mp.mpf(1e-30) ** k * (1 - mp.mpf(1e-30)) ** (20 - k) for k in range(21)]
        for y in (-40.0, 3.3, 60.0, 200.0):
            f = [mp.exp(-((y - mp.mpf(k)) ** 2) / 2) for k in range(21)]
            outcome = mp.fsum(a * b for a, b in zip(p, f, strict=True))
            assert abs(rare.pml(y) - mp.log(max(f) / outcome)) <= rare.error(y)
            assert abs(rare.pmc(y) - mp.log(outcome / min(f))) <= rare.error(y, "pmc")


class Lossy(stats.rv_discrete):
    """Probabilities that miss one in a hundred."""

    def _pmf(self, k: Any) -> Any:
        return np.where((k >= 0) & (k < 4), 0.2475, 0.0)

    def _cdf(self, k: Any) -> Any:
        return np.clip((np.floor(k) + 1) / 4, 0, 1)


def test_what_does_not_add_up_is_refused() -> None:
    with pytest.raises(dv.DivulgeError, match=r"add up to 1.*is 0\.99"):
        dv.NoiseMechanism("laplace", Lossy(a=0, b=3, name="lossy")(), scale=1.0)


def test_heavy_tails_state_what_they_leave_out() -> None:
    m = dv.NoiseMechanism("laplace", stats.betanbinom(5, 2.5, 3), scale=1.0)
    beyond = m.secret.beyond[1]
    assert m.secret.values is not None
    last = int(m.secret.values[-1])
    with mp.workdps(40):
        truth = MASSES["betanbinom"][1](last + 1) * (last + 1) / mp.mpf(2.5)  # k^-3.5 adds up to about this
    assert truth < beyond < 3 * truth
    assert m.tail(3.0).error > beyond
    assert m.cdf(math.inf) == pytest.approx(1.0, abs=2 * beyond)
    with pytest.raises(dv.DivulgeError, match="of its mass"):
        dv.NoiseMechanism("laplace", stats.zipf(1.2), scale=1.0)
    clipped = dv.NoiseMechanism("laplace", stats.zipf(1.2), scale=1.0, clip=(0, 1000))
    assert clipped.secret.probabilities is not None
    assert clipped.secret.probabilities[-1] == pytest.approx(stats.zipf(1.2).sf(999), rel=1e-10)
    with pytest.raises(dv.DivulgeError, match="well inside"):
        dv.NoiseMechanism("laplace", stats.zipf(4), scale=1.0, clip=(0, 1e9))


def test_an_outcome_nearer_to_what_was_left_out_is_refused() -> None:
    m = dv.NoiseMechanism("laplace", "poisson(3)", scale=1.0)
    with pytest.raises(dv.DivulgeError, match="near enough to the values that are kept"):
        m.pml([0.0, 400.0])
    assert m.pmc([0.0, 400.0]).tolist() == [math.inf, math.inf]


def test_evidence_leaves_an_open_secret_open() -> None:
    m = dv.NoiseMechanism("laplace", "poisson(3)", scale=1.0)
    later = m.given((5, math.inf))
    assert (later.secret.low, later.secret.high, later.pml_supremum.value) == (5.0, math.inf, math.inf)
    assert later.secret.beyond[1] > m.secret.beyond[1]  # of what is left it is a larger share
    assert m.given((2, 6)).secret.bounded
