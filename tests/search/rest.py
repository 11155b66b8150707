"""Noise on numbers, designs, audits and estimates: brute force, linear programs and counting."""

import math
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats
from scipy.optimize import linprog

import divulge as dv
from divulge.publishing.counting.engines import counted
from divulge.publishing.noising.estimates import scores
from divulge.publishing.preparing import ready
from divulge.publishing.request import Publish
from divulge.publishing.task import task
from search.measures import gains
from search.registry import at_least, at_most, between, case, mpf, same
from search.subjects import ONE, distribution, drawn, pick, whole

DENSITIES = {
    "gaussian": lambda z, s: mp.exp(-z * z / (2 * s * s)) / (s * mp.sqrt(2 * mp.pi)),
    "laplace": lambda z, s: mp.exp(-abs(z) / s) / (2 * s),
    "logistic": lambda z, s: mp.exp(-abs(z) / s) / (s * (1 + mp.exp(-abs(z) / s)) ** 2),
}


@case("NoiseMechanism")
def noise_on_few_values(rng: np.random.Generator) -> None:
    """Leakage of an outcome under noise, from the densities in 60 digits."""
    values = sorted({float(v) for v in np.round(rng.normal(scale=3, size=int(rng.integers(2, 5))), 3)})
    if len(values) < 2:
        return
    weights = whole(rng, len(values), 0.0, 4.0)
    if min(weights) == 0:
        return
    name, scale = pick(rng, list(DENSITIES)), float(pick(rng, [0.3, 1.0, 4.0]))
    prior = dv.Prior([Fraction(w, ONE) for w in weights], values)
    mechanism = dv.NoiseMechanism(name, prior, scale=scale)
    for y in rng.normal(scale=4, size=4):
        density = [DENSITIES[name](mp.mpf(float(y)) - mp.mpf(v), mp.mpf(scale)) for v in values]
        q = mp.fsum(mp.mpf(w) / ONE * f for w, f in zip(weights, density, strict=True))
        same(f"{name} pml", mechanism.pml(float(y)), mp.log(max(density) / q), 1e-9, 1e-13)
        same(f"{name} pmc", mechanism.pmc(float(y)), mp.log(q / min(density)), 1e-9, 1e-13)
        same(f"{name} density", mechanism.density(float(y)), q, 1e-10)
        at_least("supremum", mechanism.pml_supremum.upper + 1e-12, mp.log(max(density) / q), 1e-12)


@case("exponential_mechanism")
def exponential(rng: np.random.Generator) -> None:
    n, m, epsilon = int(rng.integers(2, 6)), int(rng.integers(2, 6)), float(rng.uniform(0.05, 8))
    scores = rng.integers(-5, 6, size=(n, m)).astype(float)
    width = max(float((scores.max(axis=0) - scores.min(axis=0)).max()), 1.0)
    found = dv.noise.exponential_mechanism(list(range(n)), list(range(m)), lambda x, y: scores[x, y], epsilon, width)
    for x in range(n):
        weights = [mp.exp(mp.mpf(epsilon) * mp.mpf(s) / (2 * mp.mpf(width))) for s in scores[x]]
        for y in range(m):
            same("exponential_mechanism", found.floats[x, y], weights[y] / mp.fsum(weights), 1e-12)
    at_most("its ldp", dv.ldp(found), epsilon * (1 + 1e-12))


