"""Radii of the mean of several draws: by convolving the law directly, and where the lattice is too large to add up."""

import math

import numpy as np
import pytest
from scipy.signal import fftconvolve

from divulge.releasing.records.ran import means
from divulge.releasing.records.ran.means import mean_radii
from divulge.releasing.records.ran.placed import line_radii, planar_radii


def test_of_one_draw_they_are_the_circles() -> None:
    for a in (4.0, 1.0, 0.3, 0.1):
        assert mean_radii(a, 1, 2) == planar_radii(a)
        assert mean_radii(a, 1, 1) == line_radii(a)


@pytest.mark.parametrize(("a", "draws"), [(1.5, 2), (0.8, 3), (0.7, 7)])
def test_they_hold_what_they_say(a: float, draws: int) -> None:
    """The law of the sum by convolution, on a lattice that has all but 1e-9 of it."""
    at = np.arange(-60, 61)
    law = np.exp(-a * np.hypot(at[:, None], at[None, :]))
    law /= law.sum()
    found = law
    for _ in range(draws - 1):
        found = fftconvolve(found, law)
    reach = len(found) // 2
    far = np.arange(-reach, reach + 1)
    away = np.hypot(far[:, None], far[None, :]) / draws
    for radius, share in zip(mean_radii(a, draws, 2), (0.5, 0.95), strict=True):
        assert found[away <= radius + 1e-9].sum() >= share
        assert found[away < radius - 1e-9].sum() < share + 2e-6


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize(("a", "draws"), [(1.0, 2), (1.0, 6), (0.3, 20), (0.1, 4)])
def test_where_the_lattice_is_too_large_they_are_a_little_larger(a: float, draws: int, dimensions: int,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    summed = means.mean_radii.__wrapped__(a, draws, dimensions)
    monkeypatch.setattr(means, "_ACROSS", {1: 0, 2: 0})
    mixed = means.mean_radii.__wrapped__(a, draws, dimensions)
    for one, other in zip(summed, mixed, strict=True):
        assert one <= other <= one * 1.01 + 2 / draws


def test_of_one_place_in_the_plane_they_have_a_closed_form() -> None:
    """1 - (1 + a r) e^(-a r) of one draw, and Gauss's law of very many."""
    a = 1e-3
    for radius, share in zip(mean_radii(a, 1, 2), (0.5, 0.95), strict=True):
        s = a * (radius - 1)
        assert 1 - (1 + s) * math.exp(-s) == pytest.approx(share, abs=2e-4)
    small, large = mean_radii(a, 10_000, 2)
    scale = math.sqrt(2 * 3 / 10_000) / a
    assert small == pytest.approx(scale * math.sqrt(math.log(2)), rel=1e-3)
    assert large == pytest.approx(scale * math.sqrt(math.log(20)), rel=1e-3)
