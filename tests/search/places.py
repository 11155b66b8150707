"""Metric privacy: distances, levels, bounds and guesses against their definitions in 60 digits."""

import math
from fractions import Fraction as F
from typing import Any

import mpmath as mp
import numpy as np
from scipy import stats

import divulge as dv
from search.registry import at_least, at_most, case, mpf, same
from search.subjects import distribution


def drawn(rng: np.random.Generator) -> tuple[dv.Metric, list[list[Any]]]:
    """Return a metric of 2 to 8 places and its distances in 60 digits."""
    kind = rng.integers(4)
    if kind == 0:
        w, h, step = int(rng.integers(1, 4)), int(rng.integers(2, 4)), float(rng.uniform(0.1, 3))
        at = [(x, y) for y in range(h) for x in range(w)]
        return dv.Metric.grid(w, h, step), [
            [mp.sqrt((a - c) ** 2 + (b - d) ** 2) * mpf(step) for c, d in at] for a, b in at
        ]
    if kind == 1:
        values = np.cumsum(rng.uniform(0.1, 2, int(rng.integers(2, 8)))).tolist()
        return dv.Metric.line(values), [[abs(mpf(a) - mpf(b)) for b in values] for a in values]
    n = int(rng.integers(2, 8))
    edges = {(i, int(rng.integers(0, i))): F(int(rng.integers(1, 30)), 7) for i in range(1, n)}
    edges |= {(i, j): F(int(rng.integers(1, 30)), 7) for i in range(n) for j in range(i) if rng.random() < 0.2}
    found = [[F(0) if i == j else F(10**6) for j in range(n)] for i in range(n)]
    for (i, j), length in edges.items():
        found[i][j] = found[j][i] = min(found[i][j], length)
    for k in range(n):
        found = [[min(found[i][j], found[i][k] + found[k][j]) for j in range(n)] for i in range(n)]
    metric = dv.Metric.graph(edges)
    order = [list(metric.labels).index(i) for i in range(n)]
    back = [order.index(k) for k in range(n)]
    matrix = [[found[a][b] for b in back] for a in back]
    if kind == 2:
        metric = dv.Metric.of(matrix, metric.labels)
    return metric, [[mpf(v) for v in row] for row in matrix]


def level(rows: list[list[Any]], d: list[list[Any]]) -> Any:
    worst = mp.mpf(0)
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            for a, b in zip(one, other, strict=True):
                if a and i != j:
                    worst = max(worst, mp.log(a / b) / d[i][j] if b else mp.inf)
    return worst


def released(rng: np.random.Generator, metric: dv.Metric) -> dv.Channel:
    kind = int(rng.integers(3))
    if kind == 0:
        return dv.mechanisms.exponential(metric, float(rng.uniform(0.2, 3)))
    weights = np.exp(rng.normal(0, 0.5, (len(metric), int(rng.integers(1, 5)))))
    if kind == 1:
        weights[rng.random(weights.shape) < 0.1] = 0
        weights[:, 0] += 0.1
    return dv.Channel(weights / weights.sum(axis=1, keepdims=True), metric.labels)


def rational(matrix: Any) -> list[list[Any]]:
    rows = [[mpf(float(v)) for v in row] for row in matrix]
    return [[v / mp.fsum(row) for v in row] for row in rows]


