"""Whatever can be seen of a publication but its noise is the same for neighboring tables: nothing is refused, no cell,
width, note, receipt or sentence depends on what one row holds."""

import csv
import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import NEVER, some

import divulge as dv
from divulge.publishing.describing import described
from divulge.publishing.preparing import between_bounds, ready
from divulge.publishing.request import Publish
from divulge.publishing.task import task

ROWS = {
    "sex": ["f", "m"] * 30, "age": [str(i % 60) for i in range(60)], "who": [f"p{i // 2}" for i in range(60)],
}  # fmt: skip
VALUES = {"sex": ["f", "m", "x"]}

CHANGES: dict[str, dict[str, Any]] = {
    "unlisted": {"sex": "d"}, "missing group": {"sex": ""}, "the only one": {"sex": "x"}, "other": {"sex": "other"},
    "missing number": {"age": ""}, "text": {"age": "many"}, "cut": {"age": "1e300"}, "below": {"age": "-7"},
    "a fraction": {"age": "3.25"}, "infinite": {"age": "inf"}, "no number": {"age": "nan"}, "nobody": {"who": ""},
}  # fmt: skip
"""What the last row holds in place of what it holds in the other table."""

BY: dict[str, Any] = {"by": "sex"}
ASKED: dict[str, list[Any]] = {
    "count": [dv.Count("sex")],
    "sum": [dv.Sum("age", (0, 60), **BY), dv.Sum("age", (5, 60))],
    "mean": [dv.Mean("age", (0, 60), **BY), dv.Mean("age", (0, 60))],
    "variance": [dv.Variance("age", (0, 60), **BY)],
    "share": [dv.Proportion("age", "3", **BY), dv.Proportion("sex", "x")],
    "quantiles": [dv.Quantiles("age", (0, 60), **BY)],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "added": {"neighbors": "added"}, "persons": {"person": "who", "rows_per_person": 2},
    "gaussian": {"guarantee": "zcdp=0.1", "noise": "gaussian"}, "no other": {"no_other": True},
    "label": {"null_as": "unknown"}, "record": {"guarantee": "pml=1", "record_prior": "lower=0.1"},
    "treated": {"non_negative": True, "consistent": True, "whole": True}, "filled": {"fill": {"age": 7}},
    "cut": {"tell_cut": True},
}  # fmt: skip


def asked_with(kind: str, how: dict[str, Any]) -> list[Any]:
    """Return the statistics of a kind, with a sum where an option is about numbers."""
    numbers = {"fill", "tell_cut"} & set(how) and kind in ("count", "share")
    return [*ASKED[kind], *([dv.Sum("age", (0, 60))] if numbers else [])]


def written(folder: Path, name: str, change: dict[str, Any]) -> Path:
    rows = {column: [*values[:-1], change.get(column, values[-1])] for column, values in ROWS.items()}
    path = folder / name
    path.mkdir()
    lines = [",".join(rows), *(",".join(cells) for cells in zip(*rows.values(), strict=True))]
    (path / "t.csv").write_text("\n".join(lines) + "\n")
    return path


def seen(folder: Path, asked: list[Any], how: dict[str, Any]) -> dict[str, Any]:
    """Return everything that is public but for noise, time and check sums."""
    options = {"guarantee": "dp=1", "values": VALUES, "per_row": "person" not in how} | how
    dv.publish(folder / "t.csv", asked, folder / "out.csv", **options)
    receipt = json.loads((folder / "out.receipt.json").read_text())
    for name in ("created", "digest", "checksum"):
        receipt.pop(name)
    table = list(csv.reader((folder / "out.csv").read_text().splitlines()))
    numbers = {table[0].index(name) for name in ("value", "low", "high", "standard_error", "note")}
    cells = [[cell for i, cell in enumerate(line) if i not in numbers] for line in table]
    text = re.sub(r"\d{4}-\d\d-\d\dT?[\d:]*Z?|[0-9a-f]{64}", "", (folder / "out.statement.txt").read_text())
    return {"files": sorted(p.name for p in folder.iterdir()), "receipt": receipt, "cells": cells, "head": table[0],
            "statement": text}  # fmt: skip


@pytest.mark.thin
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", ASKED)
def test_nothing_but_noise_tells_neighbors_apart(kind: str, option: str, tmp_path: Path) -> None:
    here = seen(written(tmp_path, "here", {}), asked_with(kind, OPTIONS[option]), OPTIONS[option])
    change = list(CHANGES)[(list(ASKED).index(kind) * len(OPTIONS) + list(OPTIONS).index(option)) % len(CHANGES)]
    for name in {change, "unlisted", "missing number"}:
        there = seen(written(tmp_path, name, CHANGES[name]), asked_with(kind, OPTIONS[option]), OPTIONS[option])
        assert here == there, name


