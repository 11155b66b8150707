"""The ledger knows tables by what is in them: copies, formats, orders, more rows; what it keeps tells no value."""

import datetime
import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from math import comb
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from support import few

import divulge as dv
from divulge.releasing.records.fingerprint import SKETCH, Fingerprint, Key, Overlap
from divulge.releasing.records.impression import fingerprint

KEY = Key(bytes(range(32)))
COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["f", "m"], ["f", "m"])


def patients(rows: int, seed: int) -> pa.Table:
    """A table as clinics have them: a running number, and what many have in common."""
    rng = np.random.default_rng(seed)
    sex, faith = np.array(["f", "m"]), np.array(["none", "catholic", "other"])
    return pa.table({
        "number": np.arange(1, rows + 1), "sex": sex[rng.integers(0, 2, rows)],
        "age": rng.integers(18, 90, rows), "faith": faith[rng.integers(0, 3, rows)],
    })  # fmt: skip


def known(table: object, protected: tuple[str, ...] = ()) -> Fingerprint:
    """The fingerprint of a table under one key."""
    return fingerprint(dv.open_table(table), KEY, protected)


def test_every_format_and_order_gives_one_digest(tmp_path: Path) -> None:
    days = [datetime.date(2024, 1, 5), None, datetime.date(1999, 12, 31)]
    moments = [datetime.datetime(2024, 1, 5, 10, 30), datetime.datetime(2024, 2, 29), None]
    table = pa.table({
        "when": pa.array(moments, pa.timestamp("us")), "day": days,
        "money": [1234.5, 0.1, -3.0], "count": [1, None, 120],
        "yes": [True, False, True], "text": ["Köln", " trailing ", "x" * 40],
    })  # fmt: skip
    wanted = known(table)
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    frame = table.to_pandas()
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_csv(tmp_path / "pandas.tsv", index=False, sep="\t")
    turned = table.take([2, 0, 1]).select(table.column_names[::-1])
    for other in (*map(str, sorted(tmp_path.iterdir())), turned, frame):
        found = known(other)
        assert found.whole == wanted.whole, other
        assert found.columns == wanted.columns
    assert known(pa.table({"x": pa.array([0.1, 1e6], pa.float32())})).whole == known(pa.table({"x": [0.1, 1e6]})).whole
    assert known(table.set_column(2, "money", pa.array([1234.5, 0.1, -3.1]))).whole != wanted.whole
    assert known(table.take([0, 1])).whole != wanted.whole


def test_equal_rows_count_as_often_as_they_occur() -> None:
    """The sketch against a count of all rows, and the same in parts and batches of any size."""
    rng = np.random.default_rng(3)
    table = pa.table({"a": rng.integers(0, 40, 4500), "b": rng.integers(0, 40, 4500)})
    found = known(table)
    often = Counter(zip(*(table[name].to_pylist() for name in ("a", "b")), strict=True))
    assert len(found.hashes) == SKETCH < len(often)
    some = Counter(found.counts.tolist())
    assert all(count <= Counter(often.values())[times] for times, count in some.items())
    least = {}
    for times in set(often.values()):  # fewer than a sketch holds of each, so that the hashes of all come back
        rows = [row for row in often if often[row] == times]
        alone = known(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}))
        assert len(alone.hashes) == len(rows) < SKETCH
        least |= dict.fromkeys(alone.hashes.tolist(), times)
    assert dict(sorted(least.items())[:SKETCH]) == dict(zip(found.hashes.tolist(), found.counts.tolist(), strict=True))
    parts = pa.Table.from_batches(table.to_batches(max_chunksize=700))
    assert known(parts).whole == found.whole


