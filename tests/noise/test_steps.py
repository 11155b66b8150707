"""Staircase noise: exact sums over its pieces, and proved ranges where the secret has a density."""

import math
from fractions import Fraction
from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few

import divulge as dv
from divulge.noise.answers.ranges import between, leakage, values
from divulge.noise.families.staircase import staircase
from divulge.noise.laws.mixture import Mixture


def _height(z: Fraction, width: Fraction, epsilon: mp.mpf, share: mp.mpf) -> mp.mpf:
    """The density from its definition; z is never on a jump."""
    whole = math.floor(abs(z) / width)
    norm = -mp.expm1(-epsilon) / (2 * mp.mpf(float(width)) * (share + mp.exp(-epsilon) * (1 - share)))
    rest = mp.mpf((abs(z) - whole * width).numerator) / (abs(z) - whole * width).denominator
    return norm * mp.exp(-epsilon * (whole + (1 if rest >= share * mp.mpf(float(width)) else 0)))


def _by_pieces(
    x: list[Fraction], p: list[float], scale: float, width: Fraction, records: int
) -> tuple[mp.mpf, mp.mpf, list[tuple[mp.mpf, mp.mpf]]]:
    """(E pml, I, [(pml, mass) of each piece]) in 40 digits: every piece out to e^-40, none stands for another."""
    epsilon = mp.mpf(float(width)) / mp.mpf(scale)
    share = mp.exp(-epsilon / 2) / (1 + mp.exp(-epsilon / 2))
    first = Fraction(int(mp.nint(share * mp.mpf(2) ** 130)), 2**130) * width
    weights = [mp.mpf(w) for w in p]
    tuples = list(product(range(len(x)), repeat=records))
    means = sorted({sum(x[i] for i in t) / records for t in tuples})
    given: list[dict[Fraction, mp.mpf]] = [dict.fromkeys(means, mp.mpf(0)) for _ in x]
    for t in tuples:
        given[t[0]][sum(x[i] for i in t) / records] += mp.fprod(weights[i] for i in t[1:])
    last = math.ceil(40 / float(epsilon)) + 1
    jumps = {v + sign * (k * width + first) for v in means for k in range(last) for sign in (1, -1)}
    pieces, total, information = [], mp.mpf(0), mp.mpf(0)
    for a, b in pairwise(sorted(jumps)):
        g = {v: _height((a + b) / 2 - v, width, epsilon, share) for v in means}
        f = [mp.fsum(w * g[v] for v, w in row.items()) for row in given]
        q, length = mp.fdot(weights, f), mp.mpf((b - a).numerator) / (b - a).denominator
        pieces.append((mp.log(max(f) / q), q * length))
        total += q * length * pieces[-1][0]
        information += length * mp.fsum(w * v * mp.log(v / q) for w, v in zip(weights, f, strict=True))
    return total, information, pieces


@pytest.mark.parametrize(
    ("x", "p", "scale", "width", "records"),
    [
        (range(7), [0.05, 0.15, 0.225, 0.225, 0.175, 0.1, 0.075], 0.05, 1, 1),
        (range(3), [0.25, 0.5, 0.25], 0.08, 1, 3),
        ([0, Fraction(1, 4), Fraction(21, 8)], [0.5, 0.125, 0.375], 0.75, Fraction(1, 2), 1),
        ([0, Fraction(1, 4), Fraction(21, 8)], [0.5, 0.125, 0.375], 2.0, 5, 2),
    ],
)
def test_finitely_many_values_are_summed_piece_by_piece(
    x: list[Fraction], p: list[float], scale: float, width: Fraction, records: int
) -> None:
    text = "values(" + ", ".join(f"{float(v)}:{w}" for v, w in zip(x, p, strict=True)) + ")"
    m = dv.NoiseMechanism("staircase", text, scale=scale, sensitivity=float(width), records=records)
    with mp.workdps(40):
        total, information, pieces = _by_pieces([Fraction(v) for v in x], p, scale, Fraction(width), records)
        for ours, exact in ((m.mean_pml(), total), (m.mutual_information(), information)):
            assert abs(ours.value - float(exact)) <= ours.error <= 1e-8
            assert ours.certified
        top = max(leak for leak, _ in pieces)
        assert m.pml_supremum.value == pytest.approx(float(top), rel=1e-12)
        for t in (0.3 * float(top), 0.7 * float(top)):
            found, mass = m.tail(t), float(mp.fsum(mass for leak, mass in pieces if leak > t))
            assert abs(found.value - mass) <= found.error + 1e-15
            assert found.error <= 1e-8
            assert found.certified