@pytest.mark.thin
@pytest.mark.parametrize("change", CHANGES)
def test_noise_is_chosen_before_the_table_is_read(change: str, tmp_path: Path) -> None:
    tables = [written(tmp_path, name, rows) / "t.csv" for name, rows in {"here": {}, "there": CHANGES[change]}.items()]
    for kind, option in some(list(product(ASKED, OPTIONS))):
        how = OPTIONS[option]
        request = Publish(statistics=asked_with(kind, how), **({"guarantee": "dp=1", "values": VALUES} | how))
        made = [ready(task(request), table, "local") for table in tables]
        assert made[0].plan == made[1].plan
        assert made[0].noise == made[1].noise
        assert described(made[0], None).queries == described(made[1], None).queries


AUTO = [dv.Mean("age", "auto", by="sex"), dv.Sum("age", "auto"), dv.Count("sex")]


@pytest.mark.parametrize("how", [{}, {"person": "who", "rows_per_person": 2}, {"fill": {"age": 7}},
                                 {"guarantee": "adp=1:1e-6"}, {"neighbors": "added"}], ids=str)  # fmt: skip
def test_chosen_bounds_follow_from_noise_alone(how: dict[str, Any], tmp_path: Path) -> None:
    """Before bounds are drawn nothing depends on the table; between the same ones nothing but noise does."""
    folders = [written(tmp_path, name, rows) for name, rows in {"here": {}, **CHANGES}.items()]
    options = {"guarantee": "dp=1", "values": VALUES, "per_row": "person" not in how} | how
    made = [ready(task(Publish(statistics=AUTO, **options)), folder / "t.csv", "local") for folder in folders]
    for one in made:
        assert (one.plan, one.noise, one.bounds) == (made[0].plan, made[0].noise, made[0].bounds)
        assert described(one, None).queries == described(made[0], None).queries
    ends = tuple(replace(one, ends=(-20, 2000)) for one in made[0].bounds)
    drawn = [between_bounds(one, ends) for one in made]
    for one in drawn:
        assert (one.plan, one.noise) == (drawn[0].plan, drawn[0].noise)
        here, there = (described(two, "out.csv") for two in (drawn[0], one))
        assert (there.queries, there.notes, there.guarantees) == (here.queries, here.notes, here.guarantees)


@pytest.mark.parametrize("name", ["empty group", "one person"])
def test_a_group_with_nobody_says_no_information(name: str) -> None:
    rows: dict[str, list[Any]] = {"sex": ["f"] * 2000, "age": [30] * 2000}
    if name == "one person":
        rows["sex"][-1] = "m"
    asked = [dv.Mean("age", (0, 90), by="sex"), dv.Variance("age", (0, 90), by="sex"),
             dv.Quantiles("age", (0, 90), by="sex"), dv.Proportion("age", "30", by="sex")]  # fmt: skip
    how: dict[str, Any] = {"guarantee": "dp=8", "values": {"sex": ["f", "m"]}, "per_row": True}
    found = dv.publish(pa.table(rows), asked, level=1 - NEVER, **how)  # one miss would be a number in an empty group
    for row in found.statistics():
        assert (row["value"] is None) == (row["by"]["sex"] != "f"), row
        assert (row.get("note") == "no information") == (row["value"] is None)
        assert (row["low"] is None) == (row["high"] is None) == (row["value"] is None)


def test_an_empty_table_of_people_who_come_and_go_is_published() -> None:
    nobody = pa.table({"sex": pa.array([], pa.string()), "age": pa.array([], pa.int64())})
    asked = [dv.Count("sex"), dv.Mean("age", (0, 90)), dv.Quantiles("age", (0, 90))]
    found = dv.publish(nobody, asked, guarantee="dp=1", values=VALUES, neighbors="added", level=1 - NEVER)
    assert found.table.num_rows == 5 + 1 + 3
    assert all(row["value"] is None for row in found.statistics() if row["statistic"] != "count")


def test_a_count_that_covers_all_rows_says_no_information() -> None:
    found = dv.publish(
        pa.table({"sex": ["f", "m", "f"]}), dv.Count("sex"), guarantee="dp=0.1", values=VALUES, level=1 - NEVER
    )
    assert found.table["note"].to_pylist() == ["no information"] * 5
    assert found.table["value"].null_count == 5
    assert np.isfinite(found.queries[0]["half_width"])
