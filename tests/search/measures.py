"""Measures of a channel and of a joint, against their definitions in 60 digits."""

import mpmath as mp
import numpy as np
from scipy.optimize import linprog

import divulge as dv
from search.registry import INF, at_least, between, case, same
from search.subjects import Drawn, distribution, drawn, pick

log = mp.log


def log_ratio(a: mp.mpf, b: mp.mpf) -> mp.mpf:
    return mp.inf if b == 0 else log(a / b)


def both(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Each pair in both orders."""
    return [*pairs, *((z, x) for x, z in pairs)]


def gains(d: Drawn) -> dict[int, mp.mpf]:
    q = d.q
    return {y: log(max(d.c[x][y] for x in d.support) / q[y]) for y in d.seen}


def costs(d: Drawn) -> dict[int, mp.mpf]:
    q = d.q
    return {y: log_ratio(q[y], min(d.c[x][y] for x in d.support)) for y in d.seen}


def posterior(d: Drawn, y: int) -> list[mp.mpf]:
    return [p * row[y] / d.q[y] for p, row in zip(d.p, d.c, strict=True)]


@case(
    "pml", "pmc", "alip", "lip", "lift", "maximal_realizable_cost", "pointwise_maximal_guesswork_leakage", "Pointwise"
)
def pointwise(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint, up, down = d.joint(), gains(d), costs(d)
    for name, truth in (("pml", up), ("pmc", down)):
        found = getattr(dv, name)(joint)
        assert list(found.outcomes) == list(truth)
        for value, y, q in zip(found.values, truth, found.probabilities, strict=True):
            same(name, value, truth[y], absolute=1e-14)
            same("q", q, d.q[y])
        same(f"mean {name}", found.mean(), mp.fsum(d.q[y] * v for y, v in truth.items()), 1e-11, 1e-14)
        level = pick(rng, [v for v in truth.values() if v < mp.inf] or [mp.mpf(1)]) * mp.mpf("0.999")
        if all(abs(v - level) > 1e-9 for v in truth.values()):
            tail = mp.fsum(d.q[y] for y, v in truth.items() if v > level)
            same(f"tail of {name}", found.tail(float(level)), tail, 1e-11)
    low, high = max(down.values()), max(up.values())
    same("alip", dv.alip(joint).lower, low, absolute=1e-14)
    same("alip", dv.alip(joint).upper, high, absolute=1e-14)
    same("lip", dv.lip(joint), max(low, high), absolute=1e-14)
    same("lift", dv.lift(joint), mp.exp(high))
    same("maximal_realizable_cost", dv.measures.maximal_realizable_cost(joint), low, absolute=1e-14)
    same("guesswork", dv.measures.pointwise_maximal_guesswork_leakage(joint).max(), low, absolute=1e-14)


@case(
    "ldp",
    "lift_capacity",
    "bayes_capacity",
    "maximal_leakage",
    "maximal_cost_leakage",
    "worst_average",
    "lift_capacity_priors",
)
def of_a_channel(rng: np.random.Generator) -> None:
    d = drawn(rng)
    channel, columns = d.channel(), list(zip(*d.c, strict=True))
    ratio = max(mp.inf if min(col) == 0 else max(col) / min(col) for col in columns if max(col) > 0)
    same("lift_capacity", dv.lift_capacity(channel), ratio)
    same("ldp", dv.ldp(channel), log(ratio), absolute=1e-14)
    pairs = [(0, x) for x in range(1, len(d.c)) if rng.random() < 0.7] or [(0, len(d.c) - 1)]
    if len(d.c) > 1:
        ratio_of = [
            max(a / b if b else mp.inf for a, b in zip(d.c[x], d.c[z], strict=True) if a) for x, z in both(pairs)
        ]
        named = [(channel.secrets[x], channel.secrets[z]) for x, z in pairs]
        same("lift_capacity of neighbors", dv.lift_capacity(channel, neighbors=named), max(ratio_of))
        same("ldp of neighbors", dv.ldp(channel, neighbors=named), log(max(ratio_of)), absolute=1e-14)
    same("lift_capacity_priors", dv.adversaries.lift_capacity_priors(channel).limit, ratio)
    top, bottom = mp.fsum(max(col) for col in columns), mp.fsum(min(col) for col in columns)
    same("bayes_capacity", dv.bayes_capacity(channel), top)
    same("maximal_leakage", dv.maximal_leakage(channel), log(top), 1e-11, 2e-15)
    same("maximal_cost_leakage", dv.maximal_cost_leakage(channel), log_ratio(mp.mpf(1), bottom), 1e-11, 2e-15)
    attack = dv.adversaries.worst_average(channel)
    same("worst_average", attack.after / attack.before, top)


@case("mutual_information", "entropy", "min_entropy", "min_entropy_leakage", "bayes_vulnerability")
def shannon(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint, q = d.joint(), d.q
    truth = mp.fsum(
        p * c * log(c / q[y]) for p, row in zip(d.p, d.c, strict=True) for y, c in enumerate(row) if p * c > 0
    )
    same("mutual_information", dv.mutual_information(joint), truth, 1e-11, 1e-18)
    entropy = -mp.fsum(p * log(p) for p in d.p if p > 0)
    same("entropy", dv.measures.entropy(joint.prior), entropy)
    same("min_entropy", dv.measures.min_entropy(joint.prior), -log(max(d.p)), absolute=1e-15)
    right = mp.fsum(max(p * row[y] for p, row in zip(d.p, d.c, strict=True)) for y in range(len(q)))
    same("bayes_vulnerability", dv.measures.bayes_vulnerability(joint), right)
    same("min_entropy_leakage", dv.measures.min_entropy_leakage(joint), log(right / max(d.p)), 1e-11, 1e-16)


def renyi_of(p: list[mp.mpf], a: float) -> mp.mpf:
    if a == 1:
        return -mp.fsum(v * log(v) for v in p if v > 0)
    if a == INF:
        return -log(max(p))
    return log(mp.fsum(v ** mp.mpf(a) for v in p if v > 0)) / (1 - mp.mpf(a))


@case("renyi_entropy", "renyi_divergence", "guesswork", "guesswork_after")
def entropies(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint = d.joint()
    a = float(pick(rng, [0.0, 0.3, 0.999999, 1.0, 1.5, 2.0, 17.0, INF]))
    same("renyi_entropy", dv.measures.renyi_entropy(joint.prior, a), renyi_of(d.p, a), 1e-11, 1e-14)
    p, r = d.rows[0], d.rows[-1]
    same_prior = [dv.Prior([float(v) for v in row]) for row in (p, r)]
    pairs = [(x, y) for x, y in zip(d.c[0], d.c[-1], strict=True) if x > 0]
    if a == INF:
        truth = log(max(mp.inf if y == 0 else x / y for x, y in pairs))
    elif a >= 1 and any(y == 0 for _, y in pairs):
        truth = mp.inf
    elif a == 1:
        truth = mp.fsum(x * log(x / y) for x, y in pairs)
    else:
        power = mp.fsum(x ** mp.mpf(a) * y ** (1 - mp.mpf(a)) for x, y in pairs if y > 0)
        truth = mp.inf if power == 0 else log(power) / (mp.mpf(a) - 1)
    same("renyi_divergence", dv.measures.renyi_divergence(*same_prior, a), truth, 1e-10, 1e-14)
    order = sorted(d.p, reverse=True)
    same("guesswork", dv.measures.guesswork(joint.prior), mp.fsum(i * v for i, v in enumerate(order, 1)))
    after = dv.measures.guesswork_after(joint)
    for value, y in zip(after.values, d.seen, strict=True):
        tries = mp.fsum(i * v for i, v in enumerate(sorted(posterior(d, y), reverse=True), 1))
        same("guesswork_after", value, tries)
    t = pick(rng, [1, 2, 3, 0.25, 2.5, 7])
    moments = [
        mp.fsum(mp.mpf(i) ** t * v for i, v in enumerate(sorted(p, reverse=True), 1))
        for p in (d.p, *(posterior(d, y) for y in d.seen))
    ]
    found = [dv.measures.guesswork(joint.prior, t), *dv.measures.guesswork_after(joint, t).values]
    for value, moment in zip(found, moments, strict=True):
        same("moment of the guesses", value, moment)
    renyi = t * renyi_of(d.p, 1 / (1 + mp.mpf(t)))
    between("Arikan's bounds", renyi - t * log(1 + log(mp.mpf(len(d.p)))), log(moments[0]), renyi, 1e-12)


@case("maximal_guesswork_leakage")
def guessing_functions(rng: np.random.Generator) -> None:
    d = drawn(rng, most=5)
    found = dv.measures.maximal_guesswork_leakage(d.joint())
    letters = int(rng.integers(1, 9))
    spread = [distribution(rng, letters) for _ in d.p]
    table = [[p * mp.mpf(v.numerator) / v.denominator for v in row] for p, row in zip(d.p, spread, strict=True)]
    before = tries_of([mp.fsum(column) for column in zip(*table, strict=True)])
    after = mp.fsum(
        tries_of(
            [mp.fsum(row[y] * v for row, v in zip(d.c, column, strict=True)) for column in zip(*table, strict=True)]
        )
        for y in d.seen
    )
    at_least("maximal_guesswork_leakage", found.upper + 1e-15, log(before / after), 1e-12)
    x, z = int(pick(rng, d.support)), int(pick(rng, d.support))
    overlap = mp.fsum(min(a, b) for a, b in zip(d.c[x], d.c[z], strict=True))
    at_least("maximal_guesswork_leakage", found.upper + 1e-15, -log((1 + overlap) / 2), 1e-12)
    tops = mp.fsum(max(d.c[x][y] for x in d.support) for y in d.seen)
    at_least("maximal_guesswork_leakage", float(log(tops)) + 1e-15, mp.mpf(found.lower), 1e-12)
    at_least("maximal_guesswork_leakage", found.lower * (1 + 1e-9) + 1e-15, mp.mpf(found.upper), 1e-12)


def tries_of(weights: list[mp.mpf]) -> mp.mpf:
    return mp.fsum(i * v for i, v in enumerate(sorted(weights, reverse=True), 1))


def sibson_of(p: list[mp.mpf], c: list[list[mp.mpf]], a: float) -> mp.mpf:
    m, used = len(c[0]), [x for x, v in enumerate(p) if v > 0]
    if a == INF:
        return log(mp.fsum(max(c[x][y] for x in used) for y in range(m)))
    a_ = mp.mpf(a)
    sums = (mp.fsum(p[x] * c[x][y] ** a_ for x in used if c[x][y] > 0) for y in range(m))
    return a_ / (a_ - 1) * log(mp.fsum(s ** (1 / a_) for s in sums if s > 0))


def arimoto_of(p: list[mp.mpf], c: list[list[mp.mpf]], a: float) -> mp.mpf:
    a_ = mp.mpf(a)
    norm = mp.fsum(
        mp.fsum((v * row[y]) ** a_ for v, row in zip(p, c, strict=True) if v * row[y] > 0) ** (1 / a_)
        for y in range(len(c[0]))
    )
    return renyi_of(p, a) - a_ / (1 - a_) * log(norm)


@case("sibson", "arimoto", "alpha_leakage", "maximal_alpha_leakage", "sibson_capacity")
def orders(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4)
    joint, a = d.joint(), float(pick(rng, [0.2, 0.7, 1.2, 2.0, 3.5, 30.0]))
    truth = sibson_of(d.p, d.c, a)
    same("sibson", dv.sibson(joint, a), truth, 1e-10, 1e-15)
    same("arimoto", dv.measures.arimoto(joint, a), arimoto_of(d.p, d.c, a), 1e-10, 1e-14)
    if a > 1:
        same("alpha_leakage", dv.measures.alpha_leakage(joint, a), arimoto_of(d.p, d.c, a), 1e-10, 1e-14)
        found = dv.measures.maximal_alpha_leakage(joint, a)
        tilted = [v ** mp.mpf(rng.uniform(0.1, 3)) if v > 0 else v for v in d.p]
        total = mp.fsum(tilted)
        # of equal rows it is 0, and what 60 digits of the oracle leave is about 1e-61
        at_least("maximal_alpha_leakage", found + 1e-15, sibson_of([v / total for v in tilted], d.c, a), 1e-9)
    capacity = dv.measures.sibson_capacity(d.channel(), a)
    at_least("sibson_capacity", capacity.upper + 1e-15, truth, 1e-12)
    best = [mp.mpf(float(v)) for v in capacity.prior.probabilities]
    total = mp.fsum(best)
    between(
        "sibson_capacity",
        capacity.lower - 1e-15,
        sibson_of([v / total for v in best], d.c, a),
        capacity.upper + 1e-15,
        1e-9,
    )


@case("capacity", "mutual_information_dp", "Capacity")
def capacities(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4)
    found = dv.measures.capacity(d.channel())
    best = [mp.mpf(float(v)) for v in found.prior.probabilities]
    total = mp.fsum(best)
    best = [v / total for v in best]
    q = [mp.fsum(p * row[y] for p, row in zip(best, d.c, strict=True)) for y in range(len(d.c[0]))]
    each = [mp.fsum(c * log(c / q[y]) if q[y] > 0 else mp.inf for y, c in enumerate(row) if c > 0) for row in d.c]
    at_least("capacity, any prior", found.upper, mp.fsum(p * v for p, v in zip(best, each, strict=True)), 1e-13)
    if max(each) < mp.inf:  # the dual bound: no prior has more than the largest divergence from any q
        assert found.lower <= max(each) * (1 + mp.mpf(10) ** -12) + mp.mpf(10) ** -15, (found, max(each))
    whole = dv.dp.mutual_information_dp(d.channel())
    same("mutual_information_dp", whole.upper, found.upper, 1e-9, 1e-12)


@case("f_information", "posterior_divergence")
def divergences(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint = d.joint()
    f = pick(rng, [lambda t: (t - 1) ** 2, lambda t: abs(t - 1), lambda t: (1 - t**0.5) ** 2])
    of_mp = [mp.fsum(p * f(b / p) for p, b in zip(d.p, posterior(d, y), strict=True) if p > 0) for y in d.seen]
    found = dv.measures.posterior_divergence(joint, f)
    for value, truth in zip(found.values, of_mp, strict=True):
        same("posterior_divergence", value, truth, 1e-9, 1e-15)
    same(
        "f_information",
        dv.measures.f_information(joint, f),
        mp.fsum(d.q[y] * v for y, v in zip(d.seen, of_mp, strict=True)),
        1e-9,
        1e-15,
    )
    kl = mp.fsum(
        d.q[y] * mp.fsum(b * log(b / p) for p, b in zip(d.p, posterior(d, y), strict=True) if b > 0) for y in d.seen
    )
    same("f_information kl", dv.measures.f_information(joint, "kl"), kl, 1e-10, 1e-15)


@case("profile", "Profile")
def profiles(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint = d.joint()
    found = dv.profile(joint)
    same("profile.pml", found.pml.max(), max(gains(d).values()), absolute=1e-14)
    same("profile.pmc", found.pmc.max(), max(costs(d).values()), absolute=1e-14)
    for name in ("ldp", "lift_capacity", "bayes_capacity", "maximal_leakage", "maximal_cost_leakage"):
        same(f"profile.{name}", getattr(found, name), getattr(dv, name)(d.channel()), 1e-12, 1e-15)
    for name in ("lift", "mutual_information"):
        same(f"profile.{name}", getattr(found, name), getattr(dv, name)(joint), 1e-11, 1e-15)
    q = d.q
    for y, x, z in zip(d.seen, found.pml.secrets, found.pmc.secrets, strict=True):
        same("secret of pml", log(d.c[x][y] / q[y]), gains(d)[y], 1e-11, 1e-14)
        same("secret of pmc", log_ratio(q[y], d.c[z][y]), costs(d)[y], 1e-11, 1e-14)


@case("conditioned")
def conditional(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4, form="exact")
    pairs = [(y, str(y % 2)) for y in range(len(d.rows[0]))]
    joint = dv.Joint(d.prior, dv.Channel(d.rows, outcomes=pairs))
    z = pick(rng, sorted({b for a, b in pairs if d.q[a] > 0}))
    given = [a for a, b in pairs if b == z]
    mass = [sum((row[a] for a in given), start=d.rows[0][0] * 0) for row in d.rows]
    whole = sum(p * v for p, v in zip(d.prior, mass, strict=True))
    found = dv.measures.conditioned(joint, z)
    for x, secret in enumerate(joint.secrets):
        if secret in found.secrets:
            same("conditioned prior", found.prior[secret], d.prior[x] * mass[x] / whole)
    truth = {}
    for a in given:
        q = sum(p * row[a] for p, row in zip(d.prior, d.rows, strict=True)) / whole
        likely = [x for x in d.support if mass[x] > 0]
        if q > 0:
            truth[a] = max(d.rows[x][a] / mass[x] for x in likely) / q
    same(
        "pml given",
        dv.pml(joint, given=z).max(),
        log(mp.mpf(max(truth.values()).numerator) / max(truth.values()).denominator),
        1e-12,
        1e-15,
    )


@case("tail_envelope", "TailEnvelope", "envelope_quantile")
def envelope(rng: np.random.Generator) -> None:
    """Random post-processings stay below the envelope, and a linear program over merged outcomes gives its value."""
    d = drawn(rng, most=4, form="float", positive_prior=True)
    joint, measure = d.joint(), pick(rng, ["pml", "pmc"])
    sign, of = (1, gains) if measure == "pml" else (-1, costs)
    top = min(float(max(of(d).values())), 5.0)
    t = float(rng.uniform(0.05, 1.0)) * max(top, 1e-3)
    found = dv.tail_envelope(joint, t, measure=measure)
    delta = float(rng.uniform(0.01, 0.9))
    passed = dv.measures.envelope_quantile(joint, delta, measure=measure)
    p, c = joint.p, joint.channel.floats
    for _ in range(20):
        after = c @ rng.dirichlet(np.full(3, 0.3), size=c.shape[1])
        q = p @ after
        with np.errstate(divide="ignore"):
            leak = np.log(after.max(axis=0) / q) if sign > 0 else -np.log(after.min(axis=0) / q)
        at_least("tail_envelope", found.upper + 1e-12, q[leak >= t + 1e-9].sum())
        at_least("envelope_quantile", delta + 1e-12, q[leak >= passed + 1e-9].sum())
    # one witness x a merged outcome: sum over x of w_xy <= 1, and sum_y w_xy (c_xy - e^t q_y) >= 0, or <= 0 with -t
    n, m = c.shape
    q = p @ c
    owed = np.zeros((n, n * m))
    for x in range(n):
        owed[x, x * m : (x + 1) * m] = -sign * (c[x] - np.exp(sign * t) * q)
    shares = np.tile(np.eye(m), (1, n))
    best = linprog(-np.tile(q, n), A_ub=np.vstack([owed, shares]), b_ub=np.concatenate([np.zeros(n), np.ones(m)]))
    if best.status == 0:
        between("tail_envelope", found.lower - 2e-6, min(-best.fun, 1.0), found.upper + 2e-6, 1e-5)


@case("ConvexHull", "L1Ball", "LowerBounded", "Polytope", "Robust")
def robust(rng: np.random.Generator) -> None:
    """No prior of a set exceeds the robust value, and one of its vertices reaches it."""
    d = drawn(rng, most=4, form=str(pick(rng, ["float", "exact"])), zeros=False, positive_prior=True)
    n, channel = len(d.rows), d.channel()
    least = pick(rng, [0.01, 0.3 / n])
    inside = [[(least + (1 - n * least) * float(v)) for v in distribution(rng, n)] for _ in range(20)]
    corners = [[least + (1 - n * least) * (x == i) for x in range(n)] for i in range(n)]
    found = dv.measures.LowerBounded(n, least)
    for name, of in (("pml", gains), ("pmc", costs)):
        got = getattr(found, name)(channel).max()
        values = []
        for prior in [*inside, *corners]:
            total = mp.fsum(mp.mpf(v) for v in prior)
            exact = Drawn.__new__(Drawn)
            object.__setattr__(exact, "prior", [mp.mpf(v) / total for v in prior])
            q = [mp.fsum(v * row[y] for v, row in zip(exact.prior, d.c, strict=True)) for y in range(len(d.c[0]))]
            sides = [
                (max(col) / q[y], q[y] / min(col) if min(col) > 0 else mp.inf)
                for y, col in enumerate(zip(*d.c, strict=True))
                if q[y] > 0
            ]
            values.append(log(max(s[0 if of is gains else 1] for s in sides)))
        same(f"LowerBounded.{name}", got, max(values), 1e-9, 1e-13)
        center = [float(v) for v in d.prior]
        ball = dv.measures.L1Ball(center, 0.1)
        at_least(f"L1Ball.{name}", getattr(ball, name)(channel).max() + 1e-13, max(of(d).values()), 1e-12)
        cube = dv.measures.Polytope(-np.eye(n), [-least] * n)
        hull = dv.measures.ConvexHull([[float(v) for v in corner] for corner in corners])
        same(f"ConvexHull.{name}", getattr(hull, name)(channel).max(), got, 1e-9, 1e-13)
        same(f"Polytope.{name}", getattr(cube, name)(channel).max(), got, 1e-8, 1e-12)


@case("Stack")
def stacked(rng: np.random.Generator) -> None:
    """Each of a stack has its own numbers, by the definitions in 60 digits."""
    several = [drawn(rng, most=4, form="float") for _ in range(3)]
    several = [d for d in several if (len(d.rows), len(d.c[0])) == (len(several[0].rows), len(several[0].c[0]))]
    stack = dv.measures.Stack([[[float(v) for v in row] for row in d.c] for d in several],
                              [[float(v) for v in d.prior] for d in several])  # fmt: skip
    for b, d in enumerate(several):
        for name, of in (("pml", gains), ("pmc", costs)):
            same(f"Stack.{name}", np.nanmax(getattr(stack, name)()[b]), max(of(d).values()), 1e-11, 1e-14)
        same("Stack.lip", stack.lip()[b], max(*gains(d).values(), *costs(d).values()), 1e-11, 1e-14)
        columns = [(max(column), min(column)) for column in zip(*d.c, strict=True) if max(column) > 0]
        same("Stack.ldp", stack.ldp()[b], max(log_ratio(top, low) for top, low in columns), 1e-11, 1e-14)
        same("Stack.maximal_leakage", stack.maximal_leakage()[b], log(mp.fsum(top for top, _ in columns)), 1e-11, 1e-14)
        for y, q in enumerate(d.q):
            same("Stack.outer", stack.outer[b][y], q, 1e-11, 1e-14)
        joint = dv.Joint(dv.Prior(stack.p[b]), dv.Channel(stack.c[b]))
        same("Stack.mutual_information", stack.mutual_information()[b], dv.mutual_information(joint), 1e-9, 1e-15)
        for kind in (dv.PML, dv.PMC, dv.LIP, dv.LDP):
            level = kind.of(joint).epsilon
            for bound in (level, np.nextafter(float(level), np.inf), np.nextafter(float(level), 0.0)):
                if 0 <= bound < np.inf:
                    assert stack.holds(kind(bound))[b] == bool(kind(bound).holds_for(joint)), (kind, bound)
