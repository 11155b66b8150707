"""Two outcomes: the best channel against all vertices of the inequalities themselves."""

import itertools
import math

import numpy as np
import pytest
from designing.problems import KINDS, NAMES, holds, limits_as_arguments, random_prior
from support import THOROUGH, few

import divulge as dv
from divulge.designing.polytope.utilities import SUBCONVEX, custom


def best_column(p: np.ndarray, name: str, low: float, high: float, ratio: float, capacity: float) -> float:
    """Return the largest utility of a channel (c, 1 - c): every choice of active inequalities on c is solved."""
    n, one = len(p), np.eye(len(p))
    rows, most = [*one, *-one], [*np.ones(n), *np.zeros(n)]
    for own, own_mean, sign in ((one, p, 0.0), (-one, -p, 1.0)):  # entries and mean of c, and of 1 - c
        for x in range(n):
            if high < math.inf:
                rows.append(own[x] - high * own_mean)
                most.append(sign * (high - 1))
            rows.append(low * own_mean - own[x])
            most.append(sign * (1 - low))
            for z in range(n):
                if ratio < math.inf and x != z:
                    rows.append(own[x] - ratio * own[z])
                    most.append(sign * (ratio - 1))
    for x, z in itertools.permutations(range(n), 2):
        if capacity < math.inf:
            rows.append(one[x] - one[z])
            most.append(capacity - 1)
    a, b = np.array(rows), np.array(most)
    chosen = np.array(list(itertools.combinations(range(len(b)), n)))
    chosen = chosen[np.abs(np.linalg.det(a[chosen])) > 1e-9]
    points = np.linalg.solve(a[chosen], b[chosen][:, :, None])[:, :, 0]
    points = np.clip(points[(points @ a.T <= b + 1e-9).all(axis=1)], 0, 1)
    utility = SUBCONVEX[name]
    return max(utility.of(p, np.stack([c, 1 - c], axis=1)) for c in np.unique(np.round(points, 12), axis=0))


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_two_outcomes_have_the_most_that_two_can(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)) + 21)
    for trial, n in enumerate([3, 3, 3, 3, 2, 3] + [4] * (THOROUGH and kind in ("pml", "alip", "capacity"))):
        p = random_prior(rng, n)
        guarantees, limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.05)
        name = NAMES[trial % len(NAMES)]
        best = best_column(p, name, *limits_as_arguments(limits), limits.get("capacity", math.inf))
        found = dv.design(p, *guarantees, utility=name, outcomes=["no", "yes"])
        assert found.utility == pytest.approx(best, rel=1e-8, abs=1e-11), (p, guarantees, name)
        assert found.bound == pytest.approx(best, rel=1e-8, abs=1e-11)
        assert found.utility <= found.bound
        assert holds(found)


def test_two_outcomes_of_ten_secrets_and_about_another_variable_are_proved() -> None:
    rng = np.random.default_rng(4)
    for utility in ("mutual-information", dv.About(rng.dirichlet(np.ones(3), 10))):
        p = rng.dirichlet(np.ones(10))
        two, any_number = (dv.design(p, "pml=0.6", "ldp=2", utility=utility, outcomes=o) for o in (["a", "b"], None))
        assert two.relative_gap < 1e-8
        assert two.utility < any_number.utility


@pytest.mark.parametrize("name", [*SUBCONVEX, "cube"])
def test_slopes_touch_the_utility_from_below(name: str) -> None:
    utility = custom(lambda v: v**3) if name == "cube" else SUBCONVEX[name]
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(5))
    for _ in range(few(20)):
        here, there = (rng.dirichlet(np.ones(3), 5) for _ in range(2))
        if name != "lautum-information":
            here[rng.random((5, 3)) < 0.3] = 0.0
            here[:, 0] += 1 - here.sum(axis=1)
        scores = utility.slopes(p, here)
        assert (p[:, None] * scores * here).sum() == pytest.approx(utility.of(p, here), rel=1e-5, abs=1e-8)
        assert (p[:, None] * scores * there).sum() <= utility.of(p, there) * (1 + 1e-6) + 1e-8
