"""Promises: what is measured keeps them, what follows from them is kept by every random mechanism that keeps them."""

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
from guarantees.attaining import extremal, of_one_order, rare_against_rest, resampling

import divulge as dv
from search.measures import costs, gains, posterior
from search.registry import at_least, at_most, between, case, mpf, same
from search.subjects import distribution, drawn, pick

JOINT = (dv.PML, dv.PMC, dv.LIP, dv.guarantees.MeanPML, dv.guarantees.MeanPMC, dv.guarantees.Lift)
CHANNEL = (
    dv.LDP,
    dv.guarantees.LiftCapacity,
    dv.guarantees.BayesCapacity,
    dv.guarantees.MaximalLeakage,
    dv.guarantees.KL,
    dv.guarantees.TV,
    dv.guarantees.MaximalCostLeakage,
)
NAMES = [kind.__name__ for kind in (*JOINT, *CHANNEL)]


def value_of(guarantee: Any) -> Any:
    return getattr(
        guarantee, guarantee.bounded()[0] if isinstance(guarantee.bounded(), tuple) else next(iter(guarantee.bounded()))
    )


def truth_of(kind: Any, d: Any) -> mp.mpf:
    """Return the least level of a kind, by its definition."""
    name, q, columns = kind.__name__, d.q, list(zip(*d.c, strict=True))
    if name in ("PML", "Lift", "MeanPML"):
        found = gains(d)
        top = max(found.values())
        return {"PML": top, "Lift": mp.exp(top)}.get(name) or mp.fsum(q[y] * v for y, v in found.items())
    if name in ("PMC", "MeanPMC"):
        found = costs(d)
        return max(found.values()) if name == "PMC" else mp.fsum(q[y] * v for y, v in found.items())
    if name == "LIP":
        return max(*gains(d).values(), *costs(d).values())
    if name in ("LDP", "LiftCapacity"):
        ratio = max(mp.inf if min(col) == 0 else max(col) / min(col) for col in columns if max(col) > 0)
        return ratio if name == "LiftCapacity" else mp.log(ratio)
    if name in ("BayesCapacity", "MaximalLeakage"):
        whole = mp.fsum(max(col) for col in columns)
        return whole if name == "BayesCapacity" else mp.log(whole)
    if name == "MaximalCostLeakage":
        rest = mp.fsum(min(col) for col in columns)
        return mp.inf if rest == 0 else -mp.log(rest)
    pairs = [(a, b) for i, a in enumerate(d.c) for j, b in enumerate(d.c) if i != j]
    if name == "TV":
        return max(mp.fsum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2 for a, b in pairs)
    return max(
        mp.inf
        if any(x > 0 and y == 0 for x, y in zip(a, b, strict=True))
        else mp.fsum(x * mp.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)
        for a, b in pairs
    )


@case(*NAMES, "Guarantee", "Verdict", "Witness", "ALIP", "DP")
def measured_levels(rng: np.random.Generator) -> None:
    """`of` is the least level, rounded up; `holds_for` is true at it and above, and false below it."""
    d = drawn(rng)
    joint = d.joint()
    for kind in (*JOINT, *CHANNEL):
        truth = truth_of(kind, d)
        found = value_of(kind.of(joint))
        at_least(f"{kind.__name__}.of", found, truth)
        if not mp.isinf(truth) and truth > 0:
            # what is not decided exactly is rounded up by its margin
            same(f"{kind.__name__}.of", found, truth, 1e-9, 1e-11)
            above, below = (
                float(truth * (1 + mp.mpf("1e-6"))) + 1e-9,
                float(truth * (1 - mp.mpf("1e-6")) - mp.mpf("1e-9")),
            )
            if kind is not dv.guarantees.TV or above <= 1:
                assert kind(above).holds_for(joint).holds, (kind, above, truth)
            if below > (1 if "ratio" in kind.of(joint).bounded() else 0):
                assert not kind(below).holds_for(joint).holds, (kind, below, truth)
    alip = dv.ALIP.of(joint)
    at_least("ALIP.of", alip.lower, max(costs(d).values()))
    at_least("ALIP.of", alip.upper, max(gains(d).values()))