@case("design", "Design", "least_epsilon", "LeastEpsilon", "frontier", "Frontier", "Score")
def designs(rng: np.random.Generator) -> None:
    """A design keeps its promise exactly, no random mechanism beats its bound, and linear scores are a program's."""
    n = int(rng.integers(2, 5))
    prior = distribution(rng, n)
    if min(prior) < Fraction(1, 1000):
        return
    epsilon = float(rng.uniform(0.1, 1.2))
    found = dv.design(dv.Prior(prior), dv.PML(epsilon))
    exact = found.channel
    q = [sum(p * row[y] for p, row in zip(prior, exact.matrix, strict=True)) for y in range(exact.matrix.shape[1])]
    lift = max(Fraction(row[y]) / q[y] for row in exact.matrix for y in range(len(q)) if q[y] > 0)
    at_most("the design's pml", mp.log(mpf(lift)), mp.mpf(epsilon))
    at_least("bound", found.bound * (1 + 1e-12), found.utility)
    p = np.array([float(v) for v in prior])
    for _ in range(20):
        channel = rng.dirichlet(np.full(4, 0.5), size=n)
        inner = p @ channel
        shrink = 1.0
        over = (channel / inner).max()
        if over > math.exp(epsilon):
            shrink = (math.exp(epsilon) - 1) / (over - 1)
        kept = dv.Joint(p, shrink * channel + (1 - shrink) * inner)
        at_most("no random mechanism beats the bound", dv.mutual_information(kept), found.bound * (1 + 1e-9) + 1e-12)
    truth = linear_truth(p, epsilon)
    score = dv.design(dv.Prior(prior), dv.PML(epsilon), utility=dv.Score(np.eye(n)), outcomes=list(range(n)))
    same("linear score", score.bound, truth, 1e-6, 1e-9)


def linear_truth(p: np.ndarray, epsilon: float) -> float:
    """Return the largest P(Y = X) under a bound on the lift, by a linear program in the channel's entries."""
    n = len(p)
    score = -np.diag(p).ravel()
    rows = []
    for x in range(n):
        for y in range(n):
            row = np.zeros((n, n))
            row[x, y] += 1
            row[:, y] -= math.exp(epsilon) * p
            rows.append(row.ravel())
    equal = np.kron(np.eye(n), np.ones((1, n)))
    return -linprog(score, A_ub=np.array(rows), b_ub=np.zeros(n * n), A_eq=equal, b_eq=np.ones(n), bounds=(0, 1)).fun


@case("audit", "Audit", "contingency", "Contingency")
def counts_of_a_table(rng: np.random.Generator) -> None:
    d = drawn(rng, most=3, form="float")
    joint = d.joint()
    rows = int(rng.integers(30, 400))
    cell = np.outer(joint.p, np.ones(joint.channel.shape[1])) * joint.channel.floats
    drawn_cells = rng.choice(cell.size, size=rows, p=cell.ravel() / cell.sum())
    x, y = np.divmod(drawn_cells, cell.shape[1])
    table = pa.table({"x": [f"x{v}" for v in x], "y": [f"y{v}" for v in y]})
    found = dv.audit(table, secret="x", released="y")
    observed = np.zeros(cell.shape)
    np.add.at(observed, (x, y), 1)
    kept = observed[observed.sum(axis=1) > 0][:, observed.sum(axis=0) > 0]
    rates, q = kept / kept.sum(axis=1, keepdims=True), kept.sum(axis=0) / rows
    same("audit, estimate of pml", found.measures["pml"].estimate, np.log((rates / q).max()), 1e-9, 1e-12)
    same(
        "audit, estimate of ldp",
        found.measures["ldp"].estimate,
        np.log((rates.max(axis=0) / rates.min(axis=0)).max()) if (rates.min(axis=0) > 0).all() else math.inf,
        1e-9,
        1e-12,
    )
    for name in ("pml", "ldp", "pmc"):
        assert found.measures[name].lower <= found.measures[name].upper
    counted = dv.contingency(table, ["x", "y"])
    assert sorted(counted.counts.tolist()) == sorted(int(v) for v in observed.ravel() if v > 0)
    if rows > 200 and max(gains(d).values()) < mp.inf:
        between("audit", found.measures["pml"].lower * 0, max(gains(d).values()), math.inf)


@case("estimate_frequencies", "Frequencies")
def frequencies(rng: np.random.Generator) -> None:
    n, rows, epsilon = int(rng.integers(2, 5)), int(rng.integers(50, 5000)), float(rng.uniform(0.7, 4))
    keep = math.exp(epsilon) / (math.exp(epsilon) + n - 1)
    mechanism = dv.mechanisms.randomized_response([f"x{i}" for i in range(n)], epsilon=epsilon)
    counts = rng.multinomial(rows, rng.dirichlet(np.ones(n)))
    table = pa.table({"x": [f"x{i}" for i in range(n) for _ in range(counts[i])]})
    found = dv.estimate_frequencies(table, mechanism, column="x")
    other = (1 - keep) / (n - 1)
    for value, frequency, low, high in zip(found.values, found.frequency, found.lower, found.upper, strict=True):
        share = counts[int(str(value)[1:])] / rows
        same("estimate", frequency, (share - other) / (keep - other), 1e-6, 1e-9)
        assert found.empty or low <= high
    least = counts.min() / rows  # the rows were drawn without the mechanism, which gives each outcome `other` at least
    assert not (found.empty and least >= other), "frequencies explain these rows"
    if least < other - 6 * math.sqrt(other / rows):
        assert found.empty, "no frequencies explain these rows"
        assert any("do not come from this mechanism" in one for one in found.warnings)


