"""Every row between variants of differential privacy: no counterexample, and attained where it says so."""

import math
from typing import Any

import numpy as np
import pytest
from support import random_channel

import divulge as dv
from divulge.guarantees.calculus import consequences
from divulge.guarantees.context import Context
from divulge.guarantees.dp_kinds import DIFFERENTIAL_PRIVACY as KINDS
from divulge.guarantees.theorem import Theorem
from divulge.guarantees.theorems import DIFFERENTIAL_PRIVACY as ROWS
from divulge.guarantees.theorems import THEOREMS

EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)

CHOSEN = {
    "delta": (0.0, 0.01, 0.05, 0.3),
    "outside": (0.0, 0.02),
    "alpha": (1.0, 1.5, 2.0, 7.0),
    "order": (1.5, 6.0),
    "omega": (2.0, 9.0),
    "xi": (0.0, 0.01, 0.2),
}
"""Values of the parameters that are chosen and not measured."""


def alone(row: Theorem, premise: dv.Guarantee, index: dict[str, Any], monkeypatch: Any, **context: Any) -> Any:
    """What one row gives by itself, rounded up."""
    monkeypatch.setattr("divulge.guarantees.calculus.THEOREMS", (row,))
    (found,) = consequences([premise], [(row.implies, index)], Context.of(**context))
    return found


def pick(kind: Any, rng: np.random.Generator) -> dict[str, float]:
    return {name: float(rng.choice(CHOSEN[name])) for name in kind.index}


def mechanisms(row: Theorem, rng: np.random.Generator) -> list[Any]:
    """Random channels, and the named mechanisms of the central model where both sides measure them."""
    channels: list[Any] = []
    for _ in range(8):
        n, m = int(rng.integers(2, 4)), int(rng.integers(2, 5))
        span, zeros = float(rng.choice([0.3, 1, 2])), float(rng.choice([0, 0, 0.2]))
        channels.append(random_channel(rng, n, m, zeros=zeros, span=span))
    one_sided = {dv.LDP, dv.MIDP, dv.MutualInformation}
    if one_sided.isdisjoint({*row.given, row.implies}):
        channels += [dv.LaplaceMechanism(0.8), dv.GaussianMechanism(1.3), dv.RandomizedResponse(1.0, 3)]
        channels += [dv.DiscreteLaplaceMechanism(1.0, 2)]
    return channels


def measured(kind: Any, mechanism: Any, index: dict[str, Any]) -> dv.Guarantee:
    if kind is dv.MutualInformation:
        return kind.of(dv.Joint(dv.capacity(mechanism).prior, mechanism))
    return kind.of(mechanism, **index)


@EACH
def test_no_mechanism_violates_it(row: Theorem, monkeypatch: Any) -> None:
    rng = np.random.default_rng(5)
    for mechanism in mechanisms(row, rng):
        premise = measured(row.given[0], mechanism, pick(row.given[0], rng))
        index = pick(row.implies, rng)
        known = {"n": mechanism.shape[0]} if "n" in row.needs else {}
        implied = alone(row, premise, index, monkeypatch, **known)
        truth = measured(row.implies, mechanism, index)
        for name in row.implies.bounded():
            bound, value = float(implied.values()[name]), float(truth.values()[name])
            assert value <= bound + 1e-9 * (1 + value), (row.name, mechanism, premise, implied, truth)


def say_or_rr(delta: float, epsilon: float) -> dv.Channel:
    """Say the secret with probability delta, else binary randomized response."""
    rest, e = 1 - delta, math.exp(epsilon)
    high, low = rest * e / (1 + e), rest / (1 + e)
    return dv.Channel([[delta, 0.0, high, low], [0.0, delta, low, high]])


E, D = 0.9, 0.05
RR = dv.Channel(np.array([[math.exp(E), 1.0], [1.0, math.exp(E)]]) / (1 + math.exp(E)))
SAY = say_or_rr(D, E)
GAUSS = dv.GaussianMechanism(1.7)
ANY = dv.Channel([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.5, 0.1]])

