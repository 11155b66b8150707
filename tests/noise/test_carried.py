"""Mechanisms are carried to other processes, and keep their digits without a warning where squares overflow."""

import copy
import math
import pickle
import warnings
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import divulge as dv
from divulge.noise.families.noise import Noise
from divulge.noise.families.table import FAMILIES, as_noise

CARRIED: list[tuple[Any, Any, dict[str, Any]]] = [
    *((kind, "values(0:0.3, 1:0.2, 4:0.5)", {"scale": 0.7}) for kind in FAMILIES),
    ("staircase", "beta(2, 5)", {"scale": 0.3, "sensitivity": 0.5, "gamma": 0.2}),
    ("student-t", "normal(0, 1)", {"scale": 0.3, "df": 5, "clip": (-1, 1), "records": 2}),
    (stats.gumbel_r(0.5, 2.0), "uniform(0, 1)", {}),
    ("laplace", [1.0, 2.0, 2.0], {"scale": 1.0, "records": 3}),
]


@pytest.mark.parametrize(("noise", "secret", "more"), CARRIED)
def test_a_mechanism_is_carried_whole(noise: Any, secret: Any, more: dict[str, Any]) -> None:
    m = dv.NoiseMechanism(noise, secret, **more)
    y = np.array([-3.0, 0.0, 1.0, 2.0])
    expected = m.pml(y)
    for other in (pickle.loads(pickle.dumps(m)), copy.copy(m), copy.deepcopy(m)):
        assert repr(other) == repr(m)
        assert (other.pml(y) == expected).all()
        assert other.records == m.records
        assert other.noise.parameters == m.noise.parameters


def test_noise_made_by_hand_says_why_it_cannot_be_pickled() -> None:
    box = Noise("box", {}, lambda z: 0 * z, lambda z: z, False, None, math.inf, lambda d: math.inf)
    with pytest.raises(dv.DivulgeError, match="pickled"):
        pickle.dumps(box)


@pytest.mark.thin
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-15, 1e150, 1e300])
@pytest.mark.parametrize(
    "noise", ["laplace", "gaussian", "logistic", "student-t", stats.norm, pytest.param(stats.t, marks=pytest.mark.long)]
)
def test_no_warning_at_extreme_scales(noise: Any, scale: float) -> None:
    shape = (3,) if noise is stats.t else ()
    made = (noise, {"scale": scale}) if isinstance(noise, str) else (noise(*shape, scale=scale), {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m = dv.NoiseMechanism(made[0], "values(0:0.25, 1:0.75)", **made[1])
        assert m.pml(0.0) == pytest.approx(math.log(4) if scale < 1 else 0.0, abs=1e-12)
        assert m.cdf(0.0) == pytest.approx(0.125 if scale < 1 else 0.5, abs=1e-12)
        assert math.isfinite(m.pml_supremum.upper)
        assert m.ldp.epsilon >= 0


@pytest.mark.parametrize("d", [1e-9, 0.3, 7.0, 1e20, 1e200])
def test_shift_loss_of_student_noise_at_every_distance(d: float) -> None:
    """The largest log f(z) - log f(z + d) lies at z = (-d + sqrt(d^2 + 4 nu)) / 2, here with nu = 3."""
    with mp.workdps(450):
        z = (-mp.mpf(d) + mp.sqrt(mp.mpf(d) ** 2 + 12)) / 2
        exact = 2 * mp.log((3 + (z + d) ** 2) / (3 + z**2))
    assert as_noise("student-t", scale=1.0).shift_loss(d) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 0.01, 1.0, 50.0])
def test_normal_secret_with_laplace_noise_keeps_its_digits(scale: float) -> None:
    m = dv.NoiseMechanism("laplace", "normal(1, 2)", scale=scale)
    for y in (-7.0, 1.0, 4.5, 90.0):
        with mp.workdps(40):
            z, r = (mp.mpf(y) - 1) / 2, 2 / mp.mpf(scale)

            def part(z: mp.mpf, r: mp.mpf = r) -> mp.mpf:
                """e^{r^2/2 - zr} P(N < z - r), as an integral over N = z - r - t that decays."""
                if r > 1e3:  # f(y) is the normal density to 1e-5/r^2, by e^{-rt} r (1 + z t + ...)
                    return mp.npdf(z) * (1 / r + z / r**2 + (z**2 - 1) / r**3)
                return mp.exp(r * r / 2 - z * r) * mp.ncdf(z - r)

            exact = mp.log((part(z) + part(-z)) / (2 * mp.mpf(scale)))
        assert m.log_density(y) == pytest.approx(float(exact), rel=1e-11, abs=1e-11)