@pytest.mark.parametrize("gamma", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize(("scale", "sensitivity"), [(0.5, 1.0), (3.0, 0.25), (0.02, 4.0)])
def test_kept_sums_are_the_plain_sum(scale: float, sensitivity: float, gamma: float | None) -> None:
    rng = np.random.default_rng(2)
    noise = staircase(scale, sensitivity, gamma)
    places, log_w = np.unique(np.round(rng.uniform(-2, 3, 300), 2)), -np.abs(rng.normal(0, 60, 300))
    log_w = log_w[: len(places)]
    y, shift = rng.uniform(-30, 30, 400), rng.uniform(-1, 1, 400)
    mixture = Mixture(noise, places, log_w)
    terms = noise.log_density((y - shift)[:, None] - places) + log_w
    plain = np.logaddexp.reduce(terms, axis=1)
    assert mixture.steps is not None
    assert mixture.log_sum(y, shift, y) == pytest.approx(plain, rel=1e-12, abs=1e-10)
    assert mixture._covered(y, shift, y) == pytest.approx(plain, rel=1e-12, abs=1e-10)


def _beta(x: mp.mpf) -> mp.mpf:
    x = min(max(x, mp.mpf(0)), mp.mpf(1))
    return 30 * x**2 * (mp.mpf(1) / 2 - 4 * x / 3 + 3 * x**2 / 2 - 4 * x**3 / 5 + x**4 / 6)


def _arcsine(x: mp.mpf) -> mp.mpf:
    return 2 / mp.pi * mp.asin(mp.sqrt(min(max(x, 0), 1)))


def _clipped(x: mp.mpf) -> mp.mpf:
    return mp.mpf(0) if x < -1 else mp.mpf(1) if x >= 1 else mp.ncdf(x)


DENSITIES = {
    "uniform(0, 1)": (lambda x: min(max(x, mp.mpf(0)), mp.mpf(1)), (0, 1), None),
    "beta(2, 5)": (_beta, (0, 1), None),
    "beta(0.5, 0.5)": (_arcsine, (0, 1), None),
    "normal(0, 1)": (_clipped, (-1, 1), (-1, 1)),
}


@pytest.mark.thin
@pytest.mark.parametrize("secret", DENSITIES)
@pytest.mark.parametrize(("scale", "width"), [(0.3, 1.0), (0.4, 0.25)])
def test_a_density_has_tight_brackets_that_hold_the_exact_value(secret: str, scale: float, width: float) -> None:
    """log f(y) as a sum over masses in mpmath; its largest ratio over a grid; the mean by quadrature between jumps."""
    cdf, (low, high), clip = DENSITIES[secret]
    m = dv.NoiseMechanism("staircase", secret, scale=scale, sensitivity=width, clip=clip)
    epsilon = mp.mpf(width) / mp.mpf(scale)
    share = mp.exp(-epsilon / 2) / (1 + mp.exp(-epsilon / 2))
    norm = -mp.expm1(-epsilon) / (2 * width * (share + mp.exp(-epsilon) * (1 - share)))
    radii = [(k + share) * width for k in range(int((high - low) / width) + 8)]

    def outcome(y: mp.mpf) -> mp.mpf:
        drop = -mp.expm1(-epsilon)
        parts = [mp.exp(-epsilon * k) * drop * (cdf(y + r) - cdf(y - r)) for k, r in enumerate(radii)]
        return norm * (mp.fsum(parts) + mp.exp(-epsilon * len(radii)))

    def level(distance: mp.mpf) -> mp.mpf:
        whole = mp.floor(distance / width)
        return norm * mp.exp(-epsilon * (whole + (1 if distance - whole * width >= share * width else 0)))

    def pml(y: mp.mpf) -> mp.mpf:
        return mp.log(level(max(low - y, y - high, mp.mpf(0))) / outcome(y))

    def pmc(y: mp.mpf) -> mp.mpf:
        return mp.log(outcome(y) / level(max(y - low, high - y)))

    for side, exact in (("pml", pml), ("pmc", pmc)):
        found = m.pml_supremum if side == "pml" else m.pmc_supremum
        assert found.method == "certified search"
        assert found.upper - found.lower <= 5e-5
        ends = [mp.mpf(end) + sign * r for end in (low, high) for r in radii for sign in (1, -1)]
        grid = [*mp.linspace(low - width, high + width, 101), *(e + d for e in ends for d in (-1e-12, 1e-12))]
        grid = [y for y in grid if low - 2 * width <= y <= high + 2 * width]
        exact_values = [float(exact(y)) for y in grid]
        assert max(exact_values) <= found.upper + 1e-10
        assert max(exact_values) >= found.lower - 1e-2
        ours = getattr(m, side)(np.array([float(y) for y in grid[:101]]))
        assert ours == pytest.approx(exact_values[:101], abs=1e-9)
    if width == 1.0 and secret in ("uniform(0, 1)", "beta(2, 5)"):
        cuts = [v + s * r for v in (low, high) for r in radii for s in (1, -1)]
        inner = sorted({mp.mpf(low), mp.mpf(high), *(c for c in cuts if low - 4 * width < c < high + 4 * width)})
        with mp.workdps(15):
            total = mp.quad(lambda y: outcome(y) * pml(y), inner, maxdegree=3)
        beyond = float(m.cdf(float(inner[0]))) + 1 - float(m.cdf(float(inner[-1])))
        found = m.mean_pml()
        assert found.error <= 1e-10
        assert abs(found.value - float(total)) <= found.error + 1e-8 + beyond * m.pml_supremum.upper


@settings(max_examples=few(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["pml", "pmc"]), st.sampled_from([1, 2, 20]))
def test_no_outcome_under_noise_in_steps_leaves_the_proved_range(seed: int, side: str, size: int) -> None:
    rng = np.random.default_rng(seed)
    texts = ["uniform(-1, 2)", "beta(2, 5)", "beta(0.5, 0.5)"]
    x = rng.uniform(-1, 2, size + 1)
    secret = rng.choice(texts) if size == 1 else dv.Prior(rng.dirichlet(np.ones(size + 1)), x.tolist())
    m = dv.NoiseMechanism(
        "staircase", secret, scale=float(rng.uniform(0.1, 2)), sensitivity=float(rng.uniform(0.1, 2)),
        records=1 + (size == 2),
    )  # fmt: skip
    length, left = 10 ** rng.uniform(-4, 0, 30), rng.uniform(-2, 3, 30)
    ends = [values(m.law, side, y) for y in (left, left + length / 2, left + length)]
    found = between(m.law, side, *ends)
    assert found is not None
    assert (found[1] - found[0]).min() < 1
    for part in rng.uniform(0, 1, 30):
        inside = leakage(m.law, side, left + part * length)
        assert (np.maximum(found[0], 0) <= inside + 1e-9).all()
        assert (inside <= found[1] + 1e-9).all()


def test_a_large_sample_is_summed_or_bracketed_in_seconds() -> None:
    x = np.random.default_rng(4).normal(size=few(3000))
    m = dv.NoiseMechanism("staircase", x, scale=0.3)
    y = np.concatenate([np.linspace(-6, 6, 500), x[:500]])
    f = np.exp(m.noise.log_density(y[:, None] - x)).mean(axis=1)
    best = m.noise.log_density(np.abs(y[:, None] - x).min(axis=1))
    assert m.pml(y) == pytest.approx(best - np.log(f), abs=1e-10)
    assert m.pml_supremum.value >= float((best - np.log(f)).max()) - 1e-10
    assert m.mean_pml().certified
    assert m.mean_pml().error <= 1e-8
    assert m.pml(1e5) == pytest.approx(m.pml(10.0 + (1e5 - 10.0) % 1.0), abs=1e-6)