@case("guessability", "Guessability")
def guesses(rng: np.random.Generator) -> None:
    secrets = rng.integers(0, 2, size=300)
    found = dv.guessability(secrets, secrets + rng.normal(scale=0.4, size=300))
    at_most("guessability", found.lower, found.accuracy)
    at_least("guessability", found.upper, found.accuracy)
    same("before", found.before, max(np.bincount(secrets)) / 300, 0.5)


@case("release", "Receipt")
def released(rng: np.random.Generator) -> None:
    """The receipt's promises are those of the mechanism, and draws are in its proportions (1 in 10^12 by chance)."""
    epsilon = float(rng.uniform(0.3, 3))
    names = ["a", "b", "c"]
    mechanism = dv.mechanisms.randomized_response(names, epsilon=epsilon)
    rows = 3000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.parquet"
        receipt = dv.release(pa.table({"x": ["a"] * rows}), path, column="x", mechanism=mechanism)
        kept = pq.read_table(path).column(0).to_pylist().count("a")
    at_least("receipt", receipt.guarantees["ldp"] * (1 + 1e-9), epsilon)
    share = math.exp(epsilon) / (math.exp(epsilon) + 2)
    low, high = stats.binom.ppf([5e-13, 1 - 5e-13], rows, share)
    between("share of rows that stay", low, kept, high)


@case("preview")
def previewed(rng: np.random.Generator) -> None:
    """No half-width is below 1.9 sqrt((sum_y q_y B_yx^2 - P_x^2) / n), with the inverse B in 60 digits."""
    counts = rng.integers(5, 500, size=3)
    rows = distribution(rng, 3, span=0.5), distribution(rng, 3, span=0.5), distribution(rng, 3, span=0.5)
    matrix = mp.matrix([[mpf(v) for v in row] for row in rows])
    if abs(mp.det(matrix)) < mp.mpf("1e-3"):
        return
    names = ["a", "b", "c"]
    table = pa.table({"x": [name for name, n in zip(names, counts, strict=True) for _ in range(n)]})
    found = dv.preview(table, column="x", mechanism=dv.Channel(rows, names, ["u", "v", "w"]))
    p = [mp.mpf(int(n)) / int(counts.sum()) for n in counts]
    q = [mp.fsum(p[x] * matrix[x, y] for x in range(3)) for y in range(3)]
    inverse = matrix**-1
    spread = [mp.sqrt(mp.fsum(q[y] * inverse[y, x] ** 2 for y in range(3)) - p[x] ** 2) for x in range(3)]
    widths = {str(value.value): value.half_width for value in found.levels[0].values}
    for x, name in enumerate(names):
        at_least("preview", widths[name], min(mp.mpf("1.9") * spread[x] / mp.sqrt(int(counts.sum())), mp.mpf("0.5")))


@case("publish")
def published(rng: np.random.Generator) -> None:
    """Counts are off by no more than their noise can be (1 in 10^12 by chance), and what is promised is 2 / scale."""
    epsilon, counts = float(rng.uniform(0.2, 3)), rng.integers(0, 60, size=3)
    names = ["a", "b", "c"]
    table = pa.table({"x": [name for name, n in zip(names, counts, strict=True) for _ in range(n)]})
    if table.num_rows == 0:
        return
    found = dv.publish(table, dv.Count("x"), guarantee=f"dp={epsilon}", values={"x": names}, noise="laplace")
    at_most("what is promised", found.guarantees["dp"], epsilon)
    scale = found.queries[0]["scale"]
    at_least("what is promised", found.guarantees["dp"] * (1 + 1e-9), 2 / mpf(scale))
    shown = zip(["a", "b", "c", "other", "no answer"], [*counts, 0, 0], found.table["value"].to_pylist(), strict=True)
    for name, n, value in shown:
        if value is None:  # its interval holds every number of rows that there can be
            assert 2 * found.queries[0]["half_width"] >= table.num_rows
            continue
        assert abs(value - n) <= 30 * scale + 1, (name, n, value, scale)


