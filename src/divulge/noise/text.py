"""Distributions as people write them: name(arguments)."""

import math
import re
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, did_you_mean
from divulge.extras import require
from divulge.late import late
from divulge.noise.accumulated import cdf_of, ppf_of


def number(text: str, argument: str) -> float:
    """Return a finite number written as 0.5 or 1/2."""
    try:
        above, slash, below = text.partition("/")
        found = float(above) / float(below) if slash else float(text)
        if not math.isfinite(found):
            raise ValueError
        return found
    except (ValueError, ZeroDivisionError):
        condition = "have finite numbers as arguments"
        raise DivulgeError.of(argument, condition, "an argument", repr(text.strip()[:20])) from None


def numbers(text: str, argument: str) -> tuple[list[float], dict[str, float]]:
    """Return the numbers in "2, scale=3" by place and by name."""
    parts = [part.rpartition("=") for part in text.split(",")] if text else []
    named = {name.strip(): number(value, argument) for name, equals, value in parts if equals}
    return [number(value, argument) for _, equals, value in parts if not equals], named


def split(text: str, argument: str, examples: str) -> tuple[str, str]:
    """Return (name in small letters, what stands in its parentheses)."""
    match = re.fullmatch(r"\s*([A-Za-z_][\w-]*)\s*\((.*)\)\s*", text)
    if match is None:
        raise DivulgeError.of(argument, "be written name(arguments)", "it", repr(text[:40]), examples)
    return match.group(1).lower(), match.group(2).strip()


def frozen(name: str, inside: str, argument: str) -> Any:
    """Return the frozen scipy.stats distribution of this name and these arguments."""
    places, named = numbers(inside, argument)
    stats = require("scipy.stats", "science")
    family: Any = getattr(stats, name, None)
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        kinds = (stats.rv_continuous, stats.rv_discrete)
        known = [one for one in dir(stats) if isinstance(getattr(stats, one), kinds)]
        meant = did_you_mean(name[:40], known).strip()
        raise DivulgeError.of(argument, "name a known distribution", "it", repr(name[:40]), meant)
    try:
        found: Any = family(*places, **named)
        if np.isnan(found.support()[0]):
            raise ValueError
    except (TypeError, ValueError):
        condition = f"have legal arguments for scipy.stats.{name}"
        raise DivulgeError.of(argument, condition, "they are", inside[:60]) from None
    return found


def as_frozen(distribution: Any) -> Any:
    """Return a scipy.stats distribution frozen, also one without parameters, such as a histogram; others as they are.

    Where scipy's own formulas lose digits it has better ones (`steady`).
    """
    if not (hasattr(distribution, "freeze") and hasattr(distribution, "numargs")):
        return late("divulge.noise.steady:steady")(distribution) if hasattr(distribution, "dist") else distribution
    try:
        return late("divulge.noise.steady:steady")(distribution.freeze())
    except TypeError:
        hint = f"such as scipy.stats.{distribution.name}(...), with its parameters."
        raise DivulgeError.of("distribution", "have its parameters", "it", distribution.name, hint) from None


_INTEGRALS = ("levy_stable", "studentized_range")
"""Families of scipy.stats whose density is an integral at every place: thousands of places take minutes."""


def require_formula(distribution: Any, argument: str) -> None:
    """Refuse a scipy.stats distribution that is periodic, or whose density takes an integral at every place."""
    name = distribution.dist.name
    if name in _INTEGRALS:
        hint = "give a sample of it, or a family whose density is a formula, such as t or gennorm."
        raise DivulgeError.of(argument, "have a density that is a formula", f"that of {name}", "an integral", hint)
    low, high = ppf_of(distribution)(np.array([1e-3, 1 - 1e-3])).tolist()
    with np.errstate(over="ignore"):
        ended = cdf_of(distribution)(high + 100 * (high - low)) <= 1
    if not ended:
        hint = "use scipy's vonmises_line in place of vonmises."
        raise DivulgeError.of(argument, "have a distribution function that ends at 1", name, "periodic", hint)
