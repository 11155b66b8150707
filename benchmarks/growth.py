"""What benchmarks/all.py times: for each kind of work its sizes, ours, a peer, and the physical limit.

`SIZES` are the rows' sizes, over up to three decades. Ours, the peer and the limit are made for a size, apart from the
clock, and return what is timed; a peer or a limit may be missing.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

import divulge as dv
from divulge.releasing.drawing.alias import AliasTable
from divulge.releasing.drawing.sampling import Keystream, draw

Task = Callable[[], Any]
Maker = Callable[[int], Task]
ROOT = Path(__file__).parent.parent
FOLDER = Path(tempfile.mkdtemp())


@dataclass(frozen=True)
class Work:
    """A kind of work: what grows, its sizes, and makers of what is timed by name; the last size's ratio has a goal.

    `goal` is (divisor, most): time of ours at the last size over that of the divisor.
    """

    title: str
    what: str
    sizes: tuple[int, ...]
    ours: Maker
    beside: dict[str, Maker] = field(default_factory=dict)
    goal: tuple[str, float] | None = None


def stochastic(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Return a random N x M channel matrix that owns its memory."""
    matrix = np.random.default_rng(seed).random((n, m))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def weights(n: int) -> np.ndarray:
    """Return a random prior."""
    return np.random.default_rng(1).dirichlet(np.ones(n))


def profile(n: int) -> Task:
    matrix, prior = stochastic(n, n), dv.Prior(weights(n))
    return lambda: dv.profile((prior, dv.Channel(matrix)))


def one_read(n: int) -> Task:
    matrix = stochastic(n, n)
    return lambda: matrix.max(axis=0).sum()


def made(measure: Callable[[Any], Any]) -> Maker:
    """Return the maker of a measure of a joint that is made for it."""

    def maker(n: int) -> Task:
        channel, prior = dv.Channel(stochastic(n, n)), dv.Prior(weights(n))
        return lambda: measure(dv.Joint(prior, channel))

    return maker


def by_qif(measure: str) -> Maker:
    def maker(n: int) -> Task:
        from qif import measure as peer

        matrix, prior = stochastic(n, n), weights(n)
        module, name = measure.split(".")
        return lambda: getattr(getattr(peer, module), name)(prior, matrix)

    return maker


def sparse(stored: int) -> Task:
    n = stored // 10
    columns = np.random.default_rng(0).integers(0, n, size=stored)
    matrix = sp.coo_array((np.full(stored, 0.1), (np.repeat(np.arange(n), 10), columns)), shape=(n, n)).tocsc()
    prior = dv.Prior(weights(n))
    return lambda: dv.profile((prior, dv.Channel(matrix)))