@case("publish")
def neighbors_move_no_further(rng: np.random.Generator) -> None:
    """What one unit changes of the exact numbers, with gaps, text and unlisted values, is within what noise hides."""
    cells = {
        "g": ["a", "b", "", "z", "other"],
        "h": ["u", "w", ""],
        "n": ["0", "3", "9", "-5", "1e9", "", "many", "2.5", "nan", "4"],
    }
    rows, people = int(rng.integers(3, 12)), int(rng.integers(2, 5))
    table = {name: [str(rng.choice(of)) for _ in range(rows)] for name, of in cells.items()}
    table["who"] = [str(rng.integers(people)) for _ in range(rows)]
    persons, added = bool(rng.integers(2)), bool(rng.integers(2))
    gone = [i for i in range(rows) if (table["who"][i] == table["who"][0] if persons else i == 0)]
    kept = {name: [one for i, one in enumerate(column) if i not in gone] for name, column in table.items()}
    fresh = int(rng.integers(1, 4)) if persons else 1
    if added:
        fresh = 0
    there = {name: kept[name] + [str(rng.choice(cells[name])) for _ in range(fresh)] for name in cells}
    there["who"] = kept["who"] + ["new"] * fresh
    low = int(rng.integers(-2, 4))
    bounds, by = (low, low + int(rng.integers(1, 9))), pick(rng, [(), "g"])
    of_people = [dv.People("g"), dv.People("h", "g"), dv.People()] if persons else []
    asked = [
        *of_people, dv.Count("g"), dv.Count("g", "h"), dv.Sum("n", bounds, by),
        dv.Mean("n", bounds, by), dv.Variance("n", bounds, by),
        dv.Proportion("n", "3", by), dv.Quantiles("n", bounds, by, probabilities=(pick(rng, [0.25, 0.5]),)), dv.Count(),
    ]  # fmt: skip
    request = Publish(
        statistics=asked, guarantee="dp=1", values={"g": pick(rng, [["a", "b"], ["a"]]), "h": ["u"]},
        no_other=bool(rng.integers(2)), neighbors="added" if added else "replaced",
        **(_bounds(rng) if persons else {"per_row": True}),
    )  # fmt: skip
    made = [ready(task(request), _with_gaps(one), "local") for one in (table, there)]
    assert made[0].plan == made[1].plan
    assert made[0].noise == made[1].noise
    unit = made[0].task.unit
    exact = [counted(one.table, one.plan.queries, one.values, unit) for one in made]
    for query, here, other in zip(made[0].plan.queries, exact[0].totals, exact[1].totals, strict=True):
        if query.kind == "ranks":
            above, below = query.only.numerator, query.only.denominator
            pairs = zip(here, other, strict=True)
            moved = [abs(scores(a, above, below) - scores(b, above, below)).max() for a, b in pairs]
            l1, l2 = 2 * query.draws * sum(moved), query.draws * sum(step * step for step in moved)
        else:
            moved = abs(np.asarray(here) - np.asarray(other)).ravel()
            l1, l2 = int(moved.sum()), int((moved**2).sum())
        most = query.changes(unit)
        at_most(f"{query.kind} of {query.column} by {query.by}", l1, most[0])
        at_most(f"squares, {query.kind} of {query.column} by {query.by}", l2, most[1])


def _bounds(rng: np.random.Generator) -> dict[str, Any]:
    """Return bounds on what counts of a person: rows, and perhaps groups and rows in each."""
    more = {"groups_per_person": int(rng.integers(1, 4)), "rows_per_group": int(rng.integers(1, 4))}
    bounds = {name: value for name, value in more.items() if rng.integers(2)}
    return {"person": "who", "rows_per_person": int(rng.integers(1, 6))} | bounds


