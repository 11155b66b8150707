"""Designs by laws that need no oracle: what another request proves of a request, for every option of `design`.

A channel that keeps the guarantees is below every certified bound, wherever it comes from: guarantees that it keeps
already change nothing, nor do looser ones, the order of the secrets, or halves of a secret told apart.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

import divulge as dv
from divulge.guarantees.parameters import PARAMETERS
from search.registry import at_least, at_most, case
from search.subjects import pick

CONVEX = ("mutual-information", "total-variation", "chi-squared", "hellinger", "le-cam")
LINEAR = ("hamming", "error", "worst-hamming")
KINDS = (
    dv.PML, dv.PMC, dv.LIP, dv.ALIP, dv.LDP, dv.guarantees.Lift, dv.guarantees.LiftCapacity,
    dv.guarantees.BayesCapacity, dv.guarantees.MaximalLeakage,
)  # fmt: skip
RATIOS = (dv.guarantees.Lift, dv.guarantees.LiftCapacity, dv.guarantees.BayesCapacity)
Prior = list[Any]


def prior_of(rng: np.random.Generator, most: int = 6) -> Prior:
    """Return a prior that is uniform, nearly so, of counts with ties, skewed, or with a rare secret."""
    n, sort = int(rng.integers(2, most + 1)), int(rng.integers(-1, 6))
    if sort <= 0:
        return [Fraction(1, n)] * n
    if sort in (1, 2):
        counts = [int(c) for c in rng.integers(1, 4 if sort == 1 else 1000, n)]
        return [Fraction(c, sum(counts)) for c in counts]
    p = np.ones(n)
    if sort == 3:
        p += n * rng.normal(size=n) * 10.0 ** rng.integers(-16, -3)
    elif sort == 4:
        p = np.maximum(rng.dirichlet(np.full(n, 0.4)), 1e-3)
    else:
        p[0] = 10.0 ** rng.integers(-6, 0)
    return (p / p.sum()).tolist()


def level(rng: np.random.Generator, prior: Prior) -> float:
    """Return a level of leakage: any, tiny, or one at which the polytope changes its shape."""
    p = float(pick(rng, prior))
    return [
        float(rng.exponential(0.8) + 0.01), float(10.0 ** rng.integers(-6, 1)),
        math.log(rng.integers(2, 5)), -math.log(p), -math.log1p(-p),
    ][int(rng.integers(5))]  # fmt: skip


def guarantee(rng: np.random.Generator, prior: Prior) -> dv.Guarantee:
    """Return a guarantee of any kind that designs know."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    levels = [level(rng, prior) for _ in range(2 if kind is dv.ALIP else 1)]
    return kind(*(math.exp(min(v, 20.0)) for v in levels)) if kind in RATIOS else kind(*levels)


def kept_by(found: dv.results.Design) -> list[dv.Guarantee]:
    """Return the strongest guarantee of each kind that the channel of a design has, where it has one."""
    out = []
    for kind in KINDS:
        had = kind.of(found.joint if kind.about == "joint" else found.channel)
        if all(math.isfinite(getattr(had, name)) for name in had.bounded()):
            out.append(had)
    return out


def looser(guarantee: dv.Guarantee, factor: float) -> dv.Guarantee:
    """Return the guarantee with its levels so many times as far from none."""
    levels = {name: getattr(guarantee, name) for name in guarantee.bounded()}
    none = {name: PARAMETERS[name].low for name in levels}
    return replace(
        guarantee, **{k: max(v, none[k] + float(v - none[k]) * factor) if factor > 1 else v for k, v in levels.items()}
    )


def held(what: str, found: dv.results.Design, reached: dv.results.Design, same: bool = True) -> None:
    """Assert that no bound is beaten by a channel that keeps the guarantees, nor is far from one that says the same."""
    sign = -1 if found.minimized else 1
    slack = 1e-12 * abs(reached.utility) + 1e-15
    at_least(f"{what}: the bound", sign * found.bound + slack, sign * reached.utility)
    at_least(f"{what}: the bound of the design itself", sign * found.bound + slack, sign * found.utility)
    if same:
        near = 1e-5 * abs(reached.bound) + 1e-11
        at_most(f"{what}: the bound", sign * found.bound - near, sign * reached.bound)


@case("design")
def laws_of_designs(rng: np.random.Generator) -> None:
    prior = prior_of(rng)
    asked = [guarantee(rng, prior) for _ in range(int(rng.integers(1, 4)))]
    utility = pick(rng, [*CONVEX, *CONVEX, *LINEAR])
    found = dv.design(prior, *asked, utility=utility)
    held("itself", found, found)
    for more in kept_by(found):
        held("a guarantee that is kept", dv.design(prior, *asked, looser(more, pick(rng, [1.0, 1 + 1e-9, 1.5])),
                                                   utility=utility), found)  # fmt: skip
    held("looser", dv.design(prior, *(looser(g, 1.5) for g in asked), utility=utility), found, same=False)
    order = rng.permutation(len(prior))
    if utility in CONVEX:
        held("permuted", dv.design([prior[x] for x in order], *asked, utility=utility), found)
        x = int(rng.integers(len(prior)))
        halves = [*prior[:x], prior[x] / 2, prior[x] / 2, *prior[x + 1 :]]
        held("split", dv.design(halves, *asked, utility=utility), found, same=False)
        held("floats", dv.design([float(p) for p in prior], *asked, utility=utility), found)


