"""Sets of priors: closed forms, greedy against linear programs, and priors drawn from the sets."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import linprog
from support import ONE, THOROUGH, close_rows, dyadic_rows, few, random_channel, random_prior

import divulge as dv


def test_lower_bounded_closed_form() -> None:
    rng = np.random.default_rng(0)
    for exact in (False, True):
        channel = random_channel(rng, 4, 3, exact=exact)
        c = channel.floats
        for bound in (0, F(1, 10), F(1, 4)):
            b = float(bound)
            found = dv.measures.LowerBounded(4, bound).pml(channel)
            q = b * c.sum(axis=0) + (1 - 4 * b) * c.min(axis=0)
            assert found.values == pytest.approx(np.log(c.max(axis=0) / q), rel=1e-12)
            q = b * c.sum(axis=0) + (1 - 4 * b) * c.max(axis=0)
            assert dv.measures.LowerBounded(4, bound).pmc(channel).values == pytest.approx(
                np.log(q / c.min(axis=0)), rel=1e-12
            )
        assert dv.measures.LowerBounded(4, 0).pml(channel).max() == pytest.approx(dv.ldp(channel), rel=1e-12)
        uniform = dv.Joint(dv.Prior.uniform(4), channel)
        assert dv.measures.LowerBounded(4, F(1, 4)).lip(channel) == pytest.approx(dv.lip(uniform), rel=1e-12)
        assert dv.measures.LowerBounded(4, F(1, 4)).lift(channel) == pytest.approx(float(dv.lift(uniform)), rel=1e-12)


def _extreme_mean(center: np.ndarray, radius: float, values: np.ndarray) -> float:
    """The least mean of `values` in the l1 ball, by a linear program in (P, |P - center|)."""
    n, eye = len(center), np.eye(len(center))
    above = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]])
    right = np.concatenate([center, -center, [radius]])
    whole = np.concatenate([np.ones(n), np.zeros(n)])[None]
    answer = linprog(np.concatenate([values, np.zeros(n)]), A_ub=above, b_ub=right, A_eq=whole, b_eq=[1.0])
    return answer.fun


def test_the_greedy_answer_of_the_ball_is_the_linear_program() -> None:
    rng = np.random.default_rng(1)
    for _ in range(few(25)):
        channel, center = random_channel(rng, 5, 3), random_prior(rng, 5, zeros=0.2)
        radius = float(rng.choice([0.05, 0.4, 1.3, 2.0]))
        ball, c = dv.measures.L1Ball(center, radius), channel.floats
        leak, cost = ball.pml(channel), ball.pmc(channel)
        for y in range(3):
            lowest = _extreme_mean(center.floats, radius, c[:, y])
            highest = -_extreme_mean(center.floats, radius, -c[:, y])
            assert leak.values[y] == pytest.approx(math.log(c[:, y].max() / lowest), abs=1e-7)
            assert cost.values[y] == pytest.approx(math.log(highest / c[:, y].min()), abs=1e-7)
            worst = leak.priors[y].floats
            assert np.abs(worst - center.floats).sum() <= radius + 1e-12
            assert c[:, y].max() / (worst @ c[:, y]) == pytest.approx(math.exp(leak.values[y]), rel=1e-12)
        assert leak.max() == leak.values.max() == leak.to_dict()[leak.argmax()]


def test_the_set_bounds_each_of_its_priors() -> None:
    rng = np.random.default_rng(2)
    channel, center = random_channel(rng, 4, 3), random_prior(rng, 4)
    ball = dv.measures.L1Ball(center, 0.3)
    box = np.vstack([np.eye(4), -np.eye(4)])
    sets = {
        "ball": (ball, lambda p: np.abs(p - center.floats).sum() <= 0.3),
        "bounded": (dv.measures.LowerBounded(4, 0.1), lambda p: p.min() >= 0.1),
        "polytope": (dv.measures.Polytope(box, [0.5] * 4 + [-0.05] * 4), lambda p: p.max() <= 0.5 and p.min() >= 0.05),
    }
    for priors, inside in sets.values():
        leak, cost = priors.pml(channel), priors.pmc(channel)
        met = 0
        for _ in range(300):
            p = rng.dirichlet(np.ones(4))
            p = center.floats + 0.3 * (p - center.floats) if priors is ball else p
            if inside(p):
                met += 1
                assert (dv.pml((dv.Prior(p), channel)).values <= leak.values + 1e-9).all()
                assert (dv.pmc((dv.Prior(p), channel)).values <= cost.values + 1e-9).all()
        assert met > 5


def test_a_polytope_gives_the_same_as_the_closed_forms() -> None:
    rng = np.random.default_rng(3)
    channel = random_channel(rng, 4, 3)
    polytope = dv.measures.Polytope(-np.eye(4), [-0.1] * 4)
    bounded = dv.measures.LowerBounded(4, 0.1)
    for ours, theirs in ((polytope.pml(channel), bounded.pml(channel)), (polytope.pmc(channel), bounded.pmc(channel))):
        assert ours.values == pytest.approx(theirs.values, abs=1e-9)
    with pytest.raises(dv.DivulgeError, match="at least one prior"):
        dv.measures.Polytope(-np.eye(2), [-0.7, -0.7])


@pytest.mark.parametrize("seed", range(few(20)))
def test_a_convex_hull_is_as_bad_as_its_corners_and_all_that_is_between(seed: int) -> None:
    """Against the ratio corner by corner in fractions; no mixture is above it."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    counts = rng.integers(0, 4, size=(k, n)) + np.eye(n, dtype=int)[rng.integers(0, n, k)]
    rows = [[F(int(v), int(sum(row))) for v in row] for row in counts]
    noise = [[F(int(v), int(sum(row))) for v in row] for row in rng.integers(1, 6, size=(n, 3))]
    hull, there = dv.measures.ConvexHull(rows), counts.any(axis=0)
    q = [[sum(p * c[y] for p, c in zip(row, noise, strict=True)) for y in range(3)] for row in rows]
    tops = [max(c[y] for c, may in zip(noise, there, strict=True) if may) for y in range(3)]
    assert hull.possible().tolist() == there.tolist()
    assert hull.lift(noise) == max(top / min(row[y] for row in q) for y, top in enumerate(tops))
    floats = dv.measures.ConvexHull([[float(v) for v in row] for row in rows])
    assert floats.lift(noise) == pytest.approx(float(hull.lift(noise)), rel=1e-12)
    for weights in rng.dirichlet(np.ones(k), 20):
        joint = dv.Joint(weights @ floats.corners / (weights @ floats.corners).sum(), dv.Channel(noise).floats)
        assert dv.pml(joint).max() <= hull.pml(noise).max() + 1e-12
        assert dv.pmc(joint).max() <= hull.pmc(noise).max() + 1e-12
    ends = [min(c[y] for c, may in zip(noise, there, strict=True) if may) for y in range(3)]
    least = max(max(row[y] for row in q) / low for y, low in enumerate(ends))
    assert hull.pmc(noise).max() == pytest.approx(math.log(least), abs=1e-12)