def _with_gaps(table: dict[str, list[str]]) -> pa.Table:
    """Return texts as a file gives them: an empty one is missing."""
    return pa.table({name: pa.array([cell or None for cell in column], pa.string()) for name, column in table.items()})


@case("publish", "Published")
def records_behind_counts(rng: np.random.Generator) -> None:
    """What tables of counts say of one record, against every outcome near the cells; farther off nothing changes."""
    sizes = {"u": int(rng.integers(2, 4)), "v": int(rng.integers(2, 4))}
    margins = [("u",), ("v",), ("u", "v")]
    chosen = [margins[i] for i in sorted(rng.choice(3, size=int(rng.integers(1, 3)), replace=False))]
    used = [name for name in ("u", "v") if any(name in by for by in chosen)]
    records = [(i, j) for i in range(sizes["u"] if "u" in used else 1) for j in range(sizes["v"] if "v" in used else 1)]
    weights = rng.integers(1, 50, size=len(records))
    shares = [Fraction(int(w), int(weights.sum())) for w in weights]
    if max(shares) == 1 or min(shares) > Fraction(1, 2):
        return
    named = {
        tuple(str(part) for part, name in zip(record, "uv", strict=True) if name in used): share
        for record, share in zip(records, shares, strict=True)
    }
    values = {name: [str(i) for i in range(sizes[name])] for name in used}
    columns = {name: [str(i) for i in rng.integers(0, sizes[name], size=9)] for name in ("u", "v")}
    kind, level = pick(rng, ["dp", "pml", "pmc", "lip"]), float(rng.uniform(0.05, 1.0))
    if kind in ("pml", "lip") and level >= -math.log(float(min(shares))):
        return
    ordered = list(dict.fromkeys(name for by in chosen for name in by))
    prior = {tuple(key[used.index(name)] for name in ordered): share for key, share in named.items()}
    found = dv.publish(
        pa.table(columns), [dv.Count(*by) for by in chosen], guarantee=f"{kind}={level!r}", record_prior=prior,
        values=values, split=pick(rng, ["equal", "mean-squared", "need"]), no_other=True,
    )  # fmt: skip
    at_most(kind, found.guarantees[kind], level)
    hot = []
    for record in records:
        place = dict(zip("uv", record, strict=True))
        cells: list[int] = []
        for by in chosen:
            size = math.prod(sizes[name] for name in by)
            at = place[by[0]] if len(by) == 1 else place["u"] * sizes["v"] + place["v"]
            cells += [int(i == at) for i in range(size)]
        hot.append(cells)
    if len(hot[0]) > 11:
        return
    rates = [1 / q["scale"] for q in found.queries for _ in range(q["cells"])]
    outcomes = np.array(np.meshgrid(*[[0, 1]] * len(rates))).reshape(len(rates), -1).T
    log = -np.array([(abs(outcomes - np.array(x)) * np.array(rates)).sum(axis=1) for x in hot])
    outer = np.array([float(p) for p in shares]) @ np.exp(log)
    at_least("ldp", found.loss * (1 + 1e-13), (log.max(axis=0) - log.min(axis=0)).max())
    at_least("pml", found.guarantees["pml"] + 1e-11, (log.max(axis=0) - np.log(outer)).max())
    at_least("pmc", found.guarantees["pmc"] + 1e-11, (np.log(outer) - log.min(axis=0)).max())
    same("pml is attained", found.guarantees["pml"], (log.max(axis=0) - np.log(outer)).max(), 1e-9, 1e-10)