@case("MetricPrivacy", "Metric")
def metric_privacy(rng: np.random.Generator) -> None:
    metric, d = drawn(rng)
    n = len(metric)
    for i in range(n):
        for j in range(n):
            same("distance", metric.matrix[i, j], d[i][j], 1e-15)
            same("distance", metric.distance(metric.labels[i], metric.labels[j]), d[i][j], 1e-15)
    same("diameter", metric.diameter, max(map(max, d)), 1e-15)
    same("least", metric.least, min(v for row in d for v in row if v), 1e-15)
    channel = released(rng, metric)
    truth = level(rational(channel.matrix), d)
    found = dv.MetricPrivacy.of(channel, metric)
    at_least("level", found.epsilon, truth)
    same("level", found.epsilon, truth, 1e-11, 1e-12)
    for share in (1 - 1e-9, 1 + 1e-9):
        if 0 < truth < mp.inf:
            asked = float(truth) * share
            assert dv.MetricPrivacy(asked, metric).holds_for(channel).holds is (share > 1)
    epsilon = float(rng.uniform(0.05, 3))
    shares = distribution(rng, n)  # doubles that add up to 1: bounds by p and by 1 - p are the same
    prior = dv.Prior([float(v) for v in shares], metric.labels)
    p = [mpf(v) for v in shares]
    promise = dv.MetricPrivacy(epsilon, metric)
    e = mpf(epsilon)
    pml = max(-mp.log(mp.fsum(p[j] * mp.exp(-e * d[i][j]) for j in range(n))) for i in range(n))
    pmc = max(mp.log(mp.fsum(p[j] * mp.exp(e * d[i][j]) for j in range(n))) for i in range(n))
    for kind, bound in ((dv.PML, pml), (dv.PMC, pmc)):
        implied = promise.implies(kind, prior=prior).epsilon
        at_least(kind.kind, implied, bound, 1e-16)
        same(kind.kind, implied, bound, 1e-12)
    same("ldp", promise.implies(dv.LDP).epsilon, e * max(map(max, d)), 1e-14)
    same("rate", dv.LDP(epsilon).implies(dv.MetricPrivacy, metric=metric).epsilon, e / mpf(metric.least), 1e-14)
    capacity = promise.implies(dv.guarantees.BayesCapacity).ratio
    similarity = mp.matrix([[mp.exp(-e * v) for v in row] for row in d])
    magnitude = mp.lu_solve(similarity, mp.ones(n, 1))
    if min(magnitude) >= 0:
        same("capacity", capacity, mp.fsum(magnitude), 1e-9)
    for column in (0, n - 1):  # a mechanism has no more
        one = [mp.exp(-e * v) / 2 for v in d[column]]
        at_least("capacity", capacity, max(one) + max(1 - v for v in one), 1e-12)
    scaled = metric.scaled(2)
    same("scaled", scaled.diameter, 2 * max(map(max, d)), 1e-15)
    assert sorted(metric.reordered(tuple(metric.labels)[::-1]).matrix.ravel()) == sorted(metric.matrix.ravel())
    both = promise + dv.MetricPrivacy(1, metric)
    same("sum", both.epsilon, e + 1, 1e-15)
    for k, length in enumerate(metric.floats):
        same("length", float(metric.length(k).mid()), length, 1e-15)
    assert {*metric.pairs[0].tolist(), *metric.pairs[1].tolist()} == set(range(n))
    weights = rng.dirichlet([1.0] * n)
    around, share = metric.labels[0], float(rng.uniform(0, 1))
    held = metric.radius(around, weights, share)
    inside = [math.fsum(w for w, v in zip(weights, metric.matrix[0], strict=True) if v <= r) for r in (held,)]
    assert inside[0] >= share - 1e-9
    assert math.fsum(w for w, v in zip(weights, metric.matrix[0], strict=True) if v < held) <= share + 1e-9


@case("elastic_rates")
def rates_of_places(rng: np.random.Generator) -> None:
    """At the rate the bound on the leakage of a place is kept, a little above it is broken."""
    metric, d = drawn(rng)
    prior, most = dv.Prior(rng.dirichlet([1.0] * len(metric)), metric.labels), float(rng.uniform(0.01, 3))
    p = [mpf(float(v)) for v in prior.probabilities]

    def mass(x: int, rate: Any) -> Any:
        return mp.fsum(w * mp.exp(-rate * far) for w, far in zip(p, d[x], strict=True))

    for x, rate in enumerate(dv.adversaries.elastic_rates(prior, metric, most).tolist()):
        least = mp.exp(-mpf(most))
        if rate == math.inf:
            at_least("mass", p[x], least, 1e-12)
            continue
        at_least("mass", mass(x, mpf(rate)), least, 1e-40)
        at_most("mass", mass(x, mpf(rate) * (1 + mpf(10) ** -9)), least, 1e-40)


@case("remap", "expected_distance")
def guessed_places(rng: np.random.Generator) -> None:
    metric, d = drawn(rng)
    n = len(metric)
    prior = dv.Prior(rng.dirichlet([1.0] * n), metric.labels)
    channel = released(rng, metric)
    p = [mpf(float(v)) for v in prior.probabilities]
    rows = [[mpf(float(v)) for v in row] for row in channel.matrix]
    best = mp.fsum(
        min(mp.fsum(p[x] * rows[x][y] * d[x][z] for x in range(n)) for z in range(n)) for y in range(channel.shape[1])
    )
    guessed = dv.remap(prior, channel, metric)
    same("remapped", dv.adversaries.expected_distance(prior, guessed, metric), best, 1e-9, 1e-12)
    response = dv.mechanisms.exponential(metric, float(rng.uniform(0.2, 3)))
    mean = mp.fsum(p[x] * mpf(float(response.matrix[x, y])) * d[x][y] for x in range(n) for y in range(n))
    same("mean distance", dv.adversaries.expected_distance(prior, response, metric), mean, 1e-12)
    at_most(
        "best guess", dv.adversaries.expected_distance(prior, dv.remap(prior, response, metric), metric), mean, 1e-12
    )


