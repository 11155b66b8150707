"""Sampling and releasing, with randomized response of pure-ldp and multi-freq-ldpy beside it, in one run.

    python benchmarks/release.py [--rows 20000000] [--more-rows 50000000]

Prints rows a second, by the clock and by the processor time of all threads: of the sampler in memory (1000 values, 1000
outcomes) with NumPy and with numba, on one core and on all; of randomized response, a column in and a column out, here
and with the peers, and the ratios; and of a release from Parquet to Parquet (two columns of text; ROWS / 10, ROWS and
MORE_ROWS rows), with the peak memory of its process; of counting one and two columns of a Parquet file (1000 and 20
values) here, with pyarrow and with DuckDB, all on as many threads as there are cores, and the ratio to the better of
them; and of an audit of these columns. A last table holds the figures beside what is asked of them. On a busy machine
only processor times, and ratios of tasks that took turns, mean something.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import divulge as dv
from divulge.releasing.drawing.alias import AliasTable
from divulge.releasing.drawing.sampling import KERNELS, cores, draw

VALUES = 1000

targets: list[tuple[str, str, str]] = []
"""(What, measured, asked for), in the order of measuring."""


def rate(rows: int, task: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """Return the million rows a second of the best of a few runs, by the clock and by processor time."""
    clock, processor = float("inf"), float("inf")
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        task()
        clock = min(clock, time.perf_counter() - start)
        processor = min(processor, time.process_time() - used)
    return rows / clock / 1e6, rows / processor / 1e6


def line(name: str, found: tuple[float, float], note: str = "") -> None:
    """Print one line of figures."""
    print(name.ljust(50), f"{found[0]:8.2f} M rows/s {found[1]:8.2f} M rows/CPU s ", note, flush=True)


def sampling(rows: int) -> None:
    """Print the rate of the sampler alone."""
    rng = np.random.default_rng(0)
    table = AliasTable.of(dv.IntegerChannel.of(rng.dirichlet(np.ones(VALUES), size=VALUES)))
    codes = rng.integers(0, VALUES, size=rows, dtype=np.int32)
    for kernel in KERNELS:
        draw(table, codes[: 1 << 16], kernel=kernel)
        for threads in sorted({1, cores()}):
            found = rate(rows, lambda k=kernel, t=threads: draw(table, codes, kernel=k, threads=t))
            line(f"sampling, {kernel}, {threads} thread(s)", found)
            asked = {("numpy", cores()): "at least 100", ("numba", 1): "at least 350"}.get((kernel, threads))
            if asked is not None:
                targets.append((f"sampling, {kernel}, {threads} thread(s), M rows/s", f"{found[0]:.0f}", asked))


def randomized_response(values: int, epsilon: float) -> dv.Channel:
    """Return k-ary randomized response."""
    other = 1 / (np.exp(epsilon) + values - 1)
    return dv.Channel(np.full((values, values), other) + np.eye(values) * (1 - values * other))


def peers(rows: int, values: int = 100, epsilon: float = 1.0) -> None:
    """Print the rates of randomized response, column to column, and the ratios."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from pure_ldp.frequency_oracles.direct_encoding import DEClient

    rng = np.random.default_rng(0)
    column = pa.table({"x": rng.integers(0, values, size=rows)})
    mechanism = randomized_response(values, epsilon)
    mine = rate(rows, lambda: dv.release(column, column="x", mechanism=mechanism))
    line(f"randomized response, {values} values: release", mine)
    some = column["x"].to_numpy()[:200_000]
    client = DEClient(epsilon, values, index_mapper=lambda value: value)
    GRR_Client(0, values, epsilon)
    tasks = {
        "pure-ldp": lambda: [client.privatise(value) for value in some.tolist()],
        "multi-freq-ldpy": lambda: [GRR_Client(value, values, epsilon) for value in some.tolist()],
    }
    for name, task in tasks.items():
        theirs = rate(len(some), task)
        line(f"  {name}", theirs, f"divulge is {mine[0] / theirs[0]:.0f} times as fast")
        targets.append((f"times as fast as {name}", f"{mine[0] / theirs[0]:.0f}", "at least 20"))


