"""The adversary behind a verdict attains what was measured, and breaks what does not hold."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import few, random_joint

import divulge as dv
from divulge.guarantees.catalog import INFORMATION_DENSITY
from divulge.guarantees.deciding.attacks import ATTACKS

BOUNDS_MEANS = {
    dv.guarantees.MeanPML,
    dv.guarantees.MeanPMC,
    dv.guarantees.MutualInformation,
    dv.guarantees.TailPML,
    dv.guarantees.TailPMC,
    dv.guarantees.MaximalCostLeakage,
}
APPROACHED = {dv.LDP, dv.DP, dv.guarantees.LiftCapacity}


def factor(kind: Any, value: Any) -> float:
    return float(value) if kind.bounded() == ("ratio",) else math.exp(value)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("kind", "parameter"), ATTACKS)
def test_the_adversary_attains_the_measured_value(kind: Any, parameter: str, exact: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(10, least=2)):
        joint = random_joint(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)), exact=exact)
        tightest = dict.fromkeys(kind.bounded(), 1000000000.0) | {parameter: 1 if parameter == "ratio" else 0}
        verdict = kind(**tightest).holds_for(joint)
        assert verdict.tested == parameter
        attack = verdict.attack
        assert attack is not None
        measured = factor(kind, verdict.levels[parameter])
        assert float(attack.leakage) == pytest.approx(measured, rel=1e-9)
        if not verdict.holds:
            allowed = measured * (1 - 1e-6) if kind.bounded() == ("ratio",) else math.log(measured * (1 - 1e-6))
            barely = kind(**{**tightest, parameter: max(allowed, tightest[parameter])}).holds_for(joint)
            assert barely.attack is not None
            assert float(barely.attack.leakage) > factor(kind, getattr(barely.guarantee, parameter))


def test_kinds_without_an_attack_are_means_and_tails() -> None:
    attacked = {kind for kind, _ in ATTACKS}
    assert attacked | BOUNDS_MEANS == set(INFORMATION_DENSITY)
    assert attacked.isdisjoint(BOUNDS_MEANS)
    joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    assert dv.guarantees.MeanPML(1).holds_for(joint).attack is None
    assert dv.guarantees.KL(1).holds_for(joint.channel).attack is None


def test_an_outcome_that_rules_a_secret_out_breaks_every_epsilon() -> None:
    attack = dv.LDP(20).holds_for([["1/2", "1/2"], ["0", "1"]]).attack
    assert attack is not None
    assert attack.leakage == Fraction(10**12)
