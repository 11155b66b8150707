"""What public columns say: held against counting row by row, and against chance."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import divulge as dv


def table(rng: np.random.Generator, rows: int) -> dict[str, list[object]]:
    faith = rng.choice(["a", "b", "c"], size=rows, p=[0.6, 0.3, 0.1]).tolist()
    town = [f if rng.random() < 0.4 else rng.choice(["a", "b", "x"]).item() for f in faith]
    age = rng.integers(0, 4, size=rows).tolist()
    return {"faith": faith, "town": [None if t == "x" else t for t in town], "age": age}


@pytest.mark.parametrize("seed", range(3))
def test_shares_and_bounds_are_those_of_counting_by_hand(seed: int) -> None:
    data = table(np.random.default_rng(seed), 300)
    found = dv.exposure(pa.table(data), "faith")
    assert {told.columns for told in found.told} == {("town",), ("age",), ("town", "age")}
    totals = Counter(data["faith"])
    assert found.shares == {v: totals[v] / 300 for v in sorted(totals, key=totals.__getitem__)}
    for told in found.told:
        groups = list(zip(*(data[name] for name in told.columns), strict=True))
        sizes, hits = Counter(groups), Counter(zip(groups, data["faith"], strict=True))
        assert told.groups == len(sizes)
        risk = 0.05 / (len(sizes) * 3)
        for shift in told.shifts:
            n, k = sizes[shift.group], hits[shift.group, shift.secret]
            assert (shift.rows, shift.hits, shift.after) == (n, k, k / n)
            assert shift.low == pytest.approx(stats.beta.ppf(risk / 2, k, n - k + 1) if k else 0)
            assert shift.high == pytest.approx(stats.beta.isf(risk / 2, k + 1, n - k) if k < n else 1)
            lows = [stats.beta.ppf(risk / 2, hits[g, shift.secret], sizes[g] - hits[g, shift.secret] + 1)
                    for g in sizes if hits[g, shift.secret]]  # fmt: skip
            assert shift.low == pytest.approx(max(lows))


def test_chance_is_rarely_taken_for_knowledge() -> None:
    """Columns that have nothing to do with the secret surely raise something in at most 5 of 100 tables or so."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(100):
        columns = {"faith": rng.choice(["a", "b"], size=200, p=[0.9, 0.1]), "town": rng.integers(0, 40, size=200)}
        (told,) = dv.exposure(pa.table(columns), "faith").told
        wrong += any(shift.low > {"a": 0.9, "b": 0.1}[shift.secret] for shift in told.shifts)
    assert wrong <= 10


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_tell_their_answer_are_counted_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 60))
    people = {
        "ill": rng.choice(["yes", "no"], rows),
        "age": rng.integers(0, 12, rows),
        "town": rng.choice([*"ab"], rows),
    }
    people["id"] = np.arange(rows)
    found = {told.columns: told for told in dv.exposure(pa.table(people), "ill").told}
    for columns, told in found.items():
        groups: dict[tuple[object, ...], list[str]] = {}
        for i in range(rows):
            groups.setdefault(tuple(people[name][i] for name in columns), []).append(str(people["ill"][i]))
        assert told.alone == sum(len(group) == 1 for group in groups.values())
        assert told.certain == sum(len(group) for group in groups.values() if len(set(group)) == 1)
    assert (found["id",].alone, found["id",].certain) == (rows, rows)  # an id tells every row its answer


def test_columns_that_name_people_are_left_out_and_said() -> None:
    rows = 2000
    columns = {"ill": ["no", "yes"] * (rows // 2), "name": [f"n{i}" for i in range(rows)], "tags": [["x"]] * rows}
    found = dv.exposure(pa.table(columns | {"sex": ["f", "m"] * (rows // 2)}), "ill")
    assert [told.columns for told in found.told] == [("sex",)]
    assert set(found.left_out) == {"name", "tags"}
    assert found.told[0].rise > 1.5


@pytest.mark.parametrize(
    ("columns", "options"),
    [({"a": [1]}, {"secret": "b"}), ({"a": [], "b": []}, {"secret": "a"}),
     ({"a": [1, 2], "b": [1, 2]}, {"secret": "a", "columns": ["a"]}),
     ({"a": [1, 2], "b": [1, 2]}, {"secret": "a", "confidence": float("nan")}),
     ({"a": list(range(2000)), "b": [1] * 2000}, {"secret": "a"})],
)  # fmt: skip
def test_what_cannot_be_looked_at_is_refused(columns: dict[str, list[int]], options: dict[str, object]) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.exposure(pa.table(columns), **options)
