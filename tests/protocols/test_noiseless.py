"""Buckets without noise: what pml alone allows, against all partitions of a few values."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from support import few, random_prior

import divulge as dv


def partitions(values: list[int]) -> Iterator[list[list[int]]]:
    """Yield all ways to divide values into sets."""
    if not values:
        yield []
        return
    first, rest = values[0], values[1:]
    for parts in partitions(rest):
        yield [[first], *parts]
        for i in range(len(parts)):
            yield [*parts[:i], [first, *parts[i]], *parts[i + 1 :]]


def information(masses: list[Fraction]) -> float:
    return -math.fsum(float(m) * math.log(m) for m in masses if m)


@pytest.mark.parametrize("seed", range(few(60)))
def test_it_keeps_its_level_and_lies_among_all_partitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, int(rng.integers(1, 8)), exact=True)
    beta = Fraction(int(rng.integers(1, 300)), 100)
    found = dv.protocols.noiseless_hashing(prior, dv.PML(beta))
    assert dv.PML(beta).holds_for((prior, found)).holds
    told = dv.mutual_information((prior, found))
    p = prior.probabilities.tolist()
    masses = ([sum(p[i] for i in part) for part in parts] for parts in partitions(list(range(len(p)))))
    best = max(information(some) for some in masses if min(some) >= math.exp(-beta))
    assert told <= best + 1e-12
    assert best <= dv.chord_bound(dv.PML(beta)) + 1e-12
    if best > 0:  # next fit fills half as many buckets as can be, and their masses differ by two times at most
        assert told > 0
        assert told >= best / 4


@pytest.mark.parametrize(("values", "buckets"), [(12, 4), (1000, 10), (3000, 20)])
def test_equal_values_reach_the_bound_of_every_mechanism(values: int, buckets: int) -> None:
    prior, guarantee = dv.Prior.uniform(values), dv.PML(Fraction(math.log(buckets)) + Fraction(1, 10**6))
    found = dv.protocols.noiseless_hashing(prior, guarantee)
    assert len(found.outcomes) == buckets
    assert dv.pml((prior, found)).max() == pytest.approx(math.log(buckets), abs=1e-12)
    assert dv.mutual_information((prior, found)) == pytest.approx(dv.chord_bound(guarantee), abs=2e-6)
    assert dv.pmc((prior, found)).max() == math.inf


def test_a_million_values() -> None:
    weights = 1 / np.arange(1.0, 1e6 + 1)
    prior = dv.Prior(weights / weights.sum())
    found = dv.protocols.noiseless_hashing(prior, "pml=2")
    masses = np.bincount(found.matrix.tocoo().col, weights=prior.probabilities[found.matrix.tocoo().row])
    assert masses.min() >= math.exp(-2)
    assert dv.pml((prior, found)).max() == pytest.approx(-math.log(masses.min()), abs=1e-9)
    assert dv.PML(2).holds_for((prior, found)).holds


@pytest.mark.parametrize("guarantee", ["ldp=1", "pmc=1", "alip=1:1", "lip=0.5"])
def test_what_asks_for_noise_is_refused(guarantee: str) -> None:
    with pytest.raises(dv.DivulgeError, match="bound pml alone"):
        dv.protocols.noiseless_hashing([0.5, 0.5], guarantee)
