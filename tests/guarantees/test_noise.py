"""Promises about noise on numbers: decided by brackets, against finite channels and closed forms."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import divulge as dv
from divulge.guarantees import DP, Lift, LiftCapacity, MeanPML, MinEntropyLeakage, MutualInformation, TailPMC, TailPML


def laplace(scale: float = 2.0, secret: str = "values(0:0.25, 1:0.75)", **more: Any) -> dv.NoiseMechanism:
    return dv.NoiseMechanism("laplace", secret, scale=scale, **more)


LOW = math.log(0.25 + 0.75 * math.exp(-0.5))  # log f(y) / f(y | 0) far below
HIGH = math.log(0.75 + 0.25 * math.exp(-0.5))  # log f(y) / f(y | 1) far above
LEVELS: dict[Any, tuple[float, ...]] = {
    dv.PML: (-LOW,), dv.PMC: (HIGH + 0.5,), dv.LIP: (HIGH + 0.5,), dv.LDP: (0.5,), DP: (0.5,),
    Lift: (math.exp(-LOW),), LiftCapacity: (math.exp(0.5),),
}  # fmt: skip
"""Kind -> its levels of two values under Laplace noise of scale 2, by hand."""


@pytest.mark.parametrize("kind", list(LEVELS))
def test_levels_by_hand(kind: Any) -> None:
    m, (level,) = laplace(), LEVELS[kind]
    assert kind(level * (1 + 1e-9)).holds_for(m)
    broken = kind(level * (1 - 1e-9)).holds_for(m)
    assert not broken
    assert not broken.undecided
    best = kind.of(m)
    assert best.holds_for(m)
    (found,) = best.values().values()
    assert level * (1 - 1e-13) <= found <= level * (1 + 1e-12)


def test_alip_has_both_sides() -> None:
    m = laplace()
    (pml,), (pmc,) = LEVELS[dv.PML], LEVELS[dv.PMC]
    assert dv.ALIP(pmc + 1e-9, pml + 1e-9).holds_for(m)
    for lower, upper, tested in ((pmc - 1e-6, pml + 1, "lower"), (pmc + 1, pml - 1e-6, "upper")):
        verdict = dv.ALIP(lower, upper).holds_for(m)
        assert not verdict
        assert verdict.tested == tested


def test_the_local_epsilon_of_laplace_noise_is_a_fraction() -> None:
    m = dv.NoiseMechanism("laplace", "uniform(-1, 1)", scale=2.0, records=3)
    assert dv.LDP(Fraction(1, 3)).holds_for(m)
    assert not dv.LDP(Fraction(1, 3) - Fraction(1, 10**40)).holds_for(m)
    assert dv.LDP.of(m).epsilon == Fraction(1, 3)


def test_gaussian_noise_keeps_no_cost() -> None:
    m = dv.NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0)
    for promise in (dv.PMC(40), dv.LDP(40), dv.LIP(40), LiftCapacity(10**9)):
        verdict = promise.holds_for(m)
        assert not verdict
        assert not verdict.undecided
    assert dv.PMC.of(m).epsilon == math.inf
    assert dv.PML(math.log(1 / 0.3) + 1e-9).holds_for(m)


def test_a_bracket_with_the_promise_inside_is_undecided() -> None:
    m = laplace()
    found = m.pml_supremum
    m.__dict__["pml_supremum"] = replace(found, lower=found.value - 0.01, upper=found.value + 0.02)
    for epsilon, holds, undecided in (
        (0.021, True, False),
        (0.0, False, True),
        (-0.009, False, True),
        (-0.011, False, False),
    ):
        verdict = dv.PML(found.value + epsilon).holds_for(m)
        assert (verdict.holds, verdict.undecided) == (holds, undecided)
        assert ("is undecided" in repr(verdict)) == undecided
        assert verdict.to_dict().get("undecided", False) == undecided
    assert dv.PML.of(m).epsilon >= found.value + 0.02
    both = dv.ALIP(0.001, found.value).holds_for(m)  # the cost breaks it for sure
    assert not both.undecided


def test_bits() -> None:
    m = laplace()
    (level,) = LEVELS[dv.PML]
    assert dv.PML(level / math.log(2) + 1e-9).holds_for(m, "bits")
    assert not dv.PML(level / math.log(2) - 1e-9).holds_for(m, "bits")


def test_tails_and_means_against_the_mechanism() -> None:
    m = dv.NoiseMechanism("gaussian", "values(0:0.2, 1:0.5, 3:0.3)", scale=1.0)
    for kind, side in ((TailPML, "pml"), (TailPMC, "pmc")):
        tail = m.tail(0.7, side)
        assert kind(0.7, tail.upper + 1e-9).holds_for(m)
        assert not kind(0.7, tail.lower - 1e-9).holds_for(m)
        assert float(kind.of(m, epsilon=0.7).delta) >= tail.value
        bits = kind(0.7 / math.log(2), tail.upper + 1e-6).holds_for(m, "bits")
        assert bits
    for kind, found in ((MeanPML, m.mean_pml()), (MutualInformation, m.mutual_information())):
        assert kind(found.upper + 1e-9).holds_for(m)
        assert not kind(found.lower - 1e-9).holds_for(m)


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "logistic", "student-t"])
def test_no_channel_of_bins_leaks_more(noise: str) -> None:
    """Binning is a post-processing: what the noise keeps, each of its channels keeps."""
    m = dv.NoiseMechanism(noise, "values(0:0.2, 1:0.5, 3:0.3)", scale=0.7)
    joint = m.binned(np.linspace(-4, 7, 60))
    for kind in (dv.PML, dv.PMC, dv.LIP, dv.LDP, Lift, MutualInformation):
        (kept,), (seen,) = kind.of(m).values().values(), kind.of(joint).values().values()
        assert float(seen) <= float(kept) * (1 + 1e-9) + 1e-12


def test_measures_take_noise() -> None:
    m = laplace()
    (pml,), (pmc,) = LEVELS[dv.PML], LEVELS[dv.PMC]
    assert dv.pml(m).max() == pytest.approx(pml, rel=1e-12)
    assert dv.pmc(m, "bits").max() == pytest.approx(pmc / math.log(2), rel=1e-12)
    assert dv.lip(m) == max(dv.pml(m).max(), dv.pmc(m).max())
    assert dv.alip(m).lower == dv.pmc(m).max()
    assert dv.ldp(m, "bits") == pytest.approx(0.5 / math.log(2), rel=1e-15)
    variable = dv.pmc(m)
    assert variable.argmax() == m.pmc_supremum.at
    assert variable.tail(0.1) >= m.tail(0.1, "pmc").value
    assert variable.quantile(0.5) >= m.quantile(0.5, "pmc").value
    assert variable.at([0.3, 4.0]).tolist() == m.pmc([0.3, 4.0]).tolist()
    y = np.linspace(-60, 60, 60_001)
    assert variable.mean() == pytest.approx(np.trapezoid(m.density(y) * m.pmc(y), y), abs=1e-6)
    assert dv.pmc(dv.NoiseMechanism("laplace", "poisson(3)", scale=1.0)).mean() == math.inf


def test_what_noise_does_not_answer_is_said() -> None:
    m = laplace()
    with pytest.raises(dv.DivulgeError, match=r"one that noise on a number answers \(pml, .*binned"):
        MinEntropyLeakage(1).holds_for(m)
    verdict = dv.PML(0.3).holds_for(m)
    assert verdict.attack is None  # `adversary` says who
    again = pickle.loads(pickle.dumps(verdict))
    assert (again.holds, again.measured) == (verdict.holds, verdict.measured)
