"""Statistics beside OpenDP at the same guarantee, the optimal split beside equal shares, and how fast a table is
counted.

Run: python benchmarks/statistics.py [ROWS]. Errors are expected ones, from the law of the noise; times are of one run.
"""

import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pyarrow as pa
import pyarrow.parquet as pq
from timing import timed

import divulge as dv
from divulge.publishing.noising.calibration import calibrated, weights_of
from divulge.publishing.noising.leakage import Noise
from divulge.publishing.noising.noise import noisy
from divulge.publishing.queries import Query, Unit

dp.enable_features("contrib")


def beside_opendp() -> None:
    """Print the expected absolute error of a count: OpenDP's own measurement, ours under dp, ours under pml."""
    print("a table of counts, one row replaced: standard deviation of a cell")
    query = Query("rows", ("x",), (10,))
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        make = dp.m.make_laplace
        scale = dp.binary_search_param(
            lambda s, make=make, domain=domain: make(domain, dp.l1_distance(T="i64"), s), 2, epsilon
        )
        theirs = Noise("laplace", scale).deviation
        ours = calibrated([query], Unit(), [dv.DP(epsilon)], None, None, "equal").noises[0]
        told = [
            calibrated([query], Unit(), [dv.PML(epsilon)], dv_prior(p), None, "equal").noises[0].deviation
            for p in (0.01, 0.1)
        ]
        print(f"  epsilon {epsilon:3g}: OpenDP {theirs:8.3f}   dp {ours.deviation:8.3f}   "
              f"pml, every answer 1 % or more {told[0]:8.3f}, 10 % or more {told[1]:8.3f}")  # fmt: skip
        assert abs(theirs / ours.deviation - 1) < 1e-6
        assert told[1] < told[0] < ours.deviation


def dv_prior(p: float) -> object:
    """Return what is known of a record whose every answer has at least this probability."""
    from divulge.publishing.counting.categories import record_prior

    return record_prior(f"lower={p}", ["x"])


def splits() -> None:
    """Print the root mean squared error of all cells under the optimal split and under equal shares."""
    print("several tables at dp=1: root mean squared error of all cells")
    for shapes in ([(5,), (5, 17)], [(2,), (2, 50), (2, 50, 100)], [(3,), (4,), (5,), (60, 60)]):
        queries = [Query("rows", tuple(f"c{i}{j}" for j in range(len(s))), s) for i, s in enumerate(shapes)]
        cells = sum(math.prod(shape) for shape in shapes)
        errors = {}
        for split in ("mean-squared", "equal"):
            made = calibrated(queries, Unit(), [dv.DP(1)], None, "laplace", split).noises
            total = sum(q.cells * n.deviation**2 for q, n in zip(queries, made, strict=True))
            errors[split] = math.sqrt(total / cells)
        shares = ", ".join(f"{w:.2f}" for w in weights_of(queries, Unit(), "laplace", "mean-squared"))
        print(
            f"  cells {[q.cells for q in queries]}: shares {shares}: {errors['mean-squared']:.2f}, equal "
            f"{errors['equal']:.2f}"
        )
        assert errors["mean-squared"] < errors["equal"]


def speed(rows: int) -> None:
    """Print how long three margins of 10,000 cells take, and a million draws, beside DuckDB's own counting."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        rng = np.random.default_rng(0)
        names = {c: [f"{c}{i}" for i in range(100)] for c in "abc"}
        writer = None
        for _ in range(max(1, rows // 1_000_000)):
            size = min(rows, 1_000_000)
            columns = {
                c: pa.DictionaryArray.from_arrays(rng.integers(0, 100, size).astype(np.int32), names[c]) for c in "abc"
            }
            table = pa.table(columns).cast(pa.schema([(c, pa.string()) for c in "abc"]))
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
        margins = [("a", "b"), ("b", "c"), ("a", "c")]

        def count() -> None:
            for x, y in margins:
                duckdb.sql(f"SELECT {x}, {y}, count(*) FROM read_parquet('{path}') GROUP BY ALL").fetchall()

        asked = [dv.Count(*by) for by in margins]
        counting = timed(count, 1)[0]
        publishing = timed(lambda: dv.publish(path, asked, guarantee="dp=1", values=names), 1)[0]
        print(f"{rows:,} rows, 3 margins of 10,000 cells: DuckDB {counting:.2f} s, published {publishing:.2f} s")
    for family in ("laplace", "gaussian"):
        drawing = timed(lambda family=family: noisy(np.zeros(1_000_000, dtype=np.int64), Noise(family, 50.0)), 1)[0]
        print(f"a million cells of {family} noise: {drawing:.1f} s")


if __name__ == "__main__":
    beside_opendp()
    splits()
    speed(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000)
