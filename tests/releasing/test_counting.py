"""Counts of columns against Python's own, for every kind of value and of source."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.releasing.estimating import contingency as counting

ROWS = 5000


def _columns() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    letters = rng.choice(["a", "b", "c", None], size=ROWS, p=[0.5, 0.3, 0.1, 0.1])
    return {
        "letters": letters.tolist(),
        "coded": pa.array(letters.tolist()).dictionary_encode(),
        "whole": rng.integers(0, 300, size=ROWS),
        "floats": np.where(rng.random(ROWS) < 0.2, np.nan, rng.integers(0, 3, size=ROWS) / 2),
        "flags": rng.random(ROWS) < 0.3,
        "money": [Decimal(int(v)) / 4 for v in rng.integers(0, 5, size=ROWS)],
        "wide": rng.integers(0, 3000, size=ROWS),
    }


def _counted(table: pa.Table, *names: str) -> Counter[Any]:
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    plain = [tuple(None if v is None or v != v else v for v in row) for row in rows]
    return Counter(row if len(names) > 1 else row[0] for row in plain)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.table(_columns())


@pytest.mark.thin
@pytest.mark.parametrize(
    "names", [["letters"], ["coded"], ["floats"], ["money"], ["flags", "letters"], ["whole", "coded", "floats"]]
)
@pytest.mark.parametrize("dense", [1 << 22, 40])
def test_counts_are_those_of_python(names: list[str], dense: int, table: pa.Table, monkeypatch: Any) -> None:
    monkeypatch.setattr(counting, "_DENSE", dense)
    monkeypatch.setattr("divulge.files.tables.source.MOST_ROWS", 1 << 8)
    found = dv.contingency(table, names)
    assert Counter(found.to_dict()) == _counted(table, *names)
    assert found.rows == ROWS
    assert found.missing == tuple(_counted(table, name)[None] for name in names)
    assert all(None not in labels[:-1] for labels in found.labels)
    assert found.dense().sum() == ROWS


def test_files_and_frames_count_alike(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=700)
    wanted = _counted(table, "letters", "whole")
    frame = pd.DataFrame({"letters": table["letters"].to_pylist(), "whole": table["whole"].to_pylist()})
    for source in (tmp_path / "t.parquet", frame):
        assert Counter(dv.contingency(source, ["letters", "whole"]).to_dict()) == wanted


@pytest.mark.thin
@pytest.mark.parametrize("size", [1, 100, 256, 257])
@pytest.mark.parametrize("rows", [(1 << 17) - 1, 1 << 17, (1 << 17) + 1, (1 << 19) + 3])
def test_places_are_counted_alone_or_in_pairs(size: int, rows: int) -> None:
    places = np.random.default_rng(size).integers(0, size, rows).astype(np.int32)
    assert counting._frequencies(places, size).tolist() == [int((places == k).sum()) for k in range(size)]


@pytest.mark.parametrize("groups", [[1], [700] * 8, [1, 3000, 5, 5, 900, 1089]])
def test_parts_of_a_file_are_its_rows_one_after_the_other(
    groups: list[int], table: pa.Table, tmp_path: Path, monkeypatch: Any
) -> None:
    table = table.slice(0, min(ROWS, sum(groups)))
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        for end, size in zip(np.cumsum(groups), groups, strict=True):
            writer.write_table(table.slice(end - size, size))
    source = dv.open_table(tmp_path / "t.parquet")
    alone = dv.contingency(source, ["letters", "whole"])
    for least in (1, 1000, 10**6):
        monkeypatch.setattr("divulge.files.tables.columnar._PARTS", (least, least))
        parts = source.parts(["wide"])
        assert (len(parts) > 1) == (least < len(table) and len(groups) > 1)
        assert [v for p in parts for b in p.batches(["wide"]) for v in b["wide"].to_pylist()] == table[
            "wide"
        ].to_pylist()
        found = dv.contingency(source, ["letters", "whole"])
        assert found.labels == alone.labels
        assert found.to_dict() == alone.to_dict() == _counted(table, "letters", "whole")


@pytest.mark.parametrize("place", [-1, 2, 127])
def test_a_position_out_of_a_dictionary_is_refused(place: int) -> None:
    indices = pa.array([0, 1, None, place], pa.int8())
    broken = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    with pytest.raises(dv.DivulgeError, match="damaged"):
        dv.contingency(pa.table({"x": broken}), "x")


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.int64(), pa.uint64()])
def test_dictionaries_count_by_their_values(kind: pa.DataType) -> None:
    """Indices of any width; a dictionary that lists one value twice; another dictionary in the next batch."""
    parts = [(["a", "b"], [0, 1, None, 1]), (["c", "a", "a", None], [0, 1, 2, 3])]
    chunks = [pa.DictionaryArray.from_arrays(pa.array(indices, kind), pa.array(values)) for values, indices in parts]
    table = pa.table({"x": pa.chunked_array(chunks)})
    assert dv.contingency(table, "x").to_dict() == {"a": 3, "b": 2, "c": 1, None: 2}
    counted = dv.contingency(table, ["x", "x"]).to_dict()
    assert counted == {("a", "a"): 3, ("b", "b"): 2, ("c", "c"): 1, (None, None): 2}


def test_bad_requests_are_refused(table: pa.Table) -> None:
    with pytest.raises(dv.DivulgeError, match="'absent'"):
        dv.contingency(table, "absent")
    with pytest.raises(dv.DivulgeError, match="at least one column"):
        dv.contingency(table, [])
    with pytest.raises(dv.DivulgeError, match="must be a path or a pandas"):
        dv.contingency(3, "x")
    twice = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(dv.DivulgeError, match="two columns"):
        dv.contingency(twice, "x")
    assert dv.contingency(table.slice(0, 0), "whole").rows == 0


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64()])
@pytest.mark.parametrize("near", [0, 1])
def test_whole_numbers_of_a_narrow_range_count_as_others_do(kind: pa.DataType, near: int) -> None:
    """At both ends of what the type can hold, with missing values, in order of first appearance."""
    rng = np.random.default_rng(near)
    low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
    start = int(low) if near == 0 else int(high) - 90
    values: list[int | None] = [start + int(v) for v in rng.integers(0, 90, size=ROWS)]
    values[7::11] = [None] * len(values[7::11])
    values[-1] = start + 90
    found = dv.contingency(pa.table({"x": pa.array(values, kind)}), "x")
    assert found.to_dict() == Counter(values)
    assert list(found.labels[0][:-1]) == [v for v in dict.fromkeys(values) if v is not None]


@pytest.mark.parametrize(("dense", "bits"), [(40, 62), (40, 20), (2000, 62), (1, 11)])
def test_keys_grow_with_the_values_that_come_and_cells_stand_side_by_side_where_bits_are_too_few(
    dense: int, bits: int, monkeypatch: Any
) -> None:
    """Each batch brings values that none before it had, so that keys are made anew while counts go on."""
    monkeypatch.setattr(counting, "_DENSE", dense)
    monkeypatch.setattr(counting, "_MOST_BITS", bits)
    monkeypatch.setattr("divulge.files.tables.source.MOST_ROWS", 1 << 6)
    rng = np.random.default_rng(dense + bits)
    grown = np.arange(3000) // 4
    columns = {
        "id": [f"p{v}" for v in rng.integers(0, grown + 1)],
        "zip": [None if v % 11 == 3 else int(v) for v in rng.integers(0, grown // 9 + 2)],
        "sex": rng.choice(["f", "m"], 3000).tolist(),
    }
    found = dv.contingency(pa.table(columns), list(columns))
    assert Counter(found.to_dict()) == Counter(zip(*columns.values(), strict=True))
