"""A promise at every delta: its level against the definition, and what follows against worst cases."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from support import THOROUGH

import divulge as dv
from divulge import exact
from divulge import guarantees as g
from divulge.guarantees.formulas.curve import renyi_of_curve


def delta_at(p: list[float], q: list[float], epsilon: Any) -> Any:
    return mp.fsum(max(mp.mpf(a) - mp.exp(epsilon) * mp.mpf(b), mp.mpf(0)) for a, b in zip(p, q, strict=True))


@pytest.mark.thin
@pytest.mark.parametrize("xi", [0.0, 0.1, -0.2, 3.0])
def test_the_level_is_the_least_that_keeps_every_delta(xi: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(3 if THOROUGH else 1):
        rows = rng.dirichlet(np.ones(4), 2).tolist()
        rho = float(g.ADPCurve.of(rows, xi=xi).rho)
        pairs = [(rows[0], rows[1]), (rows[1], rows[0])]
        sharpest = mp.mpf(0)
        top = max(max(xi, 0), float(np.abs(np.log(np.divide(*rows))).max()))
        for epsilon in np.linspace(max(xi, 0), top, 900 if THOROUGH else 150).tolist():
            delta = max(delta_at(p, q, epsilon) for p, q in pairs)
            if delta > 0:
                sharpest = max(sharpest, (mp.mpf(epsilon) - xi) ** 2 / -mp.log(delta))
        assert sharpest <= rho * (1 + 1e-12)
        assert rho <= sharpest * (1 + 1e-2) + 1e-12  # the grid may miss the worst delta by a little


def test_named_mechanisms() -> None:
    assert g.ADPCurve.of(dv.dp.GaussianMechanism(2.0), xi="1/8").rho == pytest.approx(0.5, rel=1e-3)
    assert g.ADPCurve.of(dv.dp.RandomizedResponse(1.0), xi=1).rho == 0
    assert g.ADPCurve(0, 1).holds_for(dv.dp.RandomizedResponse(1.0))
    assert g.ADPCurve.of([[1.0, 0.0], [0.5, 0.5]], xi=0).rho == math.inf
    assert not g.ADPCurve("1/2").holds_for(dv.dp.GaussianMechanism(2.0))


def hard(xi: float, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (losses, P) of a pair, alike both ways, whose delta(e) is just below e^(-(e - xi)^2 / rho).

    Between points it is linear in e^e, so each point has the delta of the next.
    """
    from divulge.dp.loss.promised import dominating

    epsilons = np.linspace(xi + 1e-3, xi + 12 * math.sqrt(rho), 4000)
    fields = dominating(epsilons[:-1], np.exp(-((epsilons[1:] - xi) ** 2) / rho), 1.0)
    return fields["losses"], fields["p"]


@pytest.mark.thin
@pytest.mark.parametrize("xi", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 1.0])
def test_what_follows_bounds_the_pair_that_needs_the_whole_curve(xi: float, rho: float) -> None:
    losses, p = hard(xi, rho)
    given = g.ADPCurve(rho, xi)
    line = given.implies(g.ZCDP, xi=0)
    for alpha in (1.5, 2.0, 8.0, 40.0) if THOROUGH else (1.5, 8.0):
        renyi = math.log(float((p * np.exp((alpha - 1) * losses)).sum())) / (alpha - 1)
        assert renyi <= given.implies(g.RDP, alpha=alpha).epsilon
        assert renyi <= line.rho * alpha
    assert float(given.implies(g.ADP, delta=1e-5).epsilon) <= xi + math.sqrt(rho * math.log(1e5)) * (1 + 1e-12)


@pytest.mark.parametrize(("xi", "rho"), [(-0.5, 0.3), (0.0, 1e-4), (0.2, 2.0), (3.0, 40.0)])
@pytest.mark.parametrize("alpha", [1.001, 2.0, 30.0])
def test_the_ratio_is_cut_where_the_bound_is_least(xi: float, rho: float, alpha: float) -> None:
    """Against the integral over the curve at every place it may be cut at, of which doubles tell the best."""
    b, root = alpha - 1, math.sqrt(rho)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def bound(k: float) -> float:
        peak = xi + b * rho / 2
        low, high = max(k, peak - 10 * root), max(k, peak) + 10 * root  # the rest of the integral is e^-100 of it
        e = (low + high) / 2 + (high - low) / 2 * nodes
        logs = b * (e - k) - (e - xi) ** 2 / rho
        integral = mp.exp(logs.max()) * float(weights @ np.exp(logs - logs.max())) * (high - low) / 2
        return float(k + mp.log1p(b * math.exp(-((k - xi) ** 2) / rho) + alpha * b * integral) / b)

    cut = float(renyi_of_curve(exact.ball(xi), exact.ball(rho), exact.ball(alpha)))
    least = min(bound(max(xi, 0) + 10 ** (n / 2) * root) for n in range(-4, 4))
    assert cut == pytest.approx(least, rel=1e-9)


def test_the_way_there_and_back() -> None:
    there = g.ZCDP("1/10").implies(g.ADPCurve, xi="1/10")
    assert there == g.ADPCurve("2/5", "1/10")
    back = there.implies(g.ZCDP, xi=0)
    assert "Lemma 3.7" in str(back.derivation[-1])
    assert 0.1 <= float(back.rho) < 5
    assert g.ADPCurve(2).implies(g.ZCDP, xi=0).rho == math.inf  # the lemma is for xi and rho up to 1
    assert g.parse("adp-curve=0.1:0.4") == g.ADPCurve("0.4", "0.1")
    assert g.LDP(1).implies(g.ADPCurve, xi=1).rho == 0