@case("noisy_places")
def places_with_noise(rng: np.random.Generator) -> None:
    """Fresh draws from one cell: chi-squared against lattice points added up one after another."""
    south, west = float(rng.uniform(-60, 60)), float(rng.uniform(-180, 180))
    step, a, rows = F(int(rng.integers(1, 2000)), 1000), float(rng.uniform(0.3, 3)), int(rng.integers(1, 4))
    side = float(step) / (6371.0088 * math.pi / 180)  # a cell in degrees of latitude
    w, h = (int(n) for n in rng.integers(1, 6, 2))
    north = south + side * (h - 0.5)
    narrow = math.cos(math.radians((south + north) / 2))
    box = (south, west, north, (west + side * (w - 0.5) / narrow + 180) % 360 - 180)
    x, y, draws = int(rng.integers(w)), int(rng.integers(h)), 3000
    lat = [min(south + side * (y + 0.4), north)] * draws
    lon = [(west + side * (x + 0.4) / narrow + 180) % 360 - 180] * draws
    epsilon = F(a) / step * rows
    up, along = dv.noisy_places(lat, lon, f"{epsilon}/km", grid=f"{step}km", box=box, rows_per_person=rows)
    columns = np.floor((along - west) % 360 / side * narrow).astype(int)
    seen = np.zeros((w, h))
    np.add.at(seen, (columns, np.floor((up - south) / side).astype(int)), 1)
    at = np.arange(-150, 151)
    weights = np.exp(-a * np.hypot(at[:, None], at[None, :]))
    law = np.zeros((w, h))
    np.add.at(law, (np.clip(x + at, 0, w - 1)[:, None], np.clip(y + at, 0, h - 1)[None, :]), weights / weights.sum())
    order = np.argsort(-law.ravel())
    cuts = np.arange(np.count_nonzero(law * draws >= 50))  # cells with fewer count with the next one
    found, wanted = (np.add.reduceat(counted.ravel()[order], cuts) for counted in (seen, law * draws))
    square = float(((found - wanted) ** 2 / wanted).sum())
    at_most("chi-squared", square, stats.chi2.isf(1e-12, max(1, len(cuts) - 1)))


@case("Metric", "NoiseMechanism")
def rates_and_maps(rng: np.random.Generator) -> None:
    scale = float(rng.uniform(0.3, 4))
    slopes = {"laplace": 1 / mpf(scale), "logistic": 1 / mpf(scale), "gaussian": mp.inf}
    for kind, slope in slopes.items():
        same(kind, dv.NoiseMechanism(kind, "rademacher()", scale=scale).metric_rate, slope, 1e-15)
    df = float(rng.uniform(1, 9))
    heavy = dv.NoiseMechanism("student-t", "rademacher()", scale=scale, df=df)
    steepest = (df + 1) / (2 * mp.sqrt(df) * mpf(scale))  # of z -> (df + 1) z / (df s^2 + z^2), at z = s sqrt(df)
    same("student-t", heavy.metric_rate, steepest, 1e-14)
    lat, lon = rng.uniform(-60, 60) + rng.uniform(0, 0.3, 3), rng.uniform(-170, 170) + rng.uniform(0, 0.3, 3)
    found = dv.Metric.of_places(lat, lon)
    rad = [[mp.radians(mpf(v)) for v in axis] for axis in (lat, lon)]
    for i in range(3):
        for j in range(i):
            part = (
                mp.sin((rad[0][i] - rad[0][j]) / 2) ** 2
                + mp.cos(rad[0][i]) * mp.cos(rad[0][j]) * mp.sin((rad[1][i] - rad[1][j]) / 2) ** 2
            )
            same("on the map", found.matrix[i, j], 2 * mpf("6371.0088") * mp.asin(mp.sqrt(part)), 0.01)
