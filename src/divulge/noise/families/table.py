"""All families by name, and what stands for noise."""

from collections.abc import Callable
from typing import Any

from divulge.errors import DivulgeError
from divulge.noise.families.continuous import gaussian, laplace, logistic, student_t
from divulge.noise.families.from_scipy import from_scipy
from divulge.noise.families.lattice import discrete_gaussian, discrete_laplace
from divulge.noise.families.noise import Noise
from divulge.noise.families.staircase import staircase
from divulge.noise.text import frozen, split

FAMILIES: dict[str, Callable[..., Noise]] = {
    "laplace": laplace,
    "gaussian": gaussian,
    "staircase": staircase,
    "student-t": student_t,
    "logistic": logistic,
    "discrete-laplace": discrete_laplace,
    "discrete-gaussian": discrete_gaussian,
}
"""Kind -> its builder; the first parameter is always the scale."""


def as_noise(noise: Any, **parameters: float) -> Noise:
    """Return a Noise from a Noise, a family name with its parameters, or a scipy.stats distribution, also as text."""
    named = isinstance(noise, str) and "(" not in noise
    if parameters and not named:
        raise DivulgeError.of("noise", "carry its own parameters", "it", f"given with {sorted(parameters)}")
    if not isinstance(noise, str):
        return noise if isinstance(noise, Noise) else from_scipy(noise)
    if not named:
        return from_scipy(frozen(*split(noise, "noise", "gumbel_r(0, 2), or another scipy.stats name."), "noise"))
    if noise not in FAMILIES:
        raise DivulgeError.unknown("noise", noise, FAMILIES)
    try:
        return FAMILIES[noise](**parameters)
    except TypeError:
        import inspect

        names = ", ".join(inspect.signature(FAMILIES[noise]).parameters)
        condition = f"have parameters among {names} ({noise})"
        raise DivulgeError.of("noise", condition, "it", f"given {sorted(parameters)}") from None