@case("audit_membership", "MembershipAudit")
def memberships(rng: np.random.Generator) -> None:
    """Bounds at one threshold from binomial tails in 60 digits, and those of a band, which are no better."""
    n, m = int(rng.integers(5, 80)), int(rng.integers(5, 80))
    hits, alarms = int(rng.integers(2, n - 1)), int(rng.integers(0, m - 1))
    pi, risk = mp.mpf(str(pick(rng, [0.01, 0.1, 0.5]))), mp.mpf("0.05")
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], [hits, n - hits, alarms, m - alarms])
    found = dv.audit_membership(scores, np.arange(n + m) < n, base_rate=float(pi), cut=0.5)

    def tail(k: int, size: int, p: mp.mpf) -> mp.mpf:
        return mp.fsum(mp.binomial(size, i) * p**i * (1 - p) ** (size - i) for i in range(k, size + 1))

    def end(risks: Callable[[mp.mpf], mp.mpf]) -> mp.mpf:
        low, high = mp.mpf(0), mp.mpf(1)
        for _ in range(140):
            low, high = ((low + high) / 2, high) if risks((low + high) / 2) < risk / 2 else (low, (low + high) / 2)
        return low

    t = end(lambda p: tail(hits, n, p))
    f = 1 - end(lambda p: tail(m - alarms, m, p))
    epsilon = max(mp.log(t / f), mp.log((1 - f) / (1 - t)), 0)
    same("epsilon", found.epsilon, epsilon, 1e-9, 1e-9)
    same("mu", found.mu, max(0, mp.sqrt(2) * (mp.erfinv(2 * t - 1) - mp.erfinv(2 * f - 1))), 1e-9, 1e-9)
    lift = max(1, t / (pi * t + (1 - pi) * f))
    same("lift", found.lift, lift, 1e-9)
    same("precision", found.precision, pi * lift, 1e-9)
    absent = (1 - f) / (pi * (1 - t) + (1 - pi) * (1 - f))
    same("pml", found.pml, mp.log(max(lift, absent)), 1e-9, 1e-9)
    assert (found.members, found.others, found.delta, found.violated) == (n, m, 0, False)
    assert found.rates is not None
    same("tpr_at", found.tpr_at(float(found.rates.upper[0])), t if t > f else f, 1e-9)
    if found.witness is not None:
        assert found.witness.positives == (hits, alarms)
    claim = dv.audit_membership(scores, np.arange(n + m) < n, base_rate=float(pi), claim="dp=1", cut=0.5)
    assert claim.promise is not None
    at_least("promise", claim.promise.upper, pi * mp.e / (pi * mp.e + 1 - pi))
    same("false_alarms", claim.false_alarms, f if t > f else mp.mpf("0.01"), 1e-9)
    at_most("a band", dv.audit_membership(scores, np.arange(n + m) < n).epsilon, epsilon * (1 + mp.mpf("1e-9")))


