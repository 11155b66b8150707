"""The cases of the search, and how a number is held against an oracle."""

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

Case = Callable[[np.random.Generator], None]

CASES: dict[str, Case] = {}
"""Name of a case -> what draws a subject and holds its numbers against an oracle, raising AssertionError."""

COVERED: dict[str, set[str]] = {}
"""Public name -> the cases that hold its numbers against an oracle."""


timed = False
"""Whether a case may fail by the clock: in a search that was started by itself, never in a slice of it in the suite."""


def case(*names: str) -> Callable[[Case], Case]:
    """Register a case that covers public names."""

    def register(check: Case) -> Case:
        title = check.__name__
        assert title not in CASES, title
        CASES[title] = check
        for name in names:
            COVERED.setdefault(name, set()).add(title)
        return check

    return register


def run(title: str, seed: int) -> None:
    """Run a case once, in 60 digits."""
    with mp.workdps(60):
        CASES[title](np.random.default_rng([seed, *title.encode()]))


def _told(what: Any, got: Any, relation: str, want: Any) -> str:
    return f"{what}: got {got!r}, which must be {relation} {mp.nstr(mp.mpf(want), 20) if _is_real(want) else want!r}"


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, mp.mpf))


def mpf(value: Any) -> mp.mpf:
    """Return a number, a Fraction too, in 60 digits."""
    if hasattr(value, "numerator") and not isinstance(value, (float, np.floating)):
        return mp.mpf(int(value.numerator)) / int(value.denominator)
    return mp.mpf(float(value)) if isinstance(value, np.floating) else mp.mpf(value)


def same(what: str, got: Any, want: Any, relative: float = 1e-12, absolute: float = 1e-15) -> None:
    """Assert that a number is the oracle's, within a relative or absolute error."""
    a, b = mpf(got), mpf(want)
    if mp.isinf(a) or mp.isinf(b):
        assert a == b, _told(what, got, "equal to", b)
        return
    assert not mp.isnan(a), what
    assert abs(a - b) <= max(relative * abs(b), absolute), _told(what, got, f"within {relative} of", b)


def at_least(what: str, got: Any, want: Any, relative: float = 1e-50) -> None:
    """Assert that a bound from above is one, but for a relative error in the oracle's value."""
    a, b = mpf(got), mpf(want)
    assert a >= (b if mp.isinf(b) else b - abs(b) * mp.mpf(relative)), _told(what, got, "at least", b)


def at_most(what: str, got: Any, want: Any, relative: float = 1e-50) -> None:
    """Assert that a bound from below is one, but for a relative error in the oracle's value."""
    a, b = mpf(got), mpf(want)
    assert a <= (b if mp.isinf(b) else b + abs(b) * mp.mpf(relative)), _told(what, got, "at most", b)


def between(what: str, low: Any, value: Any, high: Any, relative: float = 1e-50) -> None:
    """Assert that a bracket holds the oracle's value."""
    at_most(f"{what}, lower end", low, value, relative)
    at_least(f"{what}, upper end", high, value, relative)


INF = math.inf