def account(count: int) -> Task:
    """Return the epsilon of a list of four kinds of releases."""
    kinds = [
        dv.dp.GaussianMechanism(40.0), dv.dp.LaplaceMechanism(60.0), dv.dp.RandomizedResponse(0.02),
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(2.0), 0.01),
    ]  # fmt: skip
    return lambda: dv.compose(*[(kind, count // 4) for kind in kinds]).epsilon(1e-6)


def sampled(count: int) -> Task:
    mechanism = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01)
    return lambda: dv.compose((mechanism, count), tolerance=1e-6).epsilon(1e-6)


def by_prv(count: int) -> Task:
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism

    def run() -> Any:
        mechanism = PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=0.01)
        accountant = PRVAccountant(prvs=[mechanism], max_self_compositions=[count], eps_error=0.01, delta_error=1e-10)
        return accountant.compute_epsilon(1e-6, [count])

    return run


VALUES = 1000


def drawn(rows: int) -> Task:
    table = AliasTable.of(dv.IntegerChannel.of(stochastic(VALUES, VALUES)))
    codes = np.random.default_rng(0).integers(0, VALUES, size=rows, dtype=np.int32)
    draw(table, codes[:10], kernel="numba")
    return lambda: draw(table, codes, kernel="numba", threads=1)


def taken(rows: int) -> Task:
    """Return rows reads at random places of a table of 8 megabytes, in blocks."""
    table, space = np.arange(1 << 20), np.empty(1 << 15, dtype=np.int64)
    where = np.random.default_rng(0).integers(0, 1 << 20, size=rows)

    def run() -> None:
        for start in range(0, rows, len(space)):
            block = where[start : start + len(space)]
            np.take(table, block, out=space[: len(block)], mode="clip")

    return run


def keystream(rows: int) -> Task:
    stream, space = Keystream(), np.empty(1 << 15, dtype=np.uint32)

    def run() -> None:
        for _ in range(0, rows, len(space)):
            stream.fill(space)

    return run


def column(rows: int) -> Path:
    """Return a Parquet file with a column of a hundred texts."""
    path = FOLDER / f"{rows}.parquet"
    if not path.exists():
        names = pa.array([f"value number {i}" for i in range(100)])
        pq.write_table(pa.table({"x": names.take(pa.array(np.random.default_rng(0).integers(0, 100, rows)))}), path)
    return path


def released(rows: int) -> Task:
    path = column(rows)
    mechanism = dv.mechanisms.randomized_response([f"value number {i}" for i in range(100)], epsilon=1.0)
    return lambda: dv.release(path, FOLDER / "out.parquet", column="x", mechanism=mechanism, force=True)


def counted(rows: int) -> Task:
    path = column(rows)
    return lambda: dv.contingency(path, "x")


def by_duckdb(rows: int) -> Task:
    import duckdb

    path = column(rows)
    return lambda: duckdb.sql(f"select x, count(*) from '{path}' group by x").fetchall()


def refined(n: int) -> Task:
    a = dv.Channel(stochastic(n, n))
    b = dv.Channel(a.floats @ stochastic(n, n, 1))
    return lambda: dv.adversaries.refinement(a, b)


def exact(n: int) -> Task:
    from fractions import Fraction

    cells = np.random.default_rng(0).integers(1, 1000, size=(n, n))
    rows = [[Fraction(int(v), int(row.sum())) for v in row] for row in cells]
    return lambda: dv.profile((dv.Prior.uniform(n), dv.Channel(rows)))


def designed(n: int) -> Task:
    prior = dv.Prior(weights(n))
    return lambda: dv.design(prior, dv.LDP(1), utility="hamming")


def reported(n: int) -> Task:
    joint = dv.Joint(dv.Prior(weights(n)), dv.Channel(stochastic(n, n)))
    return lambda: dv.report(joint).html()


def started(*arguments: str) -> Maker:
    def maker(_: int) -> Task:
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        return lambda: subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)

    return maker


def channel_file() -> str:
    path = FOLDER / "channel.csv"
    path.write_text("secret,yes,no\nill,0.75,0.25\nwell,0.25,0.75\n")
    return str(path)


MEASURE = ("-m", "divulge", "measure", channel_file(), "--prior", "uniform")

WORK = (
    Work("profile", "secrets and outcomes", (100, 300, 1000, 4000), profile, {"one read": one_read}, ("one read", 5)),
    Work(
        "mutual information",
        "secrets and outcomes",
        (20, 100, 300, 1000, 3000),
        made(dv.mutual_information),
        {"qif": by_qif("shannon.add_leakage"), "one read": one_read},
        ("qif", 1),
    ),
    Work(
        "Bayes vulnerability",
        "secrets and outcomes",
        (20, 100, 300, 1000, 3000),
        made(dv.measures.bayes_vulnerability),
        {"qif": by_qif("bayes_vuln.posterior"), "one read": one_read},
        ("qif", 1),
    ),
    Work("sparse profile", "stored entries", (1_000, 10_000, 100_000, 1_000_000), sparse),
    Work("account, four kinds", "releases", (20, 200, 2_000), account),
    Work(
        "sampled Gaussian",
        "times",
        (10, 100, 1_000),
        sampled,
        {"prv-accountant at 0.01": by_prv},
        ("prv-accountant at 0.01", 1),
    ),
    Work(
        "sampling, 1000 values",
        "rows",
        (100_000, 1_000_000, 10_000_000),
        drawn,
        {"take from 8 MB": taken, "one keystream": keystream},
        ("take from 8 MB", 2),
    ),
    Work("release, Parquet to Parquet", "rows", (10_000, 100_000, 1_000_000, 5_000_000), released),
    Work(
        "count a column", "rows", (10_000, 100_000, 1_000_000, 5_000_000), counted, {"DuckDB": by_duckdb}, ("DuckDB", 1)
    ),
    Work("refinement", "secrets and outcomes", (5, 10, 20, 40), refined),
    Work("profile of fractions", "secrets and outcomes", (3, 10, 30), exact),
    Work("design, linear score", "secrets", (10, 30, 100), designed),
    Work("report", "values", (5, 50, 200), reported),
    Work(
        "divulge --version",
        "",
        (1,),
        started("-m", "divulge", "--version"),
        {"import numpy": started("-c", "import numpy")},
        ("import numpy", 1.5),
    ),
    Work(
        "divulge measure",
        "",
        (1,),
        started(*MEASURE),
        {"import numpy": started("-c", "import numpy")},
        ("import numpy", 3),
    ),
)