def test_a_secret_that_no_prior_allows_does_not_count() -> None:
    channel = dv.Channel([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    without = dv.measures.Polytope([[0.0, 0.0, 1.0]], [0.0])
    assert math.isfinite(without.pmc(channel).max())
    assert dv.measures.LowerBounded(3, 0).pmc(channel).max() == math.inf


def test_the_radius_from_samples_holds_with_its_confidence() -> None:
    rng = np.random.default_rng(4)
    for n in (2, 5, 40):
        truth = rng.dirichlet(np.ones(n))
        outside = 0
        runs = 200 if THOROUGH else 60
        for _ in range(runs):
            counts = rng.multinomial(300, truth)
            ball = dv.measures.L1Ball.from_samples([int(v) for v in counts], confidence=0.9)
            outside += np.abs(ball.center.floats - truth).sum() > ball.radius
        assert outside <= 0.1 * runs
    assert (
        dv.measures.L1Ball.from_samples([30] * 200).radius
        < math.sqrt(2 * (200 * math.log(2) + math.log(20)) / 6000) * 0.99
    )
    weissman = math.sqrt(2 * math.log((2**3 - 2) / 0.05) / 300)
    assert dv.measures.L1Ball.from_samples([100] * 3).radius == pytest.approx(weissman, rel=1e-9)


@pytest.mark.thin
@pytest.mark.parametrize("seed", range(few(24)))
def test_float_sets_against_the_same_sets_in_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = (int(v) for v in rng.integers(2, 7, size=2))
    shift = 1 << int(rng.integers(5, 30))
    rows = close_rows(rng, n, m, shift) if seed % 3 == 0 else dyadic_rows(rng, n, m, 0.3 * (seed % 2))
    center = dyadic_rows(rng, 1, n, 0.2 * (seed % 2))[0] / ONE
    floats, sharp = dv.Channel((rows / ONE).astype(float)), dv.Channel([[F(int(v), ONE) for v in row] for row in rows])
    bound, radius = float(rng.choice([1e-12, 0.01, 0.5 / n, (1 - 1e-9) / n])), float(rng.choice([1e-9, 0.4, 1.3]))
    a = rng.integers(-5, 6, size=(3, n))
    b = (a @ center.astype(float) + rng.random(3) * rng.choice([1e-6, 0.1])).tolist()
    pairs = [
        (dv.measures.LowerBounded(n, bound), dv.measures.LowerBounded(n, F(bound))),
        (
            dv.measures.L1Ball(center.astype(float), radius),
            dv.measures.L1Ball([F(p) for p in center.tolist()], F(radius)),
        ),
        (dv.measures.Polytope(a.astype(float), b), dv.measures.Polytope(a, [F(v) for v in b])),
    ]
    for close, exact in pairs:
        for name in ("pml", "pmc"):
            found, truth = getattr(close, name)(floats), getattr(exact, name)(sharp)
            assert found.values == pytest.approx(truth.values, rel=1e-12, abs=0)
            assert found.secrets == truth.secrets
        assert isinstance(exact.lift(sharp), F) or exact.lift(sharp) == math.inf
        assert close.lift(floats) == pytest.approx(float(exact.lift(sharp)), rel=1e-12)
        assert exact.lift(floats) == pytest.approx(float(exact.lift(sharp)), rel=1e-12)


def _vertices(a: np.ndarray, b: np.ndarray) -> list[list[F]]:
    """Return every vertex of A P <= b, P >= 0, sum P = 1, from all choices of two bounds that hold with equality."""
    rows = [*zip(a.tolist(), b.tolist(), strict=True), *((row, F(0)) for row in (-np.eye(3, dtype=int)).tolist())]
    out = []
    for (u, s), (v, t) in itertools.combinations(rows, 2):
        matrix, right = [u, v, [1, 1, 1]], [s, t, 1]

        def determinant(of: list[list[F]]) -> F:
            (p, q, r), (x, y, z), (i, j, k) = of
            return p * (y * k - z * j) - q * (x * k - z * i) + r * (x * j - y * i)

        whole = determinant(matrix)
        if whole:
            parts = [
                [[*row[:j], value, *row[j + 1 :]] for row, value in zip(matrix, right, strict=True)] for j in range(3)
            ]
            point = [F(determinant(part)) / whole for part in parts]
            if all(sum(c * p for c, p in zip(row, point, strict=True)) <= limit for row, limit in rows):
                out.append(point)
    return out


@pytest.mark.parametrize("seed", range(few(15)))
def test_an_exact_polytope_against_all_its_vertices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel, a = random_channel(rng, 3, 3, exact=True, zeros=0.2), rng.integers(-4, 5, size=(4, 3))
    b = a @ random_prior(rng, 3, exact=True).probabilities + F(int(rng.integers(0, 3)), 20)
    vertices, priors = _vertices(a, b), dv.measures.Polytope(a, b)
    if seed == 0:
        vertices, priors = (
            [[F(1, 2), F(1, 3), F(1, 6)]],
            dv.measures.Polytope([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], ["1/2", "-1/2", "1/3", "-1/3"]),
        )
    assert vertices
    possible = [x for x in range(3) if any(p[x] > 0 for p in vertices)]
    lifts, leak, cost = [], priors.pml(channel), priors.pmc(channel)
    for y, outcome in enumerate(channel.outcomes):
        column = [channel.matrix[x, y] for x in possible]
        means = [sum(p * c for p, c in zip(vertex, channel.matrix[:, y].tolist(), strict=True)) for vertex in vertices]
        if max(column) > 0:
            lifts.append(max(column) / min(means) if min(means) else math.inf)
            assert leak.to_dict()[outcome] == pytest.approx(math.log(lifts[-1]), rel=1e-15)
            price = math.log(max(means) / min(column)) if min(column) else math.inf
            assert cost.to_dict()[outcome] == pytest.approx(price, rel=1e-15, abs=1e-16)
    assert priors.lift(channel) == max(lifts)
    assert priors.alip(channel) == dv.results.DensityBounds(cost.max(), leak.max())
    assert leak.prior.probabilities.tolist() in vertices


def test_an_exact_empty_set_is_refused() -> None:
    with pytest.raises(dv.DivulgeError, match="at least one prior"):
        dv.measures.Polytope([[1, 1]], ["1/2"])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: dv.measures.LowerBounded(2, 0.6), "least_probability"),
        (lambda: dv.measures.LowerBounded(2, float("nan")), "least_probability"),
        (lambda: dv.measures.L1Ball([0.5, 0.5], -1.0), "radius"),
        (lambda: dv.measures.L1Ball.from_samples([1, 1], confidence=1.0), "confidence"),
        (lambda: dv.measures.Polytope([[1.0]], [0.0, 0.0]), "matrix"),
        (lambda: dv.measures.Polytope([["a"]], [0.0]), "matrix"),
        (lambda: dv.measures.LowerBounded(0, 0.1), "secrets"),
        (lambda: dv.measures.ConvexHull([[0.5, 0.6]]), "corners"),
        (lambda: dv.measures.ConvexHull([[0.5, -0.5]]), "corners"),
        (lambda: dv.measures.ConvexHull(np.zeros((0, 2))), "corners"),
        (lambda: dv.measures.ConvexHull([[0.5, 0.5]], ["a"]), "secrets"),
    ],
)
def test_bad_sets_are_refused(make: object, word: str) -> None:
    assert callable(make)
    with pytest.raises(dv.DivulgeError, match=word):
        make()
