"""Protocols side by side: each keeps the guarantee by its matrix, and none with the same sets could go further."""

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from protocols.subjects import random_prior
from support import few

import divulge as dv

P = dv.protocols
GUARANTEES = ("ldp=1", "pml=1", "pml=0.2", "pmc=0.7", "lip=0.5", "alip=0.4:1.2", "pml=2.5")


@pytest.mark.parametrize("seed", range(few(24, len(GUARANTEES))))
def test_every_option_is_the_largest_that_keeps_the_guarantee(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior, text = random_prior(rng, int(rng.integers(2, 7))), GUARANTEES[seed % len(GUARANTEES)]
    if prior.support.sum() < 2:
        prior = dv.Prior.uniform(3)
    shares = [F(p) for p in prior.probabilities.tolist()]
    prior = dv.Prior([share / sum(shares) for share in shares])
    promised = dv.guarantees.parse(text)
    for option in P.choose(prior, text):
        protocol = option.protocol

        def holds(protocol: P.Protocol) -> bool:
            channel = protocol.channel()
            return promised.holds_for(dv.Joint(prior, channel) if promised.about == "joint" else channel).holds

        assert holds(protocol)
        assert promised.holds_for((prior, protocol)).holds
        assert protocol.ldp == 40 or not holds(replace(protocol, ratio=protocol.ratio * F(1_000_001, 1_000_000)))
        joint = dv.Joint(prior, protocol.channel())
        assert option.pml == pytest.approx(dv.pml(joint).max(), rel=1e-12, abs=1e-15)
        assert option.pmc == pytest.approx(dv.pmc(joint).max(), rel=1e-12, abs=1e-15)
        shares = rng.dirichlet(np.ones(protocol.size))
        errors = [protocol.variance(float(f)) for f in shares]
        assert option.error**2 == pytest.approx(float(np.mean(errors)), rel=1e-9)


@pytest.mark.parametrize("text", ["bayes-capacity=1.5", "maximal-leakage=0.4", "lift-capacity=3"])
def test_capacities_are_kept_by_sets_that_change_with_the_level(text: str) -> None:
    promised = dv.guarantees.parse(text)
    found = P.choose(6, text)
    for option in found:
        assert promised.holds_for(option.protocol.channel()).holds
        if option.protocol.name == "optimized-unary":
            assert not promised.holds_for(P.unary(6, option.protocol.ldp + 1e-6).channel()).holds


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 4.0])
def test_no_other_size_of_subsets_has_less_error(size: int, epsilon: float) -> None:
    found = next(one.protocol for one in P.choose(size, dv.LDP(epsilon)) if one.protocol.name == "subset-selection")
    errors = [P.subset_selection(size, epsilon, d).variance(F(1, size)) for d in range(1, size)]
    assert found.variance(F(1, size)) <= min(errors) * (1 + 1e-9)


@pytest.mark.parametrize("text", ["pml=1", "pmc=0.5", "lip=0.8"])
def test_without_a_prior_it_holds_under_every_prior(text: str) -> None:
    rng, promised = np.random.default_rng(0), dv.guarantees.parse(text)
    for option in P.choose(5, text):
        for _ in range(5):
            prior = dv.Prior(rng.dirichlet(np.full(5, 0.05)) * (1 - 5e-9) + 1e-9)
            assert promised.holds_for((prior, option.protocol)).holds
            found = option.protocol.mutual_information(prior)
            assert found.lower <= option.information.upper
    hadamard = P.choose(5, text)[5].protocol
    assert hadamard.ldp == pytest.approx(float(promised.epsilon))


def test_what_is_chosen_and_why() -> None:
    found = P.choose(10**6, "ldp=1", n=10**6)
    assert found.best.protocol.name == "projective"
    assert found.best.error == pytest.approx(math.sqrt(found.best.protocol.variance(F(1, 10**6)) / 10**6))
    assert found.best.bits < 22
    assert P.choose(10**6, "ldp=1", bits=20).best.protocol.name == "hadamard"
    assert P.choose(2, "ldp=1").best.protocol.name == "randomized-response"
    assert all(row.reason for row in found)
    assert "more than 20" in next(row.reason for row in P.choose(10**6, "ldp=1", bits=20) if row.bits > 20)
    assert not any(row is found.best for row in found if not row.compact)
    subsets = next(row.protocol for row in P.choose(100, "ldp=1") if not row.compact)
    assert subsets.variance(F(1, 100)) <= (1 + 1e-12) * min(
        P.subset_selection(100, 1.0, size=d).variance(F(1, 100)) for d in range(1, 100)
    )
    assert found.to_dict()[6]["chosen"]
    assert "counted, not measured" in repr(found)


def test_pml_alone_hides_little() -> None:
    """Of a uniform prior sets of mass e^-1 keep pml=1 at any ratio: only pmc says that little is hidden."""
    options = {row.protocol.name: row for row in P.choose(dv.Prior.uniform(100), "pml=1")}
    assert options["subset-selection"].pmc > 39
    assert options["subset-selection"].pml <= 1


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [((1, "ldp=1"), {}, "values"), ((5, "ldp=0"), {}, "guarantee"), ((5, "ldp=1"), {"n": 0}, "n"),
     ((5, "ldp=1"), {"bits": 0}, "bits"), ((5, "ldp=1"), {"bits": 1}, "bits"), ((5, "rdp=2:1"), {}, "guarantee"),
     ((5, "ldp=1"), {"n": True}, "n"), ((5, "ldp=1"), {"bits": math.nan}, "bits")],
)  # fmt: skip
def test_bad_input_has_one_message(arguments, options, named: str) -> None:
    with pytest.raises(dv.DivulgeError, match=f"`{named}` must"):
        P.choose(*arguments, **options)
