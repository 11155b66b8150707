"""Statistics beside OpenDP at the same guarantee, the optimal split beside equal shares, and how fast a table is
counted.

Run: python benchmarks/statistics.py [ROWS]. Errors are expected ones, from the law of the noise; times are of one run.
python benchmarks/statistics.py coverage [TIMES] prints how often intervals hold: the table of docs/statistics.md.
"""

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
import pyarrow as pa
import pyarrow.parquet as pq
from timing import timed

import divulge as dv
from divulge.publishing.counting.engines import counted
from divulge.publishing.noising.calibration import calibrated, weights_of
from divulge.publishing.noising.estimates import drawn, estimates, scores
from divulge.publishing.noising.families import Gaussian, Laplace, Noise
from divulge.publishing.noising.noise import noisy
from divulge.publishing.preparing import ready
from divulge.publishing.queries import Query, Unit, plan_of
from divulge.publishing.request import Publish
from divulge.publishing.task import task

dp.enable_features("contrib")


ROWS, BOUNDS = 10_000, (0, 90)
"""The table that sums, means and medians are of: so many rows, values between these bounds."""


def beside_opendp() -> None:
    """Print expected errors at the same epsilon: of OpenDP's own measurement, ours under dp, ours under pml."""
    unit, sizes, whole = Unit(), {"x": 10}, {"v": True}
    cells = dp.vector_domain(dp.atom_domain(T="i64"))
    rows = dp.vector_domain(dp.atom_domain(T="i64", bounds=BOUNDS), size=ROWS)
    total = dp.t.make_sum(rows, dp.symmetric_distance())
    ranks = dp.t.make_quantile_score_candidates(
        dp.vector_domain(dp.atom_domain(T="i64"), size=ROWS), dp.symmetric_distance(), list(range(91)), alpha=0.5
    )
    spread = np.bincount(np.random.default_rng(0).integers(0, 91, 300), minlength=91)  # few rows: ranks are far off
    makers: dict[str, tuple[Any, Any, Callable[[Noise], float]]] = {
        "count of a cell": (
            dv.Count("x"), lambda s: dp.m.make_laplace(cells, dp.l1_distance(T="i64"), s), lambda n: n.deviation,
        ),
        "sum": (dv.Sum("v", BOUNDS), lambda s: total >> dp.m.then_laplace(s), lambda n: n.deviation),
        "mean": (dv.Mean("v", BOUNDS), lambda s: total >> dp.m.then_laplace(s), lambda n: n.deviation / ROWS),
        "median (rank)": (
            dv.Quantiles("v", BOUNDS, probabilities="1/2", intervals=False),
            lambda s: ranks >> dp.m.then_noisy_max(dp.max_divergence(), s, negate=True),
            lambda n: off(scores(spread, 1, 2), n) / 2,
        ),
    }  # fmt: skip
    print("| expected error, one row replaced | epsilon | OpenDP | `dp` | `pml`, 1 % or more | `pml`, 10 % or more |")
    print("|---|---|---|---|---|---|")
    for name, (statistic, make, error) in makers.items():
        queries = plan_of([statistic], sizes, whole, unit).queries
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            theirs = error(Laplace(dp.binary_search_param(make, 2, epsilon)))
            ours = error(calibrated(queries, unit, [dv.DP(epsilon)], None, None, "equal").noises[0])
            told = [
                error(calibrated(queries, unit, [dv.PML(epsilon)], dv_prior(p), None, "equal").noises[0])
                for p in (0.01, 0.1)
            ]
            print(f"| {name} | {epsilon:g} | " + " | ".join(f"{e:.4g}" for e in (theirs, ours, *told)) + " |")
            assert abs(theirs / ours - 1) < 1e-5
            assert told[1] < told[0] < ours


def off(found: np.ndarray, noise: Noise) -> float:
    """Return the expected score of a choice less the least, by the law: exponential noise on each, the least wins."""
    gaps = (found - found.min()) / noise.scale
    t = np.linspace(0, 60, 6001)
    law = np.zeros(len(gaps))
    for y in range(len(gaps)):
        others = np.delete(gaps, y) - gaps[y]
        beaten = -np.expm1(-np.maximum(t[:, None] + others[None, :], 0)).prod(axis=1)
        law[y] = np.trapezoid(np.exp(-t) * np.abs(beaten), t)
    return float(law @ gaps / law.sum() * noise.scale)


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
        shares = ", ".join(f"{w:.2f}" for w in weights_of(queries, Unit(), Laplace, "mean-squared"))
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


def drawing() -> None:
    """Print what a million draws cost, in seconds of processor and of clock."""
    zeros = np.zeros(1_000_000, dtype=np.int64)
    noisy(zeros[:1000], Laplace(2.0))
    for noise in (Laplace(2.0), Laplace(50.0), Gaussian(2.0), Gaussian(50.0)):
        begun, clock = time.process_time(), time.perf_counter()
        noisy(zeros, noise)
        used, passed = time.process_time() - begun, time.perf_counter() - clock
        asked = f"a million cells of {noise.name} noise of scale {noise.scale:g}"
        print(f"{asked}: {used:.1f} s of processor, {passed:.1f} s passed")