@pytest.mark.parametrize("rows", [60, 400, 3000])
@pytest.mark.parametrize("columns", [("number", "age", "faith"), ("age", "faith", "sex"), ("number", "faith")])
def test_tables_of_the_same_people_are_recognized_and_others_are_not(rows: int, columns: tuple[str, ...]) -> None:
    for seed in range(few(12, 1)):
        table = patients(rows, seed).select(columns)
        more = pa.concat_tables([table, patients(rows + rows // 16, seed + 500).slice(rows).select(columns)])
        found = Overlap.of(known(more), known(table))
        assert found.same
        assert 0.9 <= found.share <= 1
        assert Overlap.of(known(table.slice(0, rows // 2)), known(table)).same
        assert not Overlap.of(known(patients(rows, seed + 100).select(columns)), known(table)).same
        assert not Overlap.of(known(patients(rows * 3, seed + 200).select(columns)), known(table)).same


def clinic(rng: np.random.Generator, rows: int, laws: list[np.ndarray]) -> pa.Table:
    """A table of columns with few values, independent of each other."""
    return pa.table({f"c{i}": rng.choice(len(law), rows, p=law) for i, law in enumerate(laws)})


@pytest.mark.parametrize(("rows", "others"), [(60, 60), (200, 230), (400, 1000), (3000, 3300)])
@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 3), (10,)])
def test_chance_makes_nobody_the_same_where_few_rows_are_different(
    rows: int, others: int, sizes: tuple[int, ...]
) -> None:
    """Two clinics of one population, which were taken for one in up to half of the draws, and a copy of the first."""
    for seed in range(few(12)):
        rng = np.random.default_rng(seed)
        laws = [rng.dirichlet(np.ones(size)) for size in sizes]
        one, other = clinic(rng, rows, laws), clinic(rng, others, laws)
        found = Overlap.of(known(one), known(other))
        assert not found.same
        assert found.open
        again = known(one.take(rng.permutation(rows)))
        assert again.whole == known(one).whole


def _counted(*counts: int) -> Fingerprint:
    """The fingerprint of a table in which different rows occur so often."""
    held = [i for i, count in enumerate(counts) if count]
    often = np.array([counts[i] for i in held], np.int64)
    return Fingerprint(sum(counts), str(counts), {}, np.array(held, np.uint64) + np.uint64(1), often)


@pytest.mark.thin
@pytest.mark.parametrize(("n", "m"), [(12, 12), (40, 40), (40, 43), (30, 60)])
def test_the_chance_that_two_coins_are_taken_for_one_is_small(n: int, m: int) -> None:
    """All tables of one column with two values, with their exact chances: at most 1 in 100 unless they are equal."""
    ones, others = ([_counted(i, size - i) for i in range(size + 1)] for size in (n, m))
    taken = [(i, j) for i, one in enumerate(ones) for j, other in enumerate(others)
             if (n, i) != (m, j) and Overlap.of(one, other).same]  # fmt: skip
    for share in (0.5, 0.2):
        wrong = sum(comb(n, i) * comb(m, j) * share ** (i + j) * (1 - share) ** (n + m - i - j) for i, j in taken)
        assert wrong <= 0.01


def test_a_table_with_some_rows_more_is_near_where_rows_are_of_fifteen_kinds() -> None:
    for seed in range(few(12)):
        rng = np.random.default_rng(seed)
        laws = [np.ones(3) / 3, np.ones(5) / 5]
        one = clinic(rng, 3000, laws)
        more = pa.concat_tables([one, clinic(rng, 60, laws)])
        assert Overlap.of(known(more), known(one)).same
        assert not Overlap.of(known(clinic(rng, 3060, laws)), known(one)).same


def test_of_few_rows_nearly_all_must_be_in_common() -> None:
    """Three standard deviations are more rows than there are: a few in common are chance, and nine tenths are not."""
    for n, common in ((4, 3), (8, 4), (12, 4)):
        one, other = [1] * n + [0] * (n - common), [0] * (n - common) + [1] * n
        assert not Overlap.of(_counted(*one), _counted(*other)).same
        assert Overlap.of(_counted(*one), _counted(*one)).same
    for seed in range(5):
        kinds = np.random.default_rng(seed).integers(0, 50, 120)
        one, corrected, other = (
            _counted(*np.bincount(kinds[rows], minlength=50).tolist())
            for rows in (slice(60), slice(6, 66), slice(60, 120))
        )
        found = Overlap.of(one, corrected)
        assert (found.same, found.open) == (True, False)
        found = Overlap.of(one, other)
        assert (found.same, found.open) == (False, False)


def test_what_rows_cannot_tell_is_said_and_a_copy_counts(tmp_path: Path) -> None:
    book, rng = tmp_path / "ledger.sqlite", np.random.default_rng(1)
    one, other = (pa.table({"sex": np.array(["f", "m"])[rng.integers(0, 2, rows)]}) for rows in (200, 230))
    _spend(book, one, "north", budget="ldp=1.2")
    told: list[str] = []
    _spend(book, other, "south", warn=told.append)
    assert any("too few rows are different to know whether people of 'north'" in text for text in told)
    assert any("--people (people=) names the table of the same people" in text for text in told)
    with pytest.raises(dv.DivulgeError, match=r"allow ldp 2\.2"):
        _spend(book, one.take(rng.permutation(200)), "a copy")


def test_the_share_is_that_of_the_rows() -> None:
    table = patients(500, 1)
    more = pa.concat_tables([table, patients(532, 2).slice(500)])
    assert Overlap.of(known(more), known(table)).share == pytest.approx(500 / 532)


def test_nothing_on_record_says_a_value_without_the_key(tmp_path: Path) -> None:
    book, table = tmp_path / "ledger.sqlite", patients(50, 1)
    dv.release(table, column="sex", mechanism=COIN, ledger=book, source_name="survey")
    key = tmp_path / "ledger.sqlite.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes() not in book.read_bytes()
    (sealed,) = sqlite3.connect(book).execute("select fingerprint from divulge_tables").fetchone()
    with pytest.raises(ValueError, match="another key"):
        Fingerprint.opened(sealed, Key(bytes(32)))
    again, other = known(table), Key(bytes(32))
    assert again.whole != fingerprint(dv.open_table(table), other).whole
    assert not set(again.hashes.tolist()) & set(fingerprint(dv.open_table(table), other).hashes.tolist())
    same = Fingerprint.opened(sealed, Key(key.read_bytes()))
    assert len(same.sealed(other)) == len(known(patients(51, 2)).sealed(other))  # nor how many rows are different


def _spend(book: object, table: object, name: str, **more: object) -> dv.Receipt:
    asked = {"column": "sex", "mechanism": COIN, "ledger": book, "source_name": name, "only_column": True}
    return dv.release(table, **asked | more)


def test_a_budget_follows_the_people_and_not_the_name(tmp_path: Path) -> None:
    book, table = tmp_path / "ledger.sqlite", patients(200, 1)
    pa.csv.write_csv(table, tmp_path / "a.csv")
    pa.parquet.write_table(table.take(np.random.default_rng(1).permutation(200)), tmp_path / "b.parquet")
    spend = {"column": "sex", "mechanism": COIN, "ledger": book, "only_column": True}
    dv.release(str(tmp_path / "a.csv"), **spend, budget="ldp=1.2")
    with pytest.raises(dv.DivulgeError, match=r"allow ldp 2\.2.*kept since.*rows are those of .*a\.csv"):
        dv.release(str(tmp_path / "b.parquet"), **spend)
    more = pa.concat_tables([table, patients(212, 2).slice(200)])
    with pytest.raises(dv.DivulgeError, match="about 94 of 100 rows stand in"):
        _spend(book, more, "April")
    one = pa.concat_tables([table.slice(1), patients(201, 2).slice(200)])
    with pytest.raises(dv.DivulgeError, match="about 99 of 100 rows stand in"):  # 199 of 200: not all
        _spend(book, one, "May")
    with pytest.raises(dv.DivulgeError, match="all rows that were compared stand in"):
        _spend(book, table.slice(0, 30), "June")
    others = patients(200, 7)
    _spend(book, others, str(tmp_path / "a.csv"))
    ledger = dv.Ledger(book)
    assert ledger.spent("a.csv", ["sex"]) == ledger.spent("a.csv (2)", ["sex"])
    assert len(ledger.entries("a.csv")) == len(ledger.entries("a.csv (2)")) == 1


def test_recognition_is_overruled_by_name_on_record(tmp_path: Path) -> None:
    book, table = tmp_path / "ledger.sqlite", patients(200, 1)
    _spend(book, table, "March", budget="ldp=1.2")
    _spend(book, table, "twin", people="new")
    recoded = pa.table(
        {"sex": table["sex"].to_pylist()[1:], "age": [str(a // 10) for a in table["age"].to_pylist()[1:]]}
    )
    with pytest.raises(dv.DivulgeError, match=r"allow ldp 2\.2"):
        _spend(book, recoded, "recoded", people="March")
    with pytest.raises(dv.DivulgeError, match=r"name a table of the ledger, or be new; it is 'Marhc'\. .*'March'"):
        _spend(book, recoded, "recoded", people="Marhc")
    with pytest.raises(dv.DivulgeError, match="come with a ledger"):
        _spend(None, recoded, "recoded", people="March")
    ledger = dv.Ledger(book)
    assert sorted(entry.because for entry in ledger.entries()) == ["", "new people, as `people` says"]
    ledger.keep("March", None, ["sex"])
    _spend(ledger, recoded, "recoded", people="March")
    assert ledger.spent("March", ["sex"]) == ledger.spent("recoded", ["sex"]) != ledger.spent("twin", ["sex"])
    _spend(ledger, recoded.slice(3), "June")  # it is known whose they are
    assert len(ledger.entries("March")) == 3


def test_a_column_that_went_out_is_told_and_one_with_a_budget_stays(tmp_path: Path) -> None:
    book, table = tmp_path / "ledger.sqlite", patients(200, 1)
    _spend(book, table, "March", only_column=False, keep=["age"], sink=tmp_path / "march.csv")
    ages = dv.Channel(np.eye(72) * 0.5 + 0.5 / 72, list(range(18, 90)), list(range(18, 90)))
    told: list[str] = []
    receipt = _spend(book, table, "a copy", column="age", mechanism=ages, warn=told.append, budget="ldp=9")
    assert any(r"Column 'age' went out as it is" in text and "'march.csv'" in text for text in receipt.warnings)
    with pytest.raises(dv.DivulgeError, match=r"column 'age' must not go out as it is: a budget of ldp=9"):
        _spend(book, table, "a copy", only_column=False, keep=["age"])
    found = dv.publish(table, dv.Count("age"), values={"age": list(range(18, 90))}, guarantee="dp=1", ledger=book,
                       source_name="x")  # fmt: skip
    assert any("went out as they are before" in text for text in found.told)


def test_a_budget_is_kept_until_it_is_changed_by_name(tmp_path: Path) -> None:
    book, table = tmp_path / "ledger.sqlite", patients(200, 1)
    with pytest.raises(OSError, match="full"), dv.Ledger(book).spending("t", _receipt(), "ldp=1.1"):
        raise OSError("full")
    assert dv.Ledger(book).budgets("t") == []
    told: list[str] = []
    _spend(book, table, "t", budget="ldp=2.2")
    _spend(book, table, "t", budget="ldp=9", warn=told.append)
    assert any("the budget that is kept stays ldp=2.2" in text for text in told)
    for budget in (None, "ldp=9"):
        with pytest.raises(dv.DivulgeError, match=r"allow ldp 3\.3 in all; it is 2\.2, kept"):
            _spend(book, table, "t", budget=budget)
    ledger = dv.Ledger(book)
    ledger.keep("t", "ldp=4", ["sex"])
    _spend(book, table, "t")
    assert [(one.columns, str(one.budget)) for one in ledger.budgets("t")] == [(("sex",), "ldp=4")]
    with pytest.raises(dv.DivulgeError, match="kind that adds up"):
        ledger.keep("t", "lift=2")
    rows = sqlite3.connect(book).execute("select budget, until is null from divulge_budgets order by number").fetchall()
    assert [(json.loads(text)["epsilon"], open_) for text, open_ in rows] == [("2.2", 0), ("4.0", 1)]


def _receipt() -> dv.Receipt:
    return dv.release(patients(5, 1), column="sex", mechanism=COIN)


def test_an_earlier_ledger_is_read_on_and_says_what_it_cannot_know(tmp_path: Path) -> None:
    book, table = tmp_path / "ledger.sqlite", patients(200, 1)
    _spend(book, table, "survey")
    database = sqlite3.connect(book)
    for name in ("about", "tables", "budgets"):
        database.execute(f"drop table divulge_{name}")
    database.commit()
    database.close()
    told: list[str] = []
    _spend(book, table, "survey", warn=told.append)
    assert any("1 earlier release is known by this name only" in text for text in told)
    ledger = dv.Ledger(book)
    assert len(ledger.entries("survey")) == 2
    assert ledger.spent("survey", ["sex"])["ldp"] == pytest.approx(2 * np.log(3))
    _spend(book, patients(200, 5), "another")
    assert len(ledger.entries("another")) == 1


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "accounts.db"
    database = sqlite3.connect(place)
    database.execute("create table accounts (owner text)")
    database.commit()
    database.close()
    before = place.read_bytes()
    with pytest.raises(dv.DivulgeError, match="a database of something else"):
        _spend(place, patients(20, 1), "t")
    assert place.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["accounts.db"]


@pytest.mark.parametrize("way", ["mode=ro", "file", "folder"])
def test_a_ledger_that_is_to_be_read_is_shown_and_never_written(way: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    book, table = folder / "ledger.sqlite", patients(200, 1)
    _spend(book, table, "survey", budget="ldp=5")
    where = f"sqlite:///file:{book}?mode=ro&uri=true" if way == "mode=ro" else str(book)
    os.chmod(book, 0o400 if way == "file" else 0o600)
    os.chmod(folder, 0o500 if way == "folder" else 0o700)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ledger = dv.Ledger(where)
    assert len(ledger.entries("survey")) == 1
    assert ledger.spent("survey", ["sex"])["ldp"] == pytest.approx(np.log(3))
    assert [str(one.budget) for one in ledger.budgets("survey")] == ["ldp=5"]
    for writes in (lambda: _spend(where, table, "survey"), lambda: ledger.keep("survey", None, ["sex"])):
        with pytest.raises(dv.DivulgeError, match="not to be written"):
            writes()
    os.chmod(folder, 0o700)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_lost_or_other_key_is_no_new_ledger(tmp_path: Path) -> None:
    book, key = tmp_path / "ledger.sqlite", tmp_path / "ledger.sqlite.key"
    _spend(book, patients(200, 1), "survey")
    kept = key.read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(dv.DivulgeError, match="it is another"):
        _spend(book, patients(200, 2), "other")
    key.unlink()
    with pytest.raises(dv.DivulgeError, match="is not there"):
        _spend(book, patients(200, 1), "survey")
    assert not key.exists()
    key.write_bytes(kept)
    _spend(book, patients(200, 1), "survey")


RACER = """
import sys
import pyarrow as pa
import divulge as dv
coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["f", "m"], ["f", "m"])
table = pa.table({"sex": ["f", "m"] * 40, "age": list(range(80))})
table = table.slice(0, 80 - int(sys.argv[2]))
try:
    dv.release(table, column="sex", mechanism=coin, ledger=sys.argv[1], source_name=sys.argv[2], budget="ldp=1.2")
    print(1)
except dv.DivulgeError as error:
    assert "budget" in str(error), error
    print(0)
"""


@pytest.mark.long
def test_copies_that_race_cannot_both_spend(tmp_path: Path) -> None:
    """Two tables of the same people, unknown to the ledger both, at once: one of them is told of the other."""
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, str(tmp_path / "l.db"), n], stdout=subprocess.PIPE, text=True)
        for n in ("1", "2")
    ]
    assert sum(int(racer.communicate(timeout=300)[0]) for racer in racers) == 1
