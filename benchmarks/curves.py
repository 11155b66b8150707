"""Processor time and peak memory over size: rows, columns, values, releases on record, cells of a table of counts.

    python benchmarks/curves.py [--only rows] [--most 1000000]

Every size is prepared in one process and worked on in another, whose processor time, with about a second for libraries
that are loaded at their first use, and peak of resident memory are printed. Larger sizes than `--most` are left out.
"""

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import divulge as dv

GROUP = 1 << 20
"""Rows of a group of the files that are made."""

DISTINCT = 50
"""Mechanisms on record that differ."""

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])


def write_rows(rows: int) -> None:
    """Write a column of a hundred texts."""
    names = pa.array([f"value number {i}" for i in range(100)])
    with pq.ParquetWriter("in.parquet", pa.schema([("x", pa.string())])) as sink:
        for start in range(0, rows, GROUP):
            codes = np.random.default_rng(start).integers(0, 100, min(GROUP, rows - start))
            sink.write_table(pa.table({"x": names.take(pa.array(codes))}))


def release_rows(rows: int) -> None:
    mechanism = dv.mechanisms.randomized_response([f"value number {i}" for i in range(100)], epsilon=1.0)
    dv.release("in.parquet", "out.parquet", column="x", mechanism=mechanism)


def release_query(kind: str) -> Callable[[int], None]:
    """Return what releases the rows of a query of some kind, whose rows are those of the file."""

    def release(rows: int) -> None:
        import duckdb
        import polars as pl
        from pyarrow import dataset

        source: Any = {
            "lazyframe": lambda: pl.scan_parquet("in.parquet"),
            "dataset": lambda: dataset.dataset("in.parquet"),
            "relation": lambda: duckdb.read_parquet("in.parquet"),
            "sql": lambda: duckdb.sql("select x from 'in.parquet' where x <> ''"),
        }[kind]()
        mechanism = dv.mechanisms.randomized_response([f"value number {i}" for i in range(100)], epsilon=1.0)
        dv.release(source, "out.parquet", column="x", mechanism=mechanism, ledger=None, per_row=True)

    return release


QUERIES = {
    "lazyframe": "rows of a polars LazyFrame", "dataset": "rows of an Arrow Dataset",
    "relation": "rows of a DuckDB relation", "sql": "rows of a query in SQL",
}  # fmt: skip


def write_columns(columns: int) -> None:
    """Write a thousand rows of numbers, and an answer."""
    numbers = {f"c{i}": np.random.default_rng(i).integers(0, 9, 1000) for i in range(columns - 1)}
    pq.write_table(pa.table({"answer": ["yes", "no"] * 500, **numbers}), "in.parquet")


def release_column(columns: int) -> None:
    dv.release("in.parquet", "out.parquet", column="answer", mechanism=COIN)


def answers(names: list[str]) -> pa.Table:
    """Return a hundred thousand rows, of each value as many."""
    return pa.table({"x": [names[i % len(names)] for i in range(100_000)]})


def release_values(values: int) -> None:
    """Design a mechanism under the names of values, and release a column through it."""
    names = [str(i) for i in range(values)]
    dv.release(answers(names), "out.parquet", column="x", guarantee="ldp=2", values=names)


def preview_values(values: int) -> None:
    """Design mechanisms of half, the whole and twice the strength of that release, and foresee their estimates."""
    names = [str(i) for i in range(values)]
    dv.preview(answers(names), column="x", guarantee="ldp=2", values=names)


def report_values(values: int) -> None:
    """Let a million senders report one of so many values, and estimate all frequencies."""
    protocol = dv.protocols.hadamard(values, 1.0)
    protocol.report(np.random.default_rng(0).integers(0, values, 1_000_000)).frequencies()