VALUES = {"race": ["a", "b", "c", "d"], "sex": ["f", "m"]}
COVERED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "counts, cells of 0 and 1 among them": ([dv.Count("race", "sex"), dv.Count("race")], {"guarantee": "dp=1"}),
    "counts, Gaussian noise": ([dv.Count("race", "sex")], {"guarantee": "zcdp=0.1", "noise": "gaussian"}),
    "counts, number of rows protected": ([dv.Count("race", "sex")], {"guarantee": "dp=1", "neighbors": "added"}),
    "sums": ([dv.Sum("age", (0, 90)), dv.Sum("age", (0, 90), by="sex")], {"guarantee": "dp=1"}),
    "means": ([dv.Mean("age", (0, 90)), dv.Mean("age", (0, 90), by="sex")], {"guarantee": "dp=1"}),
    "means, number of rows protected": ([dv.Mean("age", (0, 90))], {"guarantee": "dp=1", "neighbors": "added"}),
    "variances": ([dv.Variance("age", (0, 90), by="sex")], {"guarantee": "dp=2"}),
    "shares": ([dv.Proportion("sex", "f", by="race")], {"guarantee": "dp=1"}),
    "quantiles": ([dv.Quantiles("age", (0, 90))], {"guarantee": "dp=4"}),
    "quantiles by group": ([dv.Quantiles("age", (0, 90), by="sex")], {"guarantee": "dp=4"}),
    "quantiles, Gaussian noise": ([dv.Quantiles("age", (0, 90))], {"guarantee": "zcdp=1", "noise": "gaussian"}),
    "all kinds together": (
        [dv.Count("race", "sex"), dv.Mean("age", (0, 90), by="sex"), dv.Quantiles("age", (0, 90))],
        {"guarantee": "dp=4"},
    ),
}  # fmt: skip
"""What is published of 600 people of whom one alone is d, a woman: no cell of d and m."""


def coverage(times: int) -> None:
    """Print how often all intervals hold the true numbers at once; ten times as many releases without quantiles."""
    rng = np.random.default_rng(5)
    race = np.array(VALUES["race"])[np.append(rng.choice(3, 599, p=[0.7, 0.28, 0.02]), 3)]
    sex = np.where(race == "d", "f", np.array(VALUES["sex"])[rng.integers(0, 2, 600)])
    people = pa.table({"race": race, "sex": sex, "age": rng.integers(0, 91, 600)})
    levels = (0.8, 0.95)
    print("| all intervals hold at once | releases | " + " | ".join(f"asked {x:g}" for x in levels) + " |")
    print("|---|---|" + "---|" * len(levels))
    for name, (statistics, how) in COVERED.items():
        runs = times * (1 if any(one.kind == "quantile" for one in statistics) else 10)
        shares = [held(people, statistics, how, level, runs) for level in levels]
        print(f"| {name} | {runs:,} | " + " | ".join(f"{share:.3f}" for share in shares) + " |", flush=True)
        for share, level in zip(shares, levels, strict=True):
            assert share >= level - 4 * math.sqrt(level * (1 - level) / runs)


def held(people: Any, statistics: list[Any], how: dict[str, Any], level: float, times: int) -> float:
    """Return the share of releases in which all intervals hold what is computed from the table without noise."""
    asked = task(Publish(statistics=statistics, **how, values=VALUES, level=level))
    made = ready(asked, people, "local")
    exact = counted(made.table, made.plan.queries, made.values, asked.unit)
    sizes = {name: len(values) for name, values in VALUES.items()}
    rows = exact.rows if asked.unit.rows_known else None
    truth = [np.array(true(people.to_pandas(), one)).ravel() for one in statistics]
    kept = 0
    for _ in range(times):
        found = estimates(made.plan, drawn(made.plan.queries, made.noise.noises, exact.totals, level), rows, sizes)
        places = iter(found)
        kept += all(
            bool((one.low.ravel() <= wanted + 1e-9).all() and (wanted <= one.high.ravel() + 1e-9).all())
            for statistic, values in zip(statistics, truth, strict=True)
            for one, wanted in zip(
                [next(places) for _ in range(len(getattr(statistic, "probabilities", (0,))))],
                values.reshape(len(getattr(statistic, "probabilities", (0,))), -1),
                strict=True,
            )
        )
    return kept / times


def true(frame: Any, one: Any) -> list[float]:
    """Return a statistic of the table by pandas, in each listed group."""
    groups = [frame]
    for name in one.by:
        groups = [part[part[name] == value] for part in groups for value in VALUES[name]]
    if one.kind == "quantile":
        probabilities = [float(p) for p in one.probabilities]
        return [np.quantile(part["age"], p, method="inverted_cdf") for p in probabilities for part in groups]
    tell: dict[str, Callable[[Any], float]] = {
        "count": len, "sum": lambda part: part["age"].sum(), "mean": lambda part: part["age"].mean(),
        "variance": lambda part: part["age"].var(ddof=0),
        "proportion": lambda part: (part["sex"] == "f").mean(),
    }  # fmt: skip
    return [float(tell[one.kind](part)) for part in groups]


if __name__ == "__main__":
    if sys.argv[1:2] == ["coverage"]:
        coverage(int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)
    else:
        beside_opendp()
        splits()
        drawing()
        speed(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000)