@case("implied", "Step", "Unknown", "MinEntropyLeakage", "MutualInformation", "AverageGLeakage", "MaxGLeakage")
def consequences(rng: np.random.Generator) -> None:
    """What a mechanism has is never above what follows from something else it has."""
    d = drawn(rng, positive_prior=True, zeros=bool(rng.integers(2)))
    joint = d.joint()
    given = pick(rng, [*JOINT, *CHANNEL])
    start = given.of(joint)
    if value_of(start) == math.inf:
        return
    context = {"prior": joint.prior} if given in JOINT else {"n": len(d.rows)}
    for kind in (*JOINT, *CHANNEL):
        found = dv.guarantees.implied(start, kind, **context)
        if found and (kind in CHANNEL or given in JOINT):
            at_least(
                f"{given.__name__} -> {kind.__name__}", mpf(value_of(found)) + mp.mpf(10) ** -14, truth_of(kind, d)
            )
    for kind, measure in (
        (dv.guarantees.MinEntropyLeakage, dv.measures.min_entropy_leakage),
        (dv.guarantees.MutualInformation, dv.mutual_information),
    ):
        if given in JOINT and (found := dv.guarantees.implied(start, kind, **context)):
            at_least(f"{given.__name__} -> {kind.__name__}", value_of(found) + 1e-13, measure(joint))


@case("TailPML", "TailPMC", "MIDP")
def tails(rng: np.random.Generator) -> None:
    """The least tail and the capacity, on both sides of what is measured."""
    d = drawn(rng, positive_prior=True)
    joint, q = d.joint(), d.q
    for kind, found in ((dv.guarantees.TailPML, gains(d)), (dv.guarantees.TailPMC, costs(d))):
        level = float(rng.uniform(0, 1.5)) * max(float(min(max(found.values()), mp.mpf(50))), 1e-6)
        if any(abs(v - level) < 1e-9 for v in found.values()):
            continue
        truth = mp.fsum(q[y] for y, v in found.items() if v > level)
        kept = kind.of(joint, epsilon=level)
        at_least(kind.__name__, kept.delta, truth, 1e-15)
        same(kind.__name__, kept.delta, truth, 1e-9, 1e-12)
    capacity = dv.measures.capacity(d.channel())
    between("MIDP", capacity.lower * (1 - 1e-9), value_of(dv.guarantees.MIDP.of(d.channel())), math.inf)
    at_most("MIDP", value_of(dv.guarantees.MIDP.of(d.channel())), capacity.upper * (1 + 1e-7) + 1e-10)


@case("posterior_bounds", "guarantee_for_posterior", "can_rule_out", "PosteriorBounds")
def posteriors(rng: np.random.Generator) -> None:
    d = drawn(rng, positive_prior=True)
    joint = d.joint()
    kind = pick(rng, [dv.PML, dv.PMC, dv.LDP, dv.LIP])
    level = value_of(kind.of(joint))
    if level == math.inf:
        return
    event = [x for x in range(len(d.rows)) if rng.random() < 0.5] or [0]
    before = sum((d.prior[x] for x in event), start=Fraction(0))
    if not 0 < before < 1:
        return
    bounds = dv.guarantees.posterior_bounds(kind(level), before, prior=joint.prior)
    reached = [mp.fsum(posterior(d, y)[x] for x in event) for y in d.seen]
    at_least("posterior, upper", bounds.upper + 1e-14, max(reached))
    at_most("posterior, lower", bounds.lower - 1e-14, min(reached))
    factors = [max(reached) / before, (1 - min(reached)) / (1 - before)]
    at_least("lift", mpf(bounds.lift) * (1 + mp.mpf(10) ** -12), factors[0])
    at_least("pml", mpf(bounds.pml) + mp.mpf(10) ** -12, mp.log(max(factors)))
    at_most("lift", bounds.lift, mpf(bounds.upper) / before * (1 + mp.mpf(10) ** -9))
    if min(reached) == 0:
        assert dv.guarantees.can_rule_out(kind(level), before), "an event was ruled out"
    if kind in (dv.PML, dv.LDP) and max(reached) > before:
        asked = Fraction(float(max(reached) * (1 - mp.mpf("1e-9"))))
        if before < asked < 1:
            needed = value_of(dv.guarantee_for_posterior(kind, before, asked))
            at_most("guarantee_for_posterior", needed, mpf(level) * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -9)