def record(releases: int) -> None:
    """Fill a ledger: some releases by what they are, the others as copies of these under numbers of their own."""
    shares = [f"{750 + i}/1000" for i in range(DISTINCT)]
    rests = [f"{250 - i}/1000" for i in range(DISTINCT)]
    for share, rest in zip(shares, rests, strict=True):
        mechanism = dv.Channel([[share, rest], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        enter(mechanism)
    with sqlite3.connect("ledger.sqlite") as book:
        held = book.execute("select * from divulge_releases").fetchall()
        about = {row[1]: row for row in book.execute("select * from divulge_about")}
        for i in range(max(0, releases - DISTINCT)):
            old = held[i % DISTINCT]
            key = token_hex(16)
            book.execute(f"insert into divulge_releases values ({','.join('?' * len(old))})", (key, *old[1:]))
            one = (key, *about[old[0]][2:])
            told = "release, source_table, mechanisms, untouched, because"
            book.execute(f"insert into divulge_about ({told}) values ({','.join('?' * len(one))})", one)


def enter(mechanism: dv.Channel) -> None:
    survey = pa.table({"answer": ["yes", "no"]})
    dv.release(survey, column="answer", mechanism=mechanism, ledger="ledger.sqlite", source_name="survey")


def enter_once(releases: int) -> None:
    enter(COIN)


def count_cells(cells: int) -> None:
    """Publish counts by two columns whose values are listed."""
    side = round(cells**0.5)
    rng = np.random.default_rng(0)
    lists = {name: [f"{name}{i}" for i in range(side)] for name in ("a", "b")}
    table = pa.table({name: [names[i] for i in rng.integers(0, side, 20_000)] for name, names in lists.items()})
    dv.publish(table, dv.Count("a", "b"), guarantee="dp=1", values=lists, no_other=True)


@dataclass(frozen=True)
class Curve:
    """What grows, over which sizes; what is prepared, and what is measured."""

    what: str
    sizes: tuple[int, ...]
    work: Callable[[int], Any]
    prepare: Callable[[int], Any] | None = None


CURVES = {
    "rows": Curve("rows released", (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000), release_rows, write_rows),
    **{
        kind: Curve(what, (100_000, 1_000_000, 10_000_000, 100_000_000), release_query(kind), write_rows)
        for kind, what in QUERIES.items()
    },
    "columns": Curve("columns beside the released one", (10, 100, 1000, 10_000), release_column, write_columns),
    "values": Curve("values, designed and released", (10, 100, 300, 1000), release_values),
    "previewed": Curve("values, a release of them previewed", (10, 100, 300, 1000), preview_values),
    "reported": Curve("values, reported by a million", (1000, 30_000, 1_000_000), report_values),
    "releases": Curve("releases on record before one more", (100, 1000, 10_000, 100_000), enter_once, record),
    "cells": Curve("cells of counts", (100, 10_000, 250_000, 1_000_000, 4_000_000, 5_000_000), count_cells),
}


def one(name: str, size: int, preparing: bool) -> None:
    """Prepare or measure one size, in the working folder."""
    curve = CURVES[name]
    if preparing:
        if curve.prepare is not None:
            curve.prepare(size)
        return
    start = time.process_time()
    curve.work(size)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"measured {seconds:.3g} {peak:.0f}")


def main() -> None:
    """Print a table of each curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CURVES)
    parser.add_argument("--most", type=int, default=100_000_000)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one[0], int(asked.one[1]), asked.one[2] == "prepare")
        return
    for name, curve in CURVES.items():
        if asked.only not in (None, name):
            continue
        for size in curve.sizes:
            if size > asked.most:
                continue
            with tempfile.TemporaryDirectory() as folder:
                said = ""
                for step in ("prepare", "measure"):
                    command = [sys.executable, str(Path(__file__).resolve()), "--one", name, str(size), step]
                    environment = os.environ | {"DIVULGE_HOME": folder, "XDG_DATA_HOME": folder}
                    done = subprocess.run(
                        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
                    )
                    said = done.stdout if done.returncode == 0 else f"refused: {done.stderr.strip().splitlines()[-1]}"
            found = next((line.split()[1:] for line in said.splitlines() if line.startswith("measured")), None)
            shown = f"{found[0]} s | {found[1]} MiB" if found else f"{said[:300]} |"
            print(f"| {size:,} {curve.what} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
