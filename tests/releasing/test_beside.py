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


@pytest.mark.parametrize("seed", range(few(6)))
def test_people_are_counted_where_a_column_says_who(seed: int) -> None:
    """Somebody with many visits is one person: shares are those of people, and a group of few people is none."""
    rng = np.random.default_rng(seed)
    people = [(i, str(rng.choice(["a", "b"], p=[0.8, 0.2])), str(rng.choice(["x", "y"]))) for i in range(60)]
    people += [(60 + i, "b", "z") for i in range(FEW - 1)]  # many rows, few people
    rows = [(*one, int(ward)) for one in people for ward in rng.integers(0, 2, 20 if one[1] == "b" else 2)]
    who, x, town, ward = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"who": who, "x": x, "town": town, "ward": ward})
    options: dict[str, Any] = {"column": "x", "guarantee": "ldp=1", "person": "who", "keep": ["town", "ward"]}
    found = dv.preview(table, **options, one_answer=True).beside
    assert found is not None
    groups: dict[tuple[str, int], dict[int, str]] = {}
    for i, answer, place, at in rows:
        groups.setdefault((place, at), {})[i] = answer
    large = {key: list(held.values()) for key, held in groups.items() if key[0] != "z"}
    shares = {key: Fraction(held.count(str(found.value)), len(held)) for key, held in large.items()}
    assert found.before == pytest.approx(float(max(shares.values())), rel=1e-12)
    assert found.alone == sum(place == "z" for place in town)
    each = dv.preview(table, **options, rows_per_person=20).beside  # answers of rows, each with a draw of its own
    assert each is not None
    assert each.alone == found.alone
    by_row = {key: [answer == each.value for _, answer, *of in rows if tuple(of) == key] for key in shares}
    assert each.before == pytest.approx(max(sum(one) / len(one) for one in by_row.values()), rel=1e-12)
