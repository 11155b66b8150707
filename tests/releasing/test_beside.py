"""What columns that go out add to a release, by Bayes' rule over every group of people alike in them."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import few

import divulge as dv
from divulge.releasing.beside import FEW


@pytest.mark.parametrize("seed", range(few(8)))
def test_nobody_who_knows_the_shares_of_a_group_holds_more_afterwards(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"town": rng.choice(["x", "y", "z"], 300), "age": rng.choice(["old", "young"], 300)}
    likely = np.where(columns["town"] == "x", "a", "b")
    columns["x"] = np.where(rng.random(300) < 0.3, rng.choice(["a", "b", "c"], 300), likely)
    table = pa.table(columns)
    found = dv.preview(table, column="x", mechanism="randomized-response", ratio=3, keep=["town", "age"])
    assert found.beside is not None
    channel = dv.mechanisms.randomized_response(["a", "b", "c"], ratio=3)
    before, after, place = Fraction(0), Fraction(0), "abc".index(str(found.beside.value))
    for town in "xyz":
        for age in ("old", "young"):
            group = columns["x"][(columns["town"] == town) & (columns["age"] == age)].tolist()
            if len(group) < FEW:
                continue
            shares = [Fraction(group.count(x), len(group)) for x in "abc"]
            before = max(before, shares[place])
            for y in range(3):
                joint = [p * Fraction(row[y]) for p, row in zip(shares, channel.matrix.tolist(), strict=True)]
                after = max(after, joint[place] / sum(joint))
    assert found.beside.before == pytest.approx(float(before), rel=1e-12)
    assert float(after) <= found.beside.after * (1 + 1e-12)
    assert found.beside.after < 1.3 * float(after)
    assert found.beside.raising[0][0] == "town"
    assert "'town'" in found.text()


def test_columns_that_stay_add_nothing_and_few_rows_are_counted() -> None:
    table = pa.table({"x": ["a", "b"] * 20, "n": [*range(5), *[9] * 35]})
    assert dv.preview(table, column="x", guarantee="ldp=1", only_column=True).beside is None
    found = dv.preview(table, column="x", guarantee="ldp=1").beside
    assert found is not None
    assert found.alone == 5
    assert dv.preview(table, column="x", guarantee="ldp=1", person="n", rows_per_person=2).beside is None
