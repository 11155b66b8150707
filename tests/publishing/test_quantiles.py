"""Quantiles: the law of a choice among values, what it tells over all small tables, and how far its rank is off."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from support import NEVER

import divulge as dv
from divulge.publishing.counting.groups import Categories
from divulge.publishing.noising.estimates import scores
from divulge.publishing.noising.families import FAMILIES, Laplace, Noise
from divulge.publishing.noising.leakage import largest_loss
from divulge.publishing.noising.noise import chosen, ranks_off
from divulge.publishing.queries import Unit, plan_of
from divulge.releasing.drawing.chance import Chance

TIMES = 12_000
"""So many draws that noise of 1.5 is told from noise of 2 but once in 1e15 times."""


def law(found: np.ndarray, noise: Noise) -> np.ndarray:
    """Return P(each value is chosen): least score less exponential noise; with Gumbel noise softmax.

    P(y) = E prod_i (1 - e^-(T + (s_i - s_y)/scale))_+ over an exponential T, where all are positive, multiplied out.
    """
    gaps = found / noise.scale
    if not noise.bounded:
        weight = np.exp(-(gaps - gaps.min()))
        return weight / weight.sum()
    out = np.zeros(len(gaps))
    for y in range(len(gaps)):
        others = np.delete(gaps, y) - gaps[y]
        start = max(0.0, float(-others.min())) if len(others) else 0.0
        total = 0.0
        for size in range(len(others) + 1):
            for chosen_ones in combinations(others, size):
                total += (-1) ** size * math.exp(-sum(chosen_ones) - (size + 1) * start) / (size + 1)
        out[y] = total
    return out


def query(probability: str, unit: Unit, cells: int = 1):
    asked = dv.Quantiles("v", (0, 2), probabilities=probability, intervals=False, by="g" if cells > 1 else ())
    return plan_of([asked], {"g": Categories(tuple(map(str, range(cells))))}, ["v"], unit).queries[0]


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_the_law_is_the_one_that_is_drawn(family: str) -> None:
    noise = FAMILIES[family](2.0)
    found = np.array([0, 1, 3, 1])
    p = law(found, noise)
    assert p.sum() == pytest.approx(1)
    chance = Chance()
    drawn = np.bincount([chosen(found, noise, chance) for _ in range(TIMES)], minlength=4)
    assert stats.chisquare(drawn, TIMES * p).pvalue > NEVER
    assert stats.chisquare(drawn, TIMES * law(found, FAMILIES[family](1.5))).pvalue < NEVER


@pytest.mark.parametrize("neighbors", ["replaced", "added"])
@pytest.mark.parametrize("probability", ["1/2", "1/4", "2/3"])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_no_small_table_tells_more_than_is_said(family: str, probability: str, neighbors: str) -> None:
    unit = Unit(neighbors=neighbors)
    asked, noise = query(probability, unit), FAMILIES[family](3.0)
    said = float(largest_loss([asked], [noise], unit))
    above, below = asked.only.numerator, asked.only.denominator
    worst = 0.0
    for others in product(range(3), repeat=3):
        rows = np.bincount(others, minlength=3)
        near = [rows + np.eye(3, dtype=np.int64)[i] for i in range(3)] + ([rows] if neighbors == "added" else [])
        laws = [np.log(law(scores(table, above, below), noise)) for table in near]
        pairs = [(0, 3), (1, 3), (2, 3)] if neighbors == "added" else combinations(range(3), 2)
        worst = max(worst, *(float(abs(laws[i] - laws[j]).max()) for i, j in pairs))
    assert 0.2 * said < worst <= said


@pytest.mark.parametrize("change", ["replaced", "added"])
@pytest.mark.parametrize("probability", ["1/2", "1/4", "9/10"])
@pytest.mark.parametrize("ends", [(0, ""), (-7, "low"), (7, "high")])
def test_scores_change_by_no_more_than_is_said(change: str, probability: str, ends: tuple[int, str]) -> None:
    asked = query(probability, Unit())
    above, below = asked.only.numerator, asked.only.denominator
    greatest = 0
    for values in product(range(3), repeat=4):
        rows = np.bincount(values[:3], minlength=3)
        more = [np.eye(3, dtype=np.int64)[v] for v in (values[3], 0, 1, 2)]
        for extra in more[1:]:
            first = rows + more[0]
            second = rows + extra if change == "replaced" else rows
            moved = scores(first, above, below, *ends) - scores(second, above, below, *ends)
            greatest = max(greatest, int(abs(moved).max()))
    assert greatest <= asked.sharpness[1 if change == "replaced" else 0]
    if not ends[0]:
        assert greatest == asked.sharpness[1 if change == "replaced" else 0]


def test_the_rank_is_off_by_no_more_than_is_said() -> None:
    noise, miss = Laplace(4.0), 0.05
    found = scores(np.array([3, 1, 4, 1, 5, 9, 2, 6]), 1, 2)
    off = ranks_off(noise, len(found), miss)
    assert law(found, noise)[found >= found.min() + off].sum() <= miss
