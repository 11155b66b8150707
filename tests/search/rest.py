"""Noise on numbers, designs, audits and estimates: brute force, linear programs and counting."""

import math
import tempfile
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats
from scipy.optimize import linprog

import divulge as dv
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
    """The receipt's promises are those of the mechanism, and draws are in its proportions (1 in 10^9 by chance)."""
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
    low, high = stats.binom.ppf([5e-10, 1 - 5e-10], rows, share)
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
    """Counts are off by no more than their noise can be (1 in 10^9 by chance), and what is promised is 2 / scale."""
    epsilon, counts = float(rng.uniform(0.2, 3)), rng.integers(0, 60, size=3)
    names = ["a", "b", "c"]
    table = pa.table({"x": [name for name, n in zip(names, counts, strict=True) for _ in range(n)]})
    if table.num_rows == 0:
        return
    found = dv.publish(table, dv.Count("x"), guarantee=f"dp={epsilon}", values={"x": names}, noise="laplace")
    at_most("what is promised", found.guarantees["dp"], epsilon)
    scale = found.queries[0]["scale"]
    at_least("what is promised", found.guarantees["dp"] * (1 + 1e-9), 2 / mpf(scale))
    for name, n, value in zip(names, counts, found.table["value"].to_pylist(), strict=True):
        assert abs(value - n) <= 24 * scale + 1, (name, n, value, scale)


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
        values=values, split=pick(rng, ["equal", "mean-squared"]),
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