ATTAINED: dict[str, tuple[Any, dict[str, float], dict[str, float]]] = {
    # row: (mechanism, chosen parameters of the premise, of the consequence)
    "pure DP bounds the mean loss": (RR, {}, {}),
    "pure DP bounds total variation": (RR, {}, {}),
    "pure DP has the Renyi curve of randomized response": (RR, {}, {"alpha": 3.5}),
    "pure DP bounds abs-chi": (RR, {}, {"alpha": 2.7}),
    "pure DP is approximate DP with less epsilon": (RR, {}, {"delta": 0.1}),
    "pure DP has no tail": (RR, {}, {"delta": 0.1}),
    "pure DP is zCDP": (RR, {}, {"xi": 0.0}),
    "pure DP is capped truncated CDP": (RR, {}, {}),
    "pure DP is Gaussian DP": (RR, {}, {}),
    "capped truncated CDP is pure DP": (ANY, {}, {}),
    "capped truncated CDP is zCDP": (RR, {}, {"xi": 0.0}),
    "infinite order is pure DP": (ANY, {"alpha": math.inf}, {}),
    "no delta is pure DP": (ANY, {"delta": 0.0}, {}),
    "no tail is pure DP": (ANY, {"delta": 0.0}, {}),
    "approximate DP at another delta": (SAY, {"delta": D}, {"delta": 0.2}),
    "approximate DP bounds total variation": (SAY, {"delta": D}, {}),
    "approximate DP is approximate zCDP": (SAY, {"delta": D}, {"delta": D, "xi": 0.0}),
    "a tail bound is approximate DP": (SAY, {"delta": D}, {"delta": 0.2}),
    "a tail bound holds at every larger delta": (RR, {"delta": 0.1}, {"delta": 0.3}),
    "relaxed DP is approximate DP": (SAY, {"delta": D / 2, "outside": D / 2}, {"delta": D}),
    "approximate DP is relaxed DP": (ANY, {"delta": 0.1}, {"delta": 0.1, "outside": 0.0}),
    "the mean loss bounds total variation": (RR, {}, {}),
    "the capacity bounds total variation": (RR, {}, {}),
    "the capacity bounds mutual information": (ANY, {}, {}),
    "order 2 is abs-chi of order 2": (ANY, {"alpha": 2.0}, {"alpha": 2.0}),
    "abs-chi of order 2 is order 2": (ANY, {"alpha": 2.0}, {"alpha": 2.0}),
    "abs-chi of a smaller order": (ANY, {"alpha": 1.5}, {"alpha": 1.5}),
    "abs-chi bounds total variation": (ANY, {"alpha": 1.0}, {}),
    "total variation is abs-chi of order 1": (ANY, {}, {"alpha": 1.0}),
    "Renyi of a smaller order": (ANY, {"alpha": 1.5}, {"alpha": 1.5}),
    "Renyi bounds the mean loss": (ANY, {"alpha": 1.0}, {}),
    "the mean loss is Renyi of order 1": (ANY, {}, {"alpha": 1.0}),
    "zCDP is a line above the Renyi curve": (GAUSS, {"xi": 0.0}, {"alpha": 4.0}),
    "zCDP bounds the mean loss": (GAUSS, {"xi": 0.0}, {}),
    "zCDP with another xi": (GAUSS, {"xi": 0.0}, {"xi": 0.1}),
    "zCDP is approximate zCDP": (GAUSS, {"xi": 0.0}, {"delta": 0.0, "xi": 0.0}),
    "zCDP is bounded CDP": (GAUSS, {"xi": 0.0}, {"order": 5.0, "xi": 0.0}),
    "bounded CDP is a line above the first orders": (GAUSS, {"order": 5.0, "xi": 0.0}, {"alpha": 4.0}),
    "zCDP is truncated CDP": (GAUSS, {"xi": 0.0}, {"omega": 5.0}),
    "truncated CDP is a line above the first orders": (GAUSS, {"omega": 5.0}, {"alpha": 4.0}),
    "truncated CDP bounds the mean loss": (GAUSS, {"omega": 5.0}, {}),
    "mean-concentrated is zCDP": (GAUSS, {}, {"xi": 0.0}),
    "mean-concentrated bounds the mean loss": (GAUSS, {}, {}),
    "Gaussian DP is zCDP": (GAUSS, {}, {"xi": 0.0}),
    "Gaussian DP bounds total variation": (GAUSS, {}, {}),
    "Gaussian DP is approximate DP": (GAUSS, {}, {"delta": 1e-6}),
}  # fmt: skip


def both(row: Theorem, case: Any, monkeypatch: Any) -> list[tuple[float, float]]:
    mechanism, given, index = case
    implied = alone(row, measured(row.given[0], mechanism, given), index, monkeypatch)
    truth = measured(row.implies, mechanism, index)
    return [(float(implied.values()[name]), float(truth.values()[name])) for name in row.implies.bounded()]


@pytest.mark.parametrize("row", [r for r in ROWS if r.tight == "attained" and r.name in ATTAINED], ids=lambda r: r.name)
def test_a_tight_row_is_attained(row: Theorem, monkeypatch: Any) -> None:
    for bound, value in both(row, ATTAINED[row.name], monkeypatch):
        assert bound == pytest.approx(value, rel=1e-9, abs=1e-11)


def test_a_small_distance_is_attained(monkeypatch: Any) -> None:
    (row,) = (r for r in ROWS if r.name == "a small distance is approximate DP with epsilon 0")
    distance = dv.TV.of(ANY).distance
    assert alone(row, dv.TV(distance), {"delta": distance * (1 + 1e-14)}, monkeypatch).epsilon == 0
    assert dv.ADP.of(ANY, delta=distance).epsilon <= 1e-12
    assert dv.ADP.of(ANY, delta=distance * 0.999).epsilon > 0