def written(path: Path, rows: int) -> None:
    """Write a Parquet file with two columns of text."""
    rng = np.random.default_rng(0)
    schema = pa.schema([("race", pa.string()), ("sex", pa.string())])
    names = [pa.array([f"value number {i}" for i in range(n)]) for n in (VALUES, 20)]
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 1 << 20):
            size = min(1 << 20, rows - start)
            columns = [name.take(pa.array(rng.integers(0, len(name), size))) for name in names]
            writer.write_table(pa.table(columns, schema=schema))


CHILD = """
import sys, time
import numpy as np
import divulge as dv
names = [f"value number {i}" for i in range(1000)]
mechanism = dv.IntegerChannel.of(dv.Channel(np.full((1000, 1000), 1 / 2000) + np.eye(1000) / 2, names, names))
clock, processor = float("inf"), float("inf")
for _ in range(3):
    start, used = time.perf_counter(), time.process_time()
    receipt = dv.release(sys.argv[1], sys.argv[2], column="race", mechanism=mechanism, force=True)
    clock, processor = min(clock, time.perf_counter() - start), min(processor, time.process_time() - used)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(receipt.rows / clock / 1e6, receipt.rows / processor / 1e6, peak / 1024)
"""


def end_to_end(rows: int) -> None:
    """Print the rate and peak memory of a release from Parquet to Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.parquet"
        written(source, rows)
        command = [sys.executable, "-c", CHILD, str(source), str(Path(folder) / "out.parquet")]
        done = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        clock, processor, peak = map(float, done)
        line(f"Parquet to Parquet, {rows:,} rows", (clock, processor), f"peak {peak:.0f} MiB")
        targets.append((f"Parquet to Parquet, {rows:,} rows, M rows/s", f"{clock:.1f}", "at least 6"))
        targets.append(("  peak memory, MiB", f"{peak:.0f}", "under 600, flat"))


def taking_turns(tasks: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Return the seconds of each task, the best of rounds in which every task runs once."""
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def counting(rows: int) -> None:
    """Print the rates of counting combinations of two columns of a Parquet file, and of auditing them."""
    import duckdb

    duckdb.sql(f"set threads to {cores()}")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "source.parquet")
        written(Path(path), rows)
        for columns in (["race"], ["race", "sex"]):
            names = ", ".join(columns)
            query = f"select {names}, count(*) from read_parquet('{path}') group by {names}"
            tasks: dict[str, Callable[[], object]] = {
                "divulge": lambda c=columns: dv.contingency(path, c),
                "pyarrow": lambda c=columns: pq.read_table(path, columns=c).group_by(c).aggregate([([], "count_all")]),
                "duckdb": lambda q=query: duckdb.sql(q).fetchall(),
            }
            if len({task_total(task()) for task in tasks.values()}) != 1:
                raise SystemExit("the counts differ")
            seconds = taking_turns(tasks)
            ratio = seconds["divulge"] / min(seconds["pyarrow"], seconds["duckdb"])
            for name, taken in seconds.items():
                print(f"counting {names}, {name}".ljust(50), f"{rows / taken / 1e6:8.2f} M rows/s", flush=True)
            targets.append((f"counting {names}, time over the better peer's", f"{ratio:.2f}", "at most 1.5"))
        line("audit of race and sex", rate(rows, lambda: dv.audit(path, secret="race", released="sex")))


def task_total(found: object) -> int:
    """Return the number of rows counted."""
    if isinstance(found, list):
        return sum(row[-1] for row in found)
    return found.rows if isinstance(found, dv.results.Contingency) else int(np.sum(found["count_all"].to_numpy()))


def main(rows: int, more_rows: int) -> None:
    """Print all figures, then those that have a target."""
    counting(rows)
    sampling(rows)
    peers(rows)
    for size in (rows // 10, rows, more_rows):
        end_to_end(size)
    print()
    for what, measured, asked in targets:
        print(what.ljust(56), measured.rjust(8), "  asked:", asked)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--more-rows", type=int, default=50_000_000)
    given = parser.parse_args()
    main(given.rows, given.more_rows)