@case("design")
def laws_of_methods_and_options(rng: np.random.Generator) -> None:
    prior = prior_of(rng, 5)
    asked = [guarantee(rng, prior) for _ in range(int(rng.integers(1, 3)))]
    utility, n = pick(rng, list(CONVEX)), len(prior)
    found = dv.design(prior, *asked, utility=utility)
    for method in ("enumeration", "column-generation", *(["counting"] if isinstance(prior[0], Fraction) else [])):
        held(method, dv.design(prior, *asked, utility=utility, method=method), found)
    held("fewer bits", dv.design(prior, *asked, utility=utility, bits=30), found)
    few = dv.design(prior, *asked, utility=utility, outcomes=range(2))
    at_least("two outcomes", few.bound * (1 + 1e-12) + 1e-15, few.utility)
    at_least("any number of outcomes", found.bound * (1 + 1e-12) + 1e-15, few.utility)
    kept = [looser(g, pick(rng, [1 + 1e-9, 1.5])) for g in kept_by(few)]  # what is just met leaves no room for bits
    again = dv.design(prior, *asked, pick(rng, kept), utility=utility, outcomes=range(2))
    at_least("two outcomes, a guarantee that is kept", again.bound * (1 + 1e-12) + 1e-15, few.utility)
    itself = dv.Channel(np.eye(n, dtype=int), list(range(n)), list(range(n)))
    about = dv.design(prior, *asked, utility=dv.About(itself, utility))
    held("about the secret itself", about, found)
    one = [(int(rng.integers(n)), int(rng.integers(n)))]
    try:
        closed = dv.design(prior, *asked, utility=utility, forbidden=one)
    except dv.DivulgeError:
        return
    at_least("forbidden", found.bound * (1 + 1e-12) + 1e-15, closed.utility)
    at_least("forbidden, its own bound", closed.bound * (1 + 1e-12) + 1e-15, closed.utility)
    kept = [looser(g, pick(rng, [1 + 1e-9, 1.5])) for g in kept_by(closed)]
    again = dv.design(prior, *asked, pick(rng, kept), utility=utility, forbidden=one)
    at_least("forbidden, a guarantee that is kept", again.bound * (1 + 1e-12) + 1e-15, closed.utility)


@case("design", "Design")
def laws_of_protecting(rng: np.random.Generator) -> None:
    """What protects X protects S; S that is X is no other design; no channel that keeps it beats a bound."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    counts = rng.integers(1, 30, size=(m, n))
    joint = [[Fraction(int(c), int(counts.sum())) for c in row] for row in counts]
    prior = [sum(column) for column in zip(*joint, strict=True)]
    given = [[joint[s][x] / prior[x] for s in range(m)] for x in range(n)]
    kind = pick(rng, [dv.PML, dv.PMC, dv.LIP, dv.LDP, dv.guarantees.MaximalLeakage])
    asked, utility = kind(level(rng, prior)), pick(rng, [*CONVEX, *LINEAR])
    found = dv.design(prior, asked, utility=utility, protect=given)
    held("itself", found, found)
    (both,) = found.protected
    assert [[Fraction(v) for v in row] for row in found.protect[0].matrix.tolist()] == given
    for s in range(m):
        mass = sum(joint[s])
        for y in range(len(found.outcomes)):
            said = sum(j * c for j, c in zip(joint[s], found.channel.matrix[:, y], strict=True)) / mass
            assert both.channel.matrix[s, y] == said, "P(y | s)"
    alone = dv.design(prior, asked, utility=utility)
    held("protecting the data", found, alone, same=False)
    same = dv.design(prior, asked, utility=utility, protect=np.eye(n, dtype=int).tolist())
    held("the data themselves", same, alone)
    held("the data themselves", alone, same)
    if utility in CONVEX:
        again = dv.design(prior, asked, utility=utility, protect=(given, given))
        held("twice", again, found)
    whole = np.array([[float(v) for v in row] for row in joint])
    p, back = whole.sum(axis=0), whole / whole.sum(axis=1)[:, None]
    for _ in range(5):
        channel = rng.dirichlet(np.full(3, 0.3), size=n)
        q, kept = p @ channel, dv.Channel(back @ channel)
        if utility == "mutual-information" and asked.holds_for(
            dv.Joint(whole.sum(axis=1), kept) if asked.about == "joint" else kept
        ):
            value = float((p[:, None] * channel * np.log(channel / q)).sum())
            at_least("the bound", found.bound * (1 + 1e-9) + 1e-12, value)


@case("chord_bound")
def bounds_by_chords(rng: np.random.Generator) -> None:
    """No channel is beyond the chord of the guarantees that it has; sets of one mass are on it."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    prior, rows = rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(m, float(pick(rng, [0.5, 5.0, 500.0]))), size=n)
    joint = dv.Joint(dv.Prior(prior), dv.Channel(rows))
    lifts = rows / (prior @ rows)
    value = float((prior[:, None] * rows * np.log(np.maximum(lifts, 1e-300))).sum())
    had = [kind.of(joint if kind.about == "joint" else joint.channel) for kind in (dv.PML, dv.LIP, dv.ALIP, dv.LDP)]
    for one in had:
        at_least(f"chord of {one}", dv.chord_bound(one) * (1 + 1e-9) + 1e-13, value)
    size, ratio = int(rng.integers(2, 9)), Fraction(int(rng.integers(11, 90)), 10)
    half = dv.protocols.subset_selection(2 * size, math.log(ratio), size=size)
    a, b = float(half.a), float(half.b)
    want = (a * math.log(a) + b * math.log(b)) / 2
    found = dv.chord_bound(dv.ALIP(-math.log(b), math.log(a)))
    at_least("on the chord", found * (1 + 1e-9), want)
    at_most("on the chord", found * (1 - 1e-9), want)
