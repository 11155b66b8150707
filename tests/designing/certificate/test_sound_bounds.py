"""A bound that is proved lies above every mechanism, in spite of rounding: against the definition in sixty digits."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from designing.precise import precise_optimum, precise_points
from support import THOROUGH

import divulge as dv

FUNCTIONS: dict[str, Any] = {
    "hellinger": lambda v: (mp.sqrt(v) - 1) ** 2,
    "mutual-information": lambda v: v * mp.log(v) if v > 0 else mp.mpf(0),
    "total-variation": lambda v: abs(v - 1) / 2,
    "chi-squared": lambda v: (v - 1) ** 2,
    "le-cam": lambda v: (v - 1) ** 2 / (2 * (v + 1)),
    "lautum-information": lambda v: -mp.log(v),
}
LIMITS: dict[str, Any] = {
    "pml": lambda e: (mp.mpf(0), mp.exp(e), mp.inf),
    "pmc": lambda e: (mp.exp(-e), mp.inf, mp.inf),
    "lip": lambda e: (mp.exp(-e), mp.exp(e), mp.inf),
    "ldp": lambda e: (mp.mpf(0), mp.inf, mp.exp(e)),
}


@pytest.mark.parametrize("utility", FUNCTIONS)
def test_no_mechanism_exceeds_the_bound_of_two_secrets(utility: str) -> None:
    random = np.random.default_rng(len(utility))
    for _ in range(60 if THOROUGH else 5):
        kind = random.choice([k for k in LIMITS if not (utility == "lautum-information" and k == "pml")])
        rare = random.choice([random.random(), 10 ** -random.uniform(2, 10)])
        epsilon = float(random.choice([random.exponential(), 10 ** -random.uniform(0, 6), 5 * random.exponential()]))
        found = dv.design([rare, 1 - rare], f"{kind}={epsilon!r}", utility=utility)
        assert found.utility <= found.bound
        with mp.workdps(60):
            p = [mp.mpf(x) for x in found.prior.floats.tolist()]
            p = [x / mp.fsum(p) for x in p]
            points = precise_points(p, *LIMITS[str(kind)](mp.mpf(epsilon)))
            best = precise_optimum(p, FUNCTIONS[utility], points, mp.inf)
            assert best <= found.bound * (1 + mp.mpf(10) ** -13)
            assert found.bound <= best * (1 + mp.mpf(10) ** -5) + mp.mpf(10) ** -15


def test_the_bound_is_withdrawn_when_it_lies_below_the_utility() -> None:
    from dataclasses import replace

    found = dv.design([0.3, 0.7], "ldp=1", utility="hellinger")
    assert replace(found, bound=found.utility / 2).bound == float("inf")
    least = dv.design([0.3, 0.7], "ldp=1", utility="error")
    assert replace(least, bound=least.utility * 2).bound == -float("inf")
