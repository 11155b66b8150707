"""Counts of people beside counts of rows, and which rows of a person count: against their definitions, by hand."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.publishing.queries import Query, Unit

CELLS = ["a", "b", "other", "no answer"]
VALUES = {"ward": ["a", "b"]}


@pytest.fixture(scope="module")
def visits() -> Any:
    rng = np.random.default_rng(3)
    wards = [["a", "b", "c", "d", None][i] for i in rng.integers(0, 5, 500)]
    return pa.table(
        {"who": [f"p{i}" for i in rng.integers(0, 80, 500)], "ward": wards, "cost": rng.integers(0, 9, 500)}
    )


def exact(table: Any, asked: list[Any], **how: Any) -> Any:
    options = {"guarantee": "dp=1e7", "values": VALUES, "person": "who"} | how
    return dv.publish(table, asked, **options)


def numbers(found: Any, kind: str) -> dict[str, Any]:
    return {row["by"]["ward"]: row["value"] for row in found.statistics()
            if row["statistic"] == kind and row["by"]}  # fmt: skip


def test_people_are_counted_once_in_each_group(visits: Any) -> None:
    found = exact(visits, [dv.Count("ward"), dv.People("ward"), dv.People()], rows_per_person=500)
    cells = [ward if ward in VALUES["ward"] else "no answer" if ward is None else "other"
             for ward in visits["ward"].to_pylist()]  # fmt: skip
    pairs = list(zip(visits["who"].to_pylist(), cells, strict=True))
    assert numbers(found, "count") == dict(Counter(cells))
    assert numbers(found, "people") == dict(Counter(cell for _, cell in set(pairs)))
    total = [row for row in found.statistics() if row["statistic"] == "people" and not row["by"]]
    assert [row["value"] for row in total] == [len({who for who, _ in pairs})]
    assert found.queries[-1]["scale"] == 0, "the number of people is public where one is replaced"


@pytest.mark.parametrize(
    ("rows", "groups", "each"), [(3, None, None), (8, 2, None), (9, None, 1), (9, 2, 2), (3, 2, 2)]
)
def test_no_more_of_a_person_counts_than_is_said(rows: int, groups: int | None, each: int | None) -> None:
    """One person alone, with rows in every cell, has in each table what the bounds allow."""
    table = pa.table({"who": ["me"] * 24, "ward": ["a", "b", "c", "d", "e", None] * 4})
    bounds = {"groups_per_person": groups, "rows_per_group": each}
    found = exact(table, [dv.Count("ward"), dv.People("ward")], rows_per_person=rows, **bounds)
    counts, people = numbers(found, "count"), numbers(found, "people")
    most = min(rows, (groups or 4) * (each or 24))
    assert sum(counts.values()) == most
    assert sum(map(bool, counts.values())) <= min(groups or 4, rows)
    assert max(counts.values()) <= (each or 24)
    assert people == {cell: int(count > 0) for cell, count in counts.items()}


def test_a_count_of_people_needs_less_noise_than_one_of_their_rows() -> None:
    unit = Unit("who", 6, groups=2, per_group=3, by=("ward",))
    cells = Query("rows", ("ward",), (10,))
    people = Query("people", ("ward",), (10,))
    assert cells.changes(unit) == (12, 2 * (9 + 9))
    assert people.changes(unit) == (4, 4)
    assert people.changes(unit, "added") == (2, 2)
    assert people.shifts(unit) == ((1, 1, 1, 1),)
    assert Query("people", (), ()).changes(unit) == (0, 0)


def leaving(k: int, groups: int, each: int, cells: int) -> list[tuple[int, ...]]:
    """Return all ways in which at most k rows of one person lie in cells."""
    ways = product(range(each + 1), repeat=cells)
    return [way for way in ways if 0 < sum(way) <= k and sum(map(bool, way)) <= groups]


@pytest.mark.parametrize(("k", "groups", "each"), [(4, 2, 2), (3, 2, 2), (3, 3, 1), (5, 2, 3)])
@pytest.mark.parametrize("ends", [(1, 1), (0, 3), (-2, 3), (-2, 2)])
def test_no_replaced_person_changes_more_than_the_noise_hides(k: int, groups: int, each: int, ends: Any) -> None:
    """All pairs of what one person leaves and another brings, with every sum of their values."""
    unit, cells = Unit("who", k, groups=groups, per_group=each, by=("g",)), 3
    query = Query("values", ("g",), (cells,), "v", low=ends[0], high=ends[1])
    sums = {tuple(np.array(way) * end) for way in leaving(k, groups, each, cells) for end in ends}
    sums |= {tuple(np.where(mask, way, 0) * ends[0] + np.where(mask, 0, way) * ends[1])
             for way in leaving(k, groups, each, cells) for mask in product((True, False), repeat=cells)}  # fmt: skip
    every = np.array(sorted(sums))
    moved = every[:, None, :] - every[None, :, :]
    l1, l2 = query.changes(unit)
    assert abs(moved).sum(axis=2).max() <= l1
    assert (moved**2).sum(axis=2).max() <= l2
    assert query.changes(unit, "added") == (abs(every).sum(axis=1).max(), (every**2).sum(axis=1).max())


def test_receipts_say_which_rows_count(visits: Any, tmp_path: Path) -> None:
    how: dict[str, Any] = {"guarantee": "zcdp=0.5", "noise": "gaussian", "groups_per_person": 2, "rows_per_group": 2}
    exact(visits, [dv.People("ward"), dv.Count("ward")], sink=tmp_path / "v.csv", **how)
    again = dv.results.Published.read(tmp_path / "v.receipt.json")
    assert again.protected == {"noun": "person", "person": "who", "at_most": 4, "neighbors": "replaced",
                               "groups": 2, "per_group": 2}  # fmt: skip
    page = " ".join((tmp_path / "v.statement.txt").read_text().split())
    assert "A count of people has everybody with a row that counts there, each once" in page
    assert "count in so many groups at most: 2." in page
    assert "So many rows of a person count in one group at most: 2." in page
    text = (tmp_path / "v.receipt.json").read_text()
    assert '"per_group": 2' in text


def test_people_are_refused_where_nobody_says_who(visits: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="name the column that says whose row it is where people are counted"):
        dv.publish(visits, dv.People("ward"), guarantee="dp=1", values=VALUES, per_row=True)
    with pytest.raises(dv.DivulgeError, match="come with columns that group"):
        exact(visits, [dv.Count()], groups_per_person=2)
    reals = visits.append_column("size", pa.array([0.5] * 500))
    with pytest.raises(dv.DivulgeError, match="text, whole numbers or dates where people"):
        exact(reals, [dv.People("size")], values={"size": [0.5]})


def test_consistent_counts_leave_counts_of_people_alone(visits: Any) -> None:
    asked = [dv.Count("ward"), dv.Count(), dv.People("ward")]
    found = exact(visits, asked, rows_per_person=500, consistent=True, non_negative=True, whole=True)
    untouched = exact(visits, asked, rows_per_person=500)
    assert numbers(found, "people") == numbers(untouched, "people")