def test_a_flat_renyi_curve_is_attained(monkeypatch: Any) -> None:
    (row,) = (r for r in ROWS if r.name == "zCDP with rho 0 is pure DP")
    epsilon = dv.LDP.of(ANY).epsilon
    premise = dv.ZCDP(0, epsilon)
    assert premise.holds_for(ANY)
    assert alone(row, premise, {}, monkeypatch) == dv.LDP(epsilon)


def just_beyond(epsilon: float, delta: float, spent: float) -> dv.Channel:
    """An outcome of probability just over delta whose loss is just beyond epsilon - log(1 - spent/delta)."""
    m = delta * (1 + 1e-6)
    q = m * math.exp(-(epsilon - math.log1p(-spent / m)))
    return dv.Channel([[m, 1 - m], [q, 1 - q]])


def shifted(epsilon: float, n: int) -> dv.Channel:
    """All cyclic shifts of a column with entries in ratio e^epsilon, a share (D - 1)/(e^epsilon - 1) of them high."""
    high = round(n * (epsilon / -math.expm1(-epsilon) - 1) / math.expm1(epsilon))
    column = np.where(np.arange(n) < high, math.exp(epsilon), 1.0)
    rows = np.stack([np.roll(column, k) for k in range(n)])
    return dv.Channel(rows / rows.sum(axis=1, keepdims=True))


def rr(epsilon: float) -> dv.Channel:
    return dv.Channel(np.array([[math.exp(epsilon), 1.0], [1.0, math.exp(epsilon)]]) / (1 + math.exp(epsilon)))


LIMITS = {
    "pure DP is mean-concentrated": (rr(1e-2), {}, {}),
    "pure DP bounds the capacity": (shifted(2.0, 150), {}, {}),
    "approximate DP bounds the tail": (just_beyond(0.5, 0.02, 0.01), {"delta": 0.01}, {"delta": 0.02}),
}


@pytest.mark.parametrize("row", [r for r in ROWS if r.tight == "limit"], ids=lambda r: r.name)
def test_a_limit_is_approached(row: Theorem, monkeypatch: Any) -> None:
    for bound, value in both(row, LIMITS[row.name], monkeypatch):
        assert value <= bound * (1 + 1e-9)
        assert bound - value <= 2e-3 * bound


def test_every_row_is_documented_once_and_every_tight_row_has_its_case() -> None:
    names = [row.name for row in THEOREMS]
    assert len(set(names)) == len(names)
    assert all(row.formula and row.source and row.remark for row in ROWS)
    tight = {row.name for row in ROWS if row.tight == "attained"}
    assert tight == {*ATTAINED, "zCDP with rho 0 is pure DP", "a small distance is approximate DP with epsilon 0"}
    assert {kind for row in ROWS for kind in (*row.given, row.implies)} >= set(KINDS)


def test_the_number_of_secrets_is_needed(monkeypatch: Any) -> None:
    """Ten secrets told apart a little: the bound for two is broken."""
    (row,) = (r for r in ROWS if r.needs == ("n",))
    many = shifted(2.5, 12)
    wrong = alone(row, dv.KL.of(many), {}, monkeypatch, n=1)
    assert not wrong.holds_for(many).holds


@pytest.mark.parametrize(
    "text", ["adp=1:1e-06", "zcdp=0.5", "zcdp=0.1:0.5", "rdp=8:1", "tcdp=0.1:50", "gdp=1", "tv=0.25"]
)
def test_guarantees_are_written_as_on_the_command_line(text: str) -> None:
    assert str(dv.parse(text)) == text


def test_zcdp_conversion_beats_both_closed_forms() -> None:
    delta = 1e-6
    for rho in (0.001, 0.1, 2.0):
        optimized = dv.ZCDP(rho).implies(dv.ADP, delta=delta).epsilon
        assert optimized < rho + 2 * math.sqrt(rho * math.log(1 / delta))
        for omega in (1.5, 10.0, 1e4):
            small = math.log(1 / delta) <= (omega - 1) ** 2 * rho
            closed = (
                rho + 2 * math.sqrt(rho * math.log(1 / delta))
                if small
                else rho * omega + math.log(1 / delta) / (omega - 1)
            )
            assert dv.TruncatedCDP(rho, omega).implies(dv.ADP, delta=delta).epsilon <= closed * (1 + 1e-9)


def test_local_and_central_worlds_meet() -> None:
    """A local guarantee becomes a Renyi curve, and an approximate one without delta becomes a leakage bound."""
    assert dv.PML("1/4").implies(dv.RDP, p_min="1/2", alpha=2).epsilon > 0
    assert dv.ADP(1, 0).implies(dv.PML, p_min="1/10").epsilon < 1
    assert dv.ADP(1, "1/1000").implies(dv.LDP).epsilon == math.inf
