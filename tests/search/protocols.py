"""Frequency protocols against their matrices, by the definitions of the measures in 60 digits."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
from protocols.subjects import P, random_prior, random_protocol

import divulge as dv
from search.registry import at_least, at_most, case, mpf, same
from search.subjects import pick


@case("randomized_response", "subset_selection", "unary", "local_hashing", "hadamard", "projective", "Protocol")
def protocols(rng: np.random.Generator) -> None:
    """Levels, variance, capacity, loss: sums over the matrix."""
    size = int(rng.integers(2, 7))
    protocol = random_protocol(rng, size)
    rows = protocol.channel().matrix
    _, weights, members = protocol.sets.listed()
    assert {rows[x][y] / w for y, w in enumerate(weights) for x in range(size)} <= {protocol.a, protocol.b}
    assert protocol.ratio == protocol.a / protocol.b
    assert protocol.size == size
    assert protocol.written
    assert protocol.q == sum(w for w, row in zip(weights, members, strict=True) if row[0])
    supports = [[sum(rows[x][members[:, v]], Fraction(0)) for v in range(size)] for x in range(size)]
    assert supports[0][0] == protocol.p_star
    assert supports[0][1] == protocol.q_star
    f, p, q = Fraction(1, 3), protocol.p_star, protocol.q_star
    mean = f * p + (1 - f) * q
    spread = f * (p - p * p) + (1 - f) * (q - q * q)
    assert mean > 0
    same("variance", protocol.variance(f), spread / (p - q) ** 2)
    same("bayes_capacity", protocol.bayes_capacity(), sum(max(rows[:, y]) for y in range(rows.shape[1])))
    most = max(rows[x][y] / rows[z][y] for y in range(rows.shape[1]) for x in range(size) for z in range(size))
    at_least("ldp", protocol.ldp, mp.log(mpf(most)))
    same("ldp", protocol.ldp, mp.log(mpf(most)), 1e-15)
    loss, _ = protocol.losses()
    delta = sum(max(mpf(x) - mp.exp(mp.mpf("0.2")) * mpf(z), mp.mpf(0)) for x, z in zip(rows[0], rows[1], strict=True))
    same("losses", loss.delta(0.2), delta, 1e-11, 1e-14)
    report_bits = {"hadamard": math.log2(rows.shape[1]), "projective": math.log2(rows.shape[1]),
                   "randomized-response": math.log2(size)}  # fmt: skip
    same("bits", protocol.bits, report_bits.get(protocol.name, protocol.bits), 1e-9)


@case("ProtocolLeakage", "Enclosed", "Protocol")
def leakages_of_protocols(rng: np.random.Generator) -> None:
    """What a report leaks under a prior: extremes and sums over the joint."""
    size = int(rng.integers(2, 7))
    prior, protocol = random_prior(rng, size), random_protocol(rng, size)
    rows = protocol.channel().matrix
    share = [Fraction(p) for p in prior.probabilities.tolist()]
    share = [p / sum(share) for p in share]
    outer = [sum(p * c for p, c in zip(share, rows[:, y], strict=True)) for y in range(rows.shape[1])]
    lifts = [rows[x][y] / outer[y] for x in range(size) for y in range(rows.shape[1]) if share[x]]
    pml, pmc = protocol.pml(prior), protocol.pmc(prior)
    assert pml.ratio == max(lifts)
    assert pmc.ratio == 1 / min(lifts)
    same("pml", pml.max(), mp.log(mpf(max(lifts))), 1e-15)
    same("pmc", pmc.max(), -mp.log(mpf(min(lifts))), 1e-15)
    assert protocol.under(prior).lift == pml.ratio
    terms = [
        mpf(share[x] * rows[x][y]) * mp.log(mpf(rows[x][y] / outer[y]))
        for x in range(size) for y in range(rows.shape[1]) if share[x]
    ]  # fmt: skip
    found, want = protocol.mutual_information(prior), mp.fsum(terms)
    at_most("lower", found.lower, want + mp.mpf("1e-17"))
    at_least("upper", found.upper, want - mp.mpf("1e-17"))
    most = mpf(protocol.q) * mp.log(mpf(protocol.a)) * mpf(protocol.a)
    most += mpf(1 - protocol.q) * mpf(protocol.b) * mp.log(mpf(protocol.b)) if protocol.b else 0
    assert found.exact or want < most / 16  # a nearly certain prior: the difference of two numbers near `most`
    at_most("width", found.upper - found.lower, most * mp.mpf("1e-13"))  # so it is as near to the truth
    guesses = sum(max(p * c for p, c in zip(share, rows[:, y], strict=True)) for y in range(rows.shape[1]))
    same("bayes_vulnerability", protocol.bayes_vulnerability(prior), guesses)


@case("Reports", "Protocol")
def reports_of_protocols(rng: np.random.Generator) -> None:
    """Supports are counts over the sets; estimates invert them; intervals hold but once in 10^12."""
    size, rows = int(rng.integers(2, 9)), int(rng.integers(2000, 4000))
    make = pick(rng, [P.randomized_response, P.hadamard, P.projective, P.unary, P.local_hashing])
    protocol = make(size, float(rng.uniform(0.5, 4)))
    values = rng.integers(0, size, rows)
    reports = protocol.report(values.tolist())
    assert not protocol.of_text
    assert protocol.codes([size - 1]).tolist() == [size - 1]
    assert reports.protocol == protocol
    assert reports.key == b""
    assert reports.table().num_columns == 1 + reports.seeds.shape[1]
    if protocol.name == "local-hashing":
        g, found = protocol.q.denominator, []
        for x in range(size):
            hashes = [((int(s[0]) * x + int(s[2])) % 2**64 >> 32) * g >> 32 for s in reports.seeds.tolist()]
            found.append(sum(h == y for h, y in zip(hashes, reports.reports.tolist(), strict=True)))
    elif protocol.name.endswith("unary"):
        found = np.unpackbits(reports.reports, axis=1, count=size).sum(axis=0).tolist()
    else:
        found = protocol.sets.listed()[2][reports.reports].sum(axis=0).tolist()
    assert reports.support().tolist() == found
    p, q = protocol.p_star, protocol.q_star
    estimate = reports.frequencies(confidence=1 - 1e-12)
    for i, count in enumerate(found):
        same("frequency", estimate.frequency[i], (Fraction(int(count), rows) - q) / (p - q), 1e-9, 1e-12)
        share = float((values == i).mean())
        assert estimate.lower[i] <= share <= estimate.upper[i]


@case("choose", "Choice", "Option")
def choices_of_protocols(rng: np.random.Generator) -> None:
    """Each option keeps the guarantee by sums over its matrix, and with the same sets goes no further."""
    size = int(rng.integers(2, 6))
    counts = [Fraction(int(c)) for c in rng.integers(1, 30, size)]
    share = [c / sum(counts) for c in counts]
    high, low = float(rng.uniform(0.05, 2)), float(rng.uniform(0.05, 2))
    n = int(rng.integers(1, 100))
    found = P.choose(dv.Prior(share), dv.ALIP(low, high), n)
    assert found.with_prior
    assert found.guarantee.startswith("alip")
    assert found.n == n
    assert found.best.error <= 1.05 * min(row.error for row in found if row.compact)
    for row in found:
        for ratio in (row.protocol.ratio, row.protocol.ratio * Fraction(1_000_001, 1_000_000)):
            rows = replace(row.protocol, ratio=ratio).channel().matrix
            outer = [sum(p * c for p, c in zip(share, rows[:, y], strict=True)) for y in range(rows.shape[1])]
            lifts = [mpf(rows[x][y] / outer[y]) for x in range(size) for y in range(rows.shape[1])]
            kept = max(lifts) <= mp.exp(mpf(high)) and min(lifts) >= mp.exp(-mpf(low))
            assert kept == (ratio == row.protocol.ratio) or row.protocol.ldp > 39, (row.protocol, ratio)
        same("error", row.error, mp.sqrt(mpf(row.protocol.variance(Fraction(1, size))) / n))
        assert row.steps >= n
        assert row.bits == row.protocol.bits
        same("pml", row.pml, row.protocol.pml(dv.Prior(share)))
        same("pmc", row.pmc, row.protocol.pmc(dv.Prior(share)))
        same("information", row.information, row.protocol.mutual_information(dv.Prior(share)))
