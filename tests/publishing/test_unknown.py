"""Values that nobody listed: what their showing themselves tells, from the law of the noise and over all outcomes."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import NEVER, plausible

import divulge as dv
from divulge.guarantees.kinds.loss import ADP
from divulge.publishing.counting.naming import naming, rest_of
from divulge.publishing.counting.tables import table_of
from divulge.publishing.counting.unknown import Threshold, occurring
from divulge.publishing.noising.noise import thresholded
from divulge.publishing.queries import Unit


def law(count: int, scale: float, least: int, top: int) -> np.ndarray:
    """Return the probabilities that a value with so many rows is not published, and of each count that is."""
    a = math.exp(-1 / scale)
    k = np.arange(least - count, top - count)
    shown = (1 - a) / (1 + a) * a ** abs(k) if count else np.zeros(len(k))
    return np.concatenate([[1 - shown.sum()], shown])


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.5, 0.01), (3.0, 1e-4)])
def test_what_is_told_holds_for_two_values_over_all_outcomes(epsilon: float, delta: float) -> None:
    """A row moves from a value that nobody else has to one that others have, or that nobody has."""
    found = Threshold.keeping(epsilon, delta, Unit())
    top = found.least + int(60 * found.scale)
    worst = 0.0
    for others in ((0, 0), (0, 5), (3, 0), (found.least, 1)):
        for moved in (((1, 0), (0, 1)), ((0, 1), (1, 0))):
            first, second = (
                np.outer(*(law(o + m, found.scale, found.least, top) for o, m in zip(others, where, strict=True)))
                for where in moved
            )
            worst = max(worst, float(np.maximum(first - math.exp(found.epsilon) * second, 0).sum()))
    assert worst <= found.delta * (1 + 1e-6)
    assert worst > 0.9 * found.delta  # a threshold of one less would not do
    assert found.delta * math.exp(1 / found.scale) > delta


@pytest.mark.parametrize("neighbors", ["replaced", "added"])
def test_what_is_told_holds_for_a_person_with_values_of_their_own(neighbors: Any) -> None:
    """Two rows of a person: in two values that nobody else has, or one; in a value that others have, or not there."""
    found = Threshold.keeping(1.0, 0.01, Unit("who", 2, neighbors))
    top = found.least + int(12 * found.scale)
    others, alone = (0, 0, 5), []
    places = [(1, 1, 0), (2, 0, 0), (1, 0, 1)]
    for place in places:
        other = (0, 0, 2) if neighbors == "replaced" else (0, 0, 0)
        laws = [
            [law(o + m, found.scale, found.least, top) for o, m in zip(others, rows, strict=True)]
            for rows in (place, other)
        ]
        first, second = (np.multiply.outer(np.multiply.outer(a, b), c) for a, b, c in laws)
        for p, q in ((first, second), (second, first)):
            alone.append(float(np.maximum(p - math.exp(found.epsilon) * q, 0).sum()))
    assert max(alone) <= found.delta
    assert max(alone) == max(alone[:2]) > 0.6 * found.delta  # two values of one row each, and not one of two


def test_the_sampler_publishes_from_the_threshold_on() -> None:
    drawn = Counter(thresholded(1.0, 5)({str(i): 4 for i in range(20_000)}).values())
    assert min(drawn) == 5
    assert plausible(sum(drawn.values()), 20_000, math.exp(-1) / (1 + math.exp(-1)))


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_rows_of_a_person_show_a_value_than_is_said(most: int) -> None:
    table = table_of(pa.table({"who": ["me"] * 5 + ["you"] * 2 + [None], "word": ["a"] * 5 + ["b"] * 2 + ["c"]}))
    assert occurring(table, ("word",), Unit("who", most), None) == ({'["a"]': most, '["b"]': most}, 2 * most)
    assert occurring(table, ("word",), Unit(), None)[1] == 8


def test_what_names_and_statistics_about_them_are_given_adds_up_to_what_is_asked() -> None:
    """The delta of names is spent: what is left is rounded down, and no more of it is left over than that."""
    asked = ADP(1, 1e-6)
    for columns in range(1, 9):
        names = [naming(asked, columns, Unit("who", 3))] * columns
        for name, least in (("epsilon", 0.74), ("delta", 4.9e-7)):
            left = Fraction(rest_of(asked, names).values()[name])
            spent = sum(Fraction(getattr(one, name)) for one in names)
            assert left + spent <= Fraction(asked.values()[name]) < (left + spent) * (1 + Fraction(1, 10**15))
            assert least < left < Fraction(asked.values()[name])


def test_frequent_values_show_themselves_and_rare_ones_do_not() -> None:
    table = pa.table({"word": ["often"] * 500 + ["rare"], "sex": ["f"] * 501})
    found = dv.publish(table, dv.Count("word", "sex"), guarantee="adp=1:1e-12", level=1 - NEVER)
    (row,) = found.statistics()
    assert row["by"] == {"word": "often", "sex": "f"}
    assert row["low"] <= 500 <= row["high"]
    assert any("not listed" in line for line in found.told)
    assert found.guarantees["adp"]["epsilon"] == 1.0


@pytest.mark.parametrize(
    "how",
    [{"guarantee": "dp=1"}, {"guarantee": "zcdp=1"}, {"guarantee": "adp=1:0"}, {"noise": "gaussian", "no_other": True}],
)
def test_without_a_delta_values_must_be_listed(how: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError, match="values-from-data"):
        dv.publish(pa.table({"w": ["x"] * 9}), dv.Count("w"), **({"guarantee": "adp=1:1e-6"} | how))
