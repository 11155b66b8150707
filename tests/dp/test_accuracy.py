"""Variants of differential privacy to twelve digits, however close the rows: against mpmath with 60 digits."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from mpmath import expm1, log, mp, mpf, sqrt
from support import ONE, close_rows, dyadic_rows, few

import divulge as dv
from divulge.dp.loss.closed import ExponentialLoss, LaplaceLoss
from divulge.dp.loss.orders import clipped

Row = list[mpf]


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def renyi(p: Row, q: Row, order: float) -> mpf:
    """Return log(1 + sum q ((p/q)^a - 1 - a (p/q - 1))) / (a - 1), which is D_a where both rows sum to 1."""
    a = mpf(order)
    if a == 1:
        return sum(u * log(u / v) - u + v for u, v in zip(p, q, strict=True))
    if a == math.inf:
        return max(log(u / v) for u, v in zip(p, q, strict=True))
    return log(1 + sum(u**a * v ** (1 - a) - a * u + (a - 1) * v for u, v in zip(p, q, strict=True))) / (a - 1)


def chi(p: Row, q: Row, order: float) -> mpf:
    return sum(v * abs(u / v - 1) ** mpf(order) for u, v in zip(p, q, strict=True)) ** (1 / mpf(order))


def js(p: Row, q: Row) -> mpf:
    middle = [(u + v) / 2 for u, v in zip(p, q, strict=True)]
    return (renyi(p, middle, 1) + renyi(q, middle, 1)) / 2


def hellinger(p: Row, q: Row) -> mpf:
    return sum((sqrt(u) - sqrt(v)) ** 2 for u, v in zip(p, q, strict=True))


ORDERS = (1, 1 + 1e-9, 1.0001, 1.5, 2, 8.5, 1e4, 1e8, 1e12, math.inf)
VARIANTS: dict[str, tuple[Callable[[Any], Any], Callable[[Row, Row], mpf]]] = {
    "kl": (dv.dp.kl_privacy, lambda p, q: renyi(p, q, 1)),
    **{f"renyi {a:g}": (lambda c, a=a: dv.dp.renyi_dp(c, a), lambda p, q, a=a: renyi(p, q, a)) for a in ORDERS},
    **{f"chi {a:g}": (lambda c, a=a: dv.dp.abs_chi(c, a), lambda p, q, a=a: chi(p, q, a)) for a in (1, 2.5, 30)},
    "total variation": (dv.dp.total_variation, lambda p, q: sum(abs(u - v) for u, v in zip(p, q, strict=True)) / 2),
    "jensen-shannon": (lambda c: dv.dp.f_divergence(c, "jensen-shannon"), js),
    "hellinger": (lambda c: dv.dp.f_divergence(c, "hellinger"), hellinger),
    "chi-squared": (lambda c: dv.dp.f_divergence(c, "chi-squared"), lambda p, q: chi(p, q, 2) ** 2),
}


def rows(seed: int) -> np.ndarray:
    """Return floats in rows that sum to exactly 1: far apart, or from 1e-15 to 1e-2 apart."""
    rng = np.random.default_rng(seed)
    n, m = (int(v) for v in rng.integers(2, 6, size=2))
    whole = dyadic_rows(rng, n, m, 0.0) if seed % 4 == 0 else close_rows(rng, n, m, 1 << int(rng.integers(3, 46)))
    return (whole / ONE).astype(float)


def as_balls(matrix: np.ndarray) -> list[Row]:
    return [[mpf(float(v)) for v in row] for row in matrix]


@pytest.mark.thin
@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_of_rows_however_close(name: str) -> None:
    measure, definition = VARIANTS[name]
    for seed in range(few(24)):
        c = rows(seed)
        wanted = max(definition(p, q) for p, q in permutations(as_balls(c), 2))
        assert measure(dv.Channel(c)).value == pytest.approx(float(wanted), rel=1e-13, abs=0), seed


def test_rows_that_sum_to_one_up_to_rounding_are_never_closer_than_they_should_be() -> None:
    """The entries count as they are; the rows in proportion to them have at most these divergences."""
    rng = np.random.default_rng(5)
    for shift in (1e-3, 1e-6, 1e-9, 1e-12):
        for _ in range(4):
            p = rng.dirichlet(np.ones(6))
            q = p * (1 + shift * rng.normal(size=6))
            c = dv.Channel([p, q / q.sum()])
            exact = as_balls(c.matrix)
            proper = [[v / sum(row) for v in row] for row in exact]
            for order in (1, 1.5, 2, 8):
                as_they_are, scaled = (max(renyi(*pair, order) for pair in permutations(r)) for r in (exact, proper))
                found = dv.dp.renyi_dp(c, order).value
                assert found == pytest.approx(float(as_they_are), rel=1e-12, abs=0)
                assert found >= float(scaled) * (1 - 1e-12)


def worst_rate(p: Row, q: Row) -> mpf:
    """Return the supremum of D_a / a, from a grid of orders and a golden section search around its best."""
    widest = max(abs(log(u / v)) for u, v in zip(p, q, strict=True))
    grid = [mpf(1), *(1 + mpf(10) ** (mpf(k) / 4) for k in range(-12, int(4 * (2 - min(mp.log10(widest), 0)))))]
    values = [renyi(p, q, a) / a for a in grid]
    best = values.index(max(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    share = (sqrt(mpf(5)) - 1) / 2
    for _ in range(36):
        left, right = high - share * (high - low), low + share * (high - low)
        low, high = (low, right) if renyi(p, q, left) / left > renyi(p, q, right) / right else (left, high)
    return max(*values, renyi(p, q, low) / low)


def test_concentrated_privacy_is_bracketed_to_twelve_digits() -> None:
    for seed in range(few(8)):
        c = rows(seed)[:2]
        found = dv.dp.zcdp_rho(c)
        wanted = max(worst_rate(*pair) for pair in permutations(as_balls(c)))
        assert found.value == pytest.approx(float(wanted), rel=1e-12, abs=0)
        assert found.lower * (1 - 1e-14) <= wanted <= found.value
        assert found.lower >= found.value * (1 - 2e-12)
        assert dv.dp.mean_concentrated(c).mu == pytest.approx(
            float(max(renyi(*r, 1) for r in permutations(as_balls(c))))
        )


def laplace(epsilon: float, order: float) -> mpf:
    e, a = mpf(epsilon), mpf(order)
    if a == 1:
        return e + mp.exp(-e) - 1
    return log((a * mp.exp((a - 1) * e) + (a - 1) * mp.exp(-a * e)) / (2 * a - 1)) / (a - 1)


def exponential(epsilon: float, order: float) -> mpf:
    """Return the largest divergence of two ways with losses t and t - epsilon."""
    e, a = mpf(epsilon), mpf(order)

    def of(t: mpf) -> mpf:
        share = expm1(t - e) / expm1(-e)
        if a == 1:
            return share * t + (1 - share) * (t - e)
        return log(share * mp.exp((a - 1) * t) + (1 - share) * mp.exp((a - 1) * (t - e))) / (a - 1)

    low, high, ratio = mpf(0), e, (sqrt(mpf(5)) - 1) / 2
    for _ in range(90):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if of(left) > of(right) else (left, high)
    return of(low)


@pytest.mark.thin
@pytest.mark.parametrize(("loss", "definition"), [(LaplaceLoss, laplace), (ExponentialLoss, exponential)])
@pytest.mark.parametrize("epsilon", [1e-15, 1e-9, 1e-3, 1.0, 30.0])
def test_closed_forms_at_every_epsilon_and_order(loss: Any, definition: Any, epsilon: float) -> None:
    for order in (1, 1 + 1e-9, 1.0001, 2, 8, 1e4, 1e7):
        wanted = float(definition(epsilon, order))
        assert loss(epsilon).renyi(order) == pytest.approx(wanted, rel=1e-13, abs=0), order


def test_sampling_a_tiny_part_keeps_its_digits() -> None:
    """D_2 = log(1 + r^2 chi^2) of the mixture against Q."""
    for rate in (1e-3, 1e-6, 1e-9):
        for base, chi2 in ((dv.dp.GaussianMechanism(1.0), math.expm1(1.0)), (dv.dp.RandomizedResponse(1.0), None)):
            if chi2 is None:
                chi2 = dv.dp.abs_chi(base, 2).value ** 2
            (removed, _) = dv.dp.PoissonSampled(base, rate).losses()
            assert removed.renyi(2) == pytest.approx(math.log1p(rate**2 * chi2), rel=1e-12, abs=0)
    assert dv.dp.mutual_information_dp(dv.dp.RandomizedResponse(1e-9)).upper == pytest.approx(
        1e-18 / 8, rel=3e-12, abs=0
    )


def test_clipped_losses_keep_their_digits() -> None:
    """With delta of either side removed a fair pair is a less unfair one."""
    half = 0.5
    for gap in (1e-3, 1e-6, 1e-9):
        step, delta = round(gap * 2**40) / 2**40, round(gap * 2**38) / 2**40
        loss = dv.dp.PrivacyLoss.between([half + step, half - step], [half - step, half + step])
        rest = (mpf(half) + step - delta) / (1 - mpf(delta))
        left = renyi([rest, 1 - rest], [1 - rest, rest], 2)
        assert clipped(loss, delta).renyi(2) == pytest.approx(float(left), rel=1e-9, abs=0)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999, 1 - 1e-6, 1 - 1e-12, 1.0])
def test_delta_close_to_the_largest_loss(share: float) -> None:
    """p and e^epsilon q agree in nearly all digits there."""
    for seed in range(few(24)):
        c = rows(seed)[:2]
        epsilon = share * dv.dp.PrivacyLoss.between(*c).highest
        excess = [sum(max(u - mp.exp(mpf(epsilon)) * v, mpf(0)) for u, v in zip(*r, strict=True))
                  for r in permutations(as_balls(c))]  # fmt: skip
        assert dv.dp.delta_from_epsilon(c, epsilon).value == pytest.approx(float(max(excess)), rel=1e-12, abs=0)


def test_pure_epsilons_of_floats_are_rounded_up() -> None:
    for seed in range(few(24)):
        c = rows(seed)[:2]
        found = dv.dp.epsilon_from_delta(c, 0.0).value
        largest = max(renyi(*pair, math.inf) for pair in permutations(as_balls(c)))
        assert largest <= found <= largest * (1 + 1e-15)


def test_pure_epsilons_of_sums_lie_in_their_brackets() -> None:
    """Sums of exact logarithms and of quotients of doubles, at 60 digits."""
    for seed in range(few(24)):
        rng = np.random.default_rng(seed)
        numbers = rng.integers(1, 10 ** int(rng.choice([1, 3, 12])), (int(rng.integers(1, 4)), 2, 3)).tolist()
        channels = [[[Fraction(v, sum(row)) for v in row] for row in rows] for rows in numbers]
        pairs = [[[mpf(v.numerator) / v.denominator for v in row] for row in rows] for rows in channels]
        largest = max(sum(max(log(u / v) for u, v in zip(*rows[:: side], strict=True)) for rows in pairs)
                      for side in (1, -1))  # fmt: skip
        composed = dv.compose(*channels)
        found = composed.epsilon(0.0)
        assert found.lower <= largest <= found.upper <= largest * (1 + 4e-15)
        assert composed.pure_epsilon == found.upper
        scale, shift, times = rng.uniform(0.1, 10), rng.uniform(0.1, 3), int(rng.integers(1, 11))
        stated = dv.compose((dv.dp.LaplaceMechanism(scale, shift), times), dv.dp.RandomizedResponse(scale)).epsilon(0)
        total = times * Fraction(shift) / Fraction(scale) + Fraction(scale)
        assert Fraction(stated.lower) <= total <= Fraction(stated.upper)
        assert stated.upper <= math.nextafter(stated.lower, math.inf)