@case("posterior_bounds", "PosteriorBounds")
def attackers(rng: np.random.Generator) -> None:
    """No test of a random mechanism does better than its guarantee says, and the mechanism of a bound keeps it."""
    d = drawn(rng, positive_prior=True)
    joint, last = d.joint(), len(d.rows) - 1
    before = d.prior[last]
    if not Fraction(1, 10**6) < before < 1:
        return
    a = mpf(before)
    given_event = d.c[last]
    rest = [mp.fsum(mpf(p) * row[y] for p, row in zip(d.prior[:-1], d.c[:-1], strict=True)) / (1 - a)
            for y in range(len(given_event))]  # fmt: skip
    kind = pick(rng, [dv.guarantees.ADP, dv.guarantees.TV, dv.guarantees.GDP, dv.guarantees.RDP, dv.LDP, dv.PML])
    index = {"ADP": {"delta": Fraction(1, 20)}, "RDP": {"alpha": 3}}.get(kind.__name__, {})
    guarantee = kind.of(joint if kind is dv.PML else joint.channel, **index)
    if value_of(guarantee) == math.inf:
        return
    bounds = dv.guarantees.posterior_bounds(guarantee, before)
    assert bounds.given == () or bounds.given[0].kind == guarantee.kind
    after = {y: a * given_event[y] / (a * given_event[y] + (1 - a) * rest[y]) for y in d.seen}
    x = y = mp.mpf(0)
    room = mp.mpf(10) ** -9
    for outcome in sorted(after, key=lambda one: -after[one]):
        x, y = x + rest[outcome], y + given_event[outcome]
        at_most("success", a * y + (1 - a) * (1 - x), bounds.success + room)
        at_most("advantage", y - x, bounds.advantage + room)
        if mp.mpf(10) ** -6 < x < 1:
            at_most("hits", y, bounds.hits(float(x)) + room)
            at_most("precision", a * y / (a * y + (1 - a) * x), bounds.precision(float(x)) + room)
    posterior = float(a + (1 - a) * mp.mpf(rng.uniform(0.01, 1)))
    passed = [one for one in d.seen if after[one] >= posterior]
    most = bounds.share_above(posterior)
    at_most("share_above", mp.fsum(a * given_event[one] + (1 - a) * rest[one] for one in passed), most + room)
    share = float(rng.uniform(0.001, 0.5))
    above = [one for one in d.seen if after[one] > bounds.usual(share) + room]
    at_most("usual", mp.fsum(given_event[one] for one in above), share + room)
    worst = bounds.mechanism(posterior)
    assert guarantee.holds_for(worst if kind is dv.PML else worst.channel).holds, f"{guarantee}: {worst}"
    same("complement", bounds.complement.advantage, bounds.advantage, 1e-6, 1e-9)


@case("privacy_region", "region_boundaries", "decisive_bound", "Region")
def regions(rng: np.random.Generator) -> None:
    n = int(rng.integers(2, 7))
    prior = distribution(rng, n)
    if min(prior) == 0:
        return
    falling = sorted(prior, reverse=True)
    found = dv.guarantees.region_boundaries(prior)
    rising = falling[::-1]
    for k in range(n):
        kept = sum(falling[k:], start=Fraction(0)) if False else sum(falling[: n - k], start=Fraction(0))
        same("region_boundaries", found[k], -mp.log(mpf(kept)), 1e-11, 1e-15)
    level = float(rng.uniform(0, 2))
    region = dv.guarantees.privacy_region(dv.PML(level), prior)
    most = max(k for k in range(n) if -mp.log(mpf(sum(falling[: n - k], start=Fraction(0)))) <= level)
    assert region.zeros == most, (region, most)
    assert len(rising) == n
    assert dv.guarantees.decisive_bound(dv.ALIP(0.1, 0.1), prior=prior) in ("pml", "pmc", "both", "either")


@case("Renyi is approximate DP")
def renyi_conversion(rng: np.random.Generator) -> None:
    """What one Renyi order says at a delta is what two outcomes need, found by a scan, and no more than 1e-4 above."""
    alpha, epsilon = 1 + float(np.exp(rng.uniform(-2, 3))), float(np.exp(rng.uniform(-5, 1)))
    delta = float(10 ** rng.uniform(-8, -0.5))
    given = dv.RDP(alpha, epsilon)
    found = dv.guarantees.implied(given, dv.ADP, delta=delta)
    pair = of_one_order(alpha, epsilon, delta)
    if given.holds_for(pair) or dv.RDP(alpha, epsilon * (1 + 1e-9)).holds_for(pair):
        need = dv.ADP.of(pair, delta=delta).epsilon
        at_least("renyi conversion", mpf(found.epsilon) * (1 + mp.mpf(10) ** -7) + mp.mpf(10) ** -9, need)


@case("theorems that need no p_min")
def rare_secrets(rng: np.random.Generator) -> None:
    """Nothing that is said of a general alphabet is broken by a secret however rare."""
    p, kept = Fraction(1, 10 ** int(rng.integers(1, 60))), Fraction(int(rng.integers(1, 100)), 100)
    shares = pick(rng, [[p, 1 - p], [p, p, 1 - 2 * p], [p, Fraction(1, 2), Fraction(1, 2) - p]])
    first = resampling(shares, kept)
    joint = pick(rng, [first, extremal(shares, 1 + p * kept), rare_against_rest(p, 1 / p, high=bool(rng.integers(2)))])
    given = pick(rng, JOINT)
    start = given.of(joint)
    for kind in (*JOINT, *CHANNEL, dv.guarantees.MutualInformation, dv.guarantees.AverageGLeakage):
        found = dv.guarantees.implied(start, kind, general=True)
        if found and value_of(found) < math.inf:
            assert found.holds_for(joint) or found.holds_for(joint).slack > -1e-9, (start, found, joint)