@case("one_run", "one_run_gaussian", "anytime")
def guesses_in_one_run(rng: np.random.Generator) -> None:
    """The bound is where the probability of so many right guesses is the risk, in 60 digits."""
    r = int(rng.integers(1, 60))
    v, m, delta = int(rng.integers(1, r + 1)), r + int(rng.integers(0, 100)), float(pick(rng, [0.0, 1e-6, 1e-3]))

    def p_value(epsilon: mp.mpf) -> mp.mpf:
        q = 1 / (1 + mp.exp(-epsilon))
        mass = [mp.binomial(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
        below = max(mp.fsum(mass[v - i : v]) / i for i in range(1, v + 1))
        return mp.fsum(mass[v:]) + 2 * m * mp.mpf(delta) * below

    risk, found = 1 - mp.mpf(0.95), dv.dp.one_run(r, v, m, delta)
    if found:
        at_most("one_run", p_value(mp.mpf(found)), risk)
    at_least("one_run", p_value(mp.mpf(found) + mp.mpf("1e-6")), risk)
    mu = dv.dp.one_run_gaussian(r, v, m)
    gain, loss = risk * v / m, risk * (r - v) / m
    for i in range(v - 1, -1, -1):
        quantile = mp.sqrt(2) * mp.erfinv(2 * gain - 1) if gain < 1 else mp.inf
        higher = max(loss, mp.ncdf(quantile - mu))
        gain, loss = min(gain + mp.mpf(i) / (r - i) * (higher - loss), mp.mpf(1)), higher
    if mu:
        at_least("one_run_gaussian", gain + loss, mp.mpf(r) / m)
    right = rng.random(r) < 0.9
    bound = dv.dp.anytime(right)
    if bound:
        wealth = []
        q = 1 / (1 + mp.exp(-mp.mpf(bound)))
        for k in range(1, r + 1):
            h, w = int(right[:k].sum()), int((~right[:k]).sum())
            whole = mp.betainc(h + 1, w + mp.mpf("0.5"), q, 1)
            wealth.append(whole / (2 * mp.sqrt(1 - q)) / (q**h * (1 - q) ** w))
        same("anytime", max(wealth), 20, 1e-6)


@case("audit_attribute", "AttributeAudit", "audit_synthetic", "SyntheticAudit")
def attributes(rng: np.random.Generator) -> None:
    """Counts, binomial sums and ends of intervals in 60 digits; a synthetic table about one column by hand."""
    n = int(rng.integers(3, 40))
    truth, said, filled = ([int(v) for v in rng.integers(0, 2, n)] for _ in range(3))
    other = [int(v) for v in rng.integers(0, 2, 9)]
    found = dv.audit_attribute(said, filled, truth, others=(other, [0] * 9), claim="lift=1")
    right, without = (
        [a == b for a, b in zip(said, truth, strict=True)],
        [a == b for a, b in zip(filled, truth, strict=True)],
    )
    both = sum(a and b for a, b in zip(right, without, strict=True))
    assert (found.targets, found.right, found.baseline_right, found.both_right) == (n, sum(right), sum(without), both)
    assert (found.others, found.others_right) == (9, other.count(0))
    alone, apart = sum(right) - both, sum(right) + sum(without) - 2 * both
    same(
        "p_value",
        found.p_value,
        mp.fsum(mp.binomial(apart, i) for i in range(alone, apart + 1)) / mp.mpf(2) ** apart,
        1e-9,
    )

    def tail(k: int, size: int, p: float) -> mp.mpf:
        return mp.fsum(
            mp.binomial(size, i) * mp.mpf(p) ** i * (1 - mp.mpf(p)) ** (size - i) for i in range(k, size + 1)
        )

    low = stats.beta.ppf(0.05 / 3, sum(right) or 1, n - sum(right) + 1)
    high = stats.beta.ppf(1 - 0.05 / 3, sum(without) + 1, max(n - sum(without), 1))
    if sum(right) > 1 and sum(without) < n - 1:
        same("low", tail(sum(right), n, low), mp.mpf("0.05") / 3, 1e-6)
        same("lift", found.lift, max(1.0, low / high), 1e-6)
        same("pml", found.pml, mp.log(found.lift), 1e-9, 1e-12)
        at_least("others_lift", found.others_lift, 1)
    assert found.violated is (found.lift > 1)
    alike = dv.results.AttributeAudit.of_counts(n, sum(right), sum(without), both, (9, other.count(0)), claim="lift=1")
    assert alike == found
    table = pa.table({"x": [int(v) for v in rng.integers(0, 4, n)], "s": said})
    made = dv.audit_synthetic(table, table, table, secret="s", known=["x"])
    votes = [[b for a, b in zip(table["x"].to_pylist(), said, strict=True) if a == x] for x in table["x"].to_pylist()]
    best = sum(2 * v.count(s) > len(v) for v, s in zip(votes, said, strict=True))
    even = sum(2 * v.count(s) == len(v) for v, s in zip(votes, said, strict=True))
    assert best <= made.inference.right <= best + even
    assert (made.membership.epsilon, made.violated) == (0, False)


@case("calibrate", "Calibration")
def calibrated(rng: np.random.Generator) -> None:
    """Noise of one Gaussian against its distribution function, and of Laplace noise by addition, in 60 digits."""
    epsilon, delta = float(rng.uniform(0.05, 6)), float(10 ** rng.uniform(-10, -2))
    found = dv.calibrate("gaussian", dv.ADP(epsilon, delta))

    def tail(e: mp.mpf) -> mp.mpf:
        mu = 1 / mp.mpf(found.value)
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)

    at_most("calibrate", tail(mp.mpf(epsilon)), mp.mpf(delta))
    at_least("calibrate", tail(mp.mpf(epsilon) - mp.mpf("1.1e-6")), mp.mpf(delta))
    assert (found.sought, found.count, found.goal, found.mechanism.sigma) == (
        "sigma",
        1,
        dv.ADP(epsilon, delta),
        found.value,
    )
    at_most("level", found.level, epsilon)
    count = int(rng.integers(1, 50))
    laplace = dv.calibrate("laplace", dv.LDP(epsilon), count=count)
    between("scale", laplace.value * (1 - 4e-6 / epsilon), count / mp.mpf(epsilon), laplace.value * (1 + 1e-15))
