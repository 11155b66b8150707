"""What benchmarks/all.py times: for each kind of work its sizes, ours, peers and limits, and what it must reach.

A maker gets a size and returns what is timed; what it prepares is not. A peer that is missing raises ImportError or
LookupError, and the table says so. Sizes cover up to three decades.
"""

import atexit
import contextlib
import importlib
import importlib.util
import math
import os
import shutil
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
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
LIMITS = frozenset({
    "one read of the matrix", "a logarithm of each entry", "one keystream", "python -c pass", "one copy of the file",
    "read, drawn, written", "one grouping by PyArrow",
})  # fmt: skip
"""Divisors that are a part of the work itself; the others are peers."""


@dataclass(frozen=True)
class Goal:
    """At most `most` times what `of` takes in the same run, at each of `sizes` (the largest when not given)."""

    most: float
    of: str
    sizes: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.most:.3g} x {self.of}"


@dataclass(frozen=True)
class Work:
    """A kind of work: what grows, its sizes, makers of what is timed by name, and goals.

    `check` says what is wrong with the answer of ours, or nothing.
    """

    title: str
    what: str
    sizes: tuple[int, ...]
    ours: Maker
    beside: dict[str, Maker] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    check: Callable[[Any], str] = lambda answer: ""


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
    return lambda: dv.profile((prior, dv.Channel(matrix))).capacity  # which is sought when it is asked for


def one_read(n: int) -> Task:
    matrix = stochastic(n, n)
    return lambda: matrix.max(axis=0).sum()


def logarithms(n: int) -> Task:
    """Return the logarithm of each entry by NumPy, on one thread, of rows that fit the cache: information needs it."""
    matrix = stochastic(n, n)
    rows = max(1, (1 << 17) // n)
    space = np.empty((rows, n))

    def run() -> None:
        for start in range(0, n, rows):
            block = matrix[start : start + rows]
            np.log(block, out=space[: len(block)])

    return run


def made(measure: Callable[[Any], Any]) -> Maker:
    """Return the maker of a measure of a joint that is made for it, of a channel that has been asked before.

    A channel keeps its sums of C log C, so that mutual information under another prior takes no such logarithm;
    benchmarks/measure.py times the first question too. Compiled loops are loaded, as they are after many questions.
    """

    def maker(n: int) -> Task:
        from divulge import kernels

        with contextlib.suppress(ImportError, AttributeError):  # sources of before may have another loop
            for loop in (kernels.sum_of_joint_tops, kernels.information, kernels.joint_tops):
                kernels.compiled(loop)
        channel, prior = dv.Channel(stochastic(n, n)), dv.Prior(weights(n))
        return lambda: measure(dv.Joint(prior, channel))

    return maker


def by_qif(measure: str) -> Maker:
    def maker(n: int) -> Task:
        from qif import measure as peer

        matrix, prior = stochastic(n, n), weights(n)
        module, name = measure.split(".")
        function = getattr(getattr(peer, module), name)
        return lambda: function(prior, matrix)

    return maker


def sparse(stored: int) -> Task:
    n = stored // 10
    columns = np.random.default_rng(0).integers(0, n, size=stored)
    matrix = sp.coo_array((np.full(stored, 0.1), (np.repeat(np.arange(n), 10), columns)), shape=(n, n)).tocsc()
    prior = dv.Prior(weights(n))
    return lambda: dv.profile((prior, dv.Channel(matrix))).capacity  # which is sought when it is asked for


def by_scipy(stored: int) -> Task:
    """Return the same measures, which secrets attain them, and as many steps to capacity, by their formulas."""
    n, steps = stored // 10, 25
    columns = np.random.default_rng(0).integers(0, n, size=stored)
    c: Any = sp.coo_array((np.full(stored, 0.1), (np.repeat(np.arange(n), 10), columns)), shape=(n, n)).tocsc()
    p = weights(n)

    def run() -> tuple[float, ...]:
        q = p @ c
        with np.errstate(divide="ignore", invalid="ignore"):
            top, bottom = c.max(axis=0).toarray().ravel(), c.min(axis=0).toarray().ravel()
            _, _ = c.argmax(axis=0), c.argmin(axis=0)
            pml, pmc, ldp = np.log(top / q), -np.log(bottom / q), np.log(top / bottom)
        bayes = c.multiply(p[:, None]).max(axis=0).sum()
        logs = c.copy()
        logs.data = c.data * np.log(c.data)
        sums = logs.sum(axis=1)
        information = p @ sums - q @ np.log(np.where(q > 0, q, 1.0))
        r, d = np.full(n, 1 / n), sums
        for _ in range(steps):
            d = sums - c @ np.log(np.maximum(r @ c, 1e-300))
            r = r * np.exp(d)
            r /= r.sum()
        return pml.max(), pmc.max(), np.nanmax(ldp), bayes, math.log(top.sum()), bottom.sum(), information, d.max()

    return run


def four_kinds(count: int) -> Task:
    """Return the epsilon of a list of four kinds of releases."""
    kinds = [
        dv.dp.GaussianMechanism(40.0), dv.dp.LaplaceMechanism(60.0), dv.dp.RandomizedResponse(0.02),
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(2.0), 0.01),
    ]  # fmt: skip
    return lambda: dv.compose(*[(kind, max(1, count // 4)) for kind in kinds]).epsilon(1e-6)


def ten_kinds(count: int) -> Task:
    """Return the epsilon of a list of ten Laplace mechanisms whose losses share no lattice."""
    root = math.sqrt(count)
    kinds = [dv.dp.LaplaceMechanism((1.1 + 0.16 * math.sqrt(i + 2)) * root) for i in range(10)]
    return lambda: dv.compose(*[(kind, max(1, count // 10)) for kind in kinds]).epsilon(1e-6)


def by_dp_accounting(kinds: Callable[[int, Any, dict[str, Any]], list[tuple[Any, int]]]) -> Maker:
    """Return the maker of both bounds by dp-accounting on a grid on which they lie up to .03 apart, and ours 1e-6."""

    def maker(count: int) -> Task:
        import logging

        from dp_accounting.pld import privacy_loss_distribution as pld

        logging.disable(logging.WARNING)

        def run() -> list[float]:
            found = []
            for side in (False, True):
                grid = {"value_discretization_interval": 2e-5, "pessimistic_estimate": side}
                one, *others = (loss.self_compose(times) for loss, times in kinds(count, pld, grid))
                for other in others:
                    one = one.compose(other)
                found.append(one.get_epsilon_for_delta(1e-6))
            return found

        return run

    return maker


def four_losses(count: int, pld: Any, grid: dict[str, Any]) -> list[tuple[Any, int]]:
    answer = 2 / (1 + math.exp(0.02))
    kinds = [
        pld.from_gaussian_mechanism(40.0, **grid), pld.from_laplace_mechanism(60.0, **grid),
        pld.from_randomized_response(answer, 2, **grid), pld.from_gaussian_mechanism(2.0, sampling_prob=0.01, **grid),
    ]  # fmt: skip
    return [(kind, max(1, count // 4)) for kind in kinds]


def ten_losses(count: int, pld: Any, grid: dict[str, Any]) -> list[tuple[Any, int]]:
    scales = [(1.1 + 0.16 * math.sqrt(i + 2)) * math.sqrt(count) for i in range(10)]
    return [(pld.from_laplace_mechanism(scale, **grid), max(1, count // 10)) for scale in scales]


def narrow(found: Any) -> str:
    """Say how wide a bracket is that is wider than asked."""
    return f"bracket {found.upper - found.lower:.1e} wide" if found.upper - found.lower > 1e-6 else ""


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
SENDERS = 1_000_000


def drawn(kernel: str) -> Maker:
    def maker(rows: int) -> Task:
        table = AliasTable.of(dv.IntegerChannel.of(stochastic(VALUES, VALUES)))
        codes = np.random.default_rng(0).integers(0, VALUES, size=rows, dtype=np.int32)
        draw(table, codes[:10], kernel=kernel)
        return lambda: draw(table, codes, kernel=kernel, threads=1)

    return maker


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


RELEASE = """
import sys, divulge as dv
source, sink = sys.argv[1:]
mechanism = dv.mechanisms.randomized_response([f"value number {i}" for i in range(100)], epsilon=1.0)
for _ in sys.stdin:
    dv.release(source, sink, column="x", mechanism=mechanism, force=True)
    print("done", flush=True)
"""


def released(source: Callable[[], Path]) -> Maker:
    """Return the maker of a release by the sources in a folder, in a process of its own that waits for each order."""

    def maker(rows: int) -> Task:
        environment = os.environ | {"PYTHONPATH": str(source())}
        sink = FOLDER / f"{source().parent.name}-out.parquet"
        process = subprocess.Popen(
            [sys.executable, "-c", RELEASE, str(column(rows)), str(sink)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        orders, answers = process.stdin, process.stdout

        def run() -> int:
            orders.write("\n")
            orders.flush()
            if answers.readline() != "done\n":
                raise LookupError("the release failed")
            return resident(process.pid)

        return run

    return maker


def resident(pid: int) -> int:
    """Return the most bytes of memory a process has had, 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def roomy(most: int) -> str:
    """Say how much memory a release has taken that took more than asked."""
    return f"{most >> 20} MiB" if most > 300 << 20 else ""


def sources_now() -> Path:
    """Return the sources that this process runs by, which `--compare` chooses."""
    return Path(dv.__file__).resolve().parent.parent


def copied(rows: int) -> Task:
    path = column(rows)

    def run() -> None:
        with pq.ParquetFile(path) as source, pq.ParquetWriter(FOLDER / "copy.parquet", source.schema_arrow) as sink:
            for batch in source.iter_batches(1 << 20):
                sink.write_batch(batch)

    return run


def passed(rows: int) -> Task:
    """Return what every release has to do: read the file, draw 32 bits a row, look values up by them, write a file."""
    path, stream, space = column(rows), Keystream(), np.empty(1 << 20, dtype=np.uint32)

    def run() -> None:
        with (
            pq.ParquetFile(path, read_dictionary=["x"]) as source,
            pq.ParquetWriter(
                FOLDER / "passed.parquet", pa.schema({"x": pa.dictionary(pa.int32(), pa.string())})
            ) as sink,
        ):
            for batch in source.iter_batches(1 << 20):
                words = space[: len(batch)]
                stream.fill(words)
                column = batch.column(0)
                drawn = np.where(words < 1 << 31, np.asarray(column.indices), words % 100).astype(np.int32)
                values = pa.DictionaryArray.from_arrays(pa.array(drawn), column.dictionary)
                sink.write_batch(pa.record_batch([values], names=["x"]))

    return run


def counted(rows: int) -> Task:
    path = column(rows)
    return lambda: dv.contingency(path, "x")


def by_duckdb(rows: int) -> Task:
    import duckdb

    path = column(rows)
    return lambda: duckdb.sql(f"select x, count(*) from '{path}' group by x").fetchall()


def refined(n: int) -> Task:
    """Return the refinement of a channel with twice as many outcomes as secrets: no inverse answers it."""
    a = dv.Channel(stochastic(n, 2 * n))
    b = dv.Channel(a.floats @ stochastic(2 * n, n, 1))
    return lambda: dv.adversaries.refinement(a, b)


def refined_by_highs(n: int) -> Task:
    few_enough(n, 30)
    a = stochastic(n, 2 * n)
    return program(a, a @ stochastic(2 * n, n, 1))


def fractions_by_highs(n: int) -> Task:
    return program(*(one.floats for one in of_fractions(n)))


def program(a: np.ndarray, b: np.ndarray) -> Task:
    """Return the linear program of the same question, in doubles: a channel R with A R = B, by SciPy's HiGHS."""
    from scipy.optimize import linprog

    m, k = a.shape[1], b.shape[1]
    rows = sp.vstack([sp.kron(a, sp.identity(k)), sp.kron(sp.identity(m), np.ones((1, k)))], format="csc")
    right = np.append(b.ravel(), np.ones(m))
    return lambda: linprog(np.zeros(m * k), A_eq=rows, b_eq=right, method="highs")


def of_fractions(n: int) -> tuple[Any, Any]:
    from fractions import Fraction

    def rows(seed: int) -> list[list[Fraction]]:
        cells = np.random.default_rng(seed).integers(1, 10, size=(n, n))
        return [[Fraction(int(v), int(row.sum())) for v in row] for row in cells]

    a = dv.Channel(rows(0))
    return a, a.then(rows(1))


def refined_exactly(n: int) -> Task:
    a, b = of_fractions(n)
    return lambda: dv.adversaries.refinement(a, b)


def by_scores(n: int) -> Task:
    """Return the design for random linear scores, the slowest of which is under a bound on PML."""
    prior, scores = np.random.default_rng(n).dirichlet(np.ones(n)), np.random.default_rng(1).random((n, n))
    return lambda: dv.design(prior, dv.PML(0.5), utility=scores)


def scores_by_highs(n: int) -> Task:
    """Return the program as it is written, sum_y C_xy = 1 and C_xy <= e^0.5 (p C)_y, by SciPy's HiGHS."""
    from scipy.optimize import linprog

    few_enough(n, 60)
    prior, scores = np.random.default_rng(n).dirichlet(np.ones(n)), np.random.default_rng(1).random((n, n))
    one = sp.identity(n)
    above = sp.identity(n * n) - math.exp(0.5) * sp.kron(np.ones((n, 1)) * prior, one)
    sums = sp.kron(one, np.ones((1, n)))
    gains = -(prior[:, None] * scores).ravel()
    return lambda: linprog(gains, above.tocsc(), np.zeros(n * n), sums.tocsc(), np.ones(n), method="highs")


def several(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(5), (count, 5)), rng.dirichlet(np.ones(5), count)


def stacked(count: int) -> Task:
    channels, priors = several(count)
    return lambda: dv.measures.Stack(channels, priors).pml().max(axis=1)


def by_formula(count: int) -> Task:
    channels, priors = several(count)
    return lambda: np.log(channels.max(axis=1) / np.einsum("bn,bnm->bm", priors, channels)).max(axis=1)


def one_by_one(count: int) -> Task:
    few_enough(count, 1000)
    pairs = list(zip(*reversed(several(count)), strict=True))
    return lambda: [dv.pml(dv.Joint(prior, channel)).max() for prior, channel in pairs]


def reported(n: int) -> Task:
    joint = dv.Joint(dv.Prior(weights(n)), dv.Channel(stochastic(n, n)))
    return lambda: dv.report(joint).html()


def by_pandas(n: int) -> Task:
    """Return the matrix as a table of HTML."""
    import pandas as pd

    matrix = pd.DataFrame(stochastic(n, n))
    return lambda: matrix.to_html()


def answered(count: int, values: int = VALUES) -> np.ndarray:
    """Return what senders have of a thousand values, or more, some frequent and most of them rare."""
    return np.random.default_rng(0).zipf(1.5, size=count) % values


def collected(make: Callable[[int, float], dv.protocols.Protocol]) -> Maker:
    """Return the maker of a collection: a report for each sender, and all frequencies from the reports."""

    def maker(count: int) -> Task:
        protocol, values = make(VALUES, 1.0), answered(count)
        return lambda: protocol.report(values).frequencies()

    return maker


def of_many(size: int) -> Task:
    protocol, values = dv.protocols.hadamard(size, 1.0), answered(SENDERS, size)
    return lambda: protocol.report(values).frequencies()


def by_pure_ldp(folder: str, name: str, most: int, **options: Any) -> Maker:
    """Return the maker of the same with pure-ldp, for so many senders at most: each is asked in turn."""

    def maker(count: int) -> Task:
        few_enough(count, most)
        return asked_in_turn(folder, name, answered(count), VALUES, **options)

    return maker


def asked_in_turn(folder: str, name: str, values: np.ndarray, size: int, **options: Any) -> Task:
    """Return a collection of pure-ldp: a report of each sender, then the frequencies of all values."""
    peer = importlib.import_module(f"pure_ldp.frequency_oracles.{folder}")
    own, asked = values.tolist(), {"index_mapper": int, **options}

    def collect() -> Any:
        server = getattr(peer, f"{name}Server")(1.0, size, **asked)
        hashes = (server.get_hash_funcs(),) if hasattr(server, "get_hash_funcs") else ()
        client = getattr(peer, f"{name}Client")(1.0, size, *hashes, **asked)
        for value in own:
            server.aggregate(client.privatise(value))
        return server.estimate_all(range(size))

    return collect


def many_by_pure_ldp(size: int) -> Task:
    return asked_in_turn("hadamard_response", "HadamardResponse", answered(SENDERS, size), size)


def by_multi_freq(count: int) -> Task:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    few_enough(count, 1000)
    values = answered(count).tolist()
    return lambda: UE_Aggregator_MI([UE_Client(value, VALUES, 1.0, True) for value in values], 1.0, True)


def few_enough(count: int, most: int) -> None:
    """Refuse a size for which a peer takes longer than all others together."""
    if count > most:
        raise LookupError("too slow for this size")


def near_theory(protocol: Callable[[int, float], dv.protocols.Protocol]) -> Callable[[Any], str]:
    """Return a check that the mean squared error of all frequencies is the variance of the protocol, within a half."""

    def check(found: Any) -> str:
        size = len(found.frequency)
        true = np.bincount(answered(found.rows, size), minlength=size) / found.rows
        ratio = float(np.mean((found.frequency - true) ** 2)) / protocol(size, 1.0).variance(0, found.rows)
        return "" if 0.5 < ratio < 1.5 else f"squared error {ratio:.2f} of the variance"

    return check


def started(*arguments: str) -> Maker:
    def maker(_: int) -> Task:
        environment = os.environ | {"PYTHONPATH": str(sources_now())}
        return lambda: subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)

    return maker


def channel_file() -> str:
    path = FOLDER / "channel.csv"
    path.write_text("secret,yes,no\nill,0.75,0.25\nwell,0.25,0.75\n")
    return str(path)


PEERS = "DIVULGE_PEERS"
"""Names an interpreter that has the peers for whole tables, which do not go with our libraries; see tables.py."""


def whole_tables() -> Any:
    """Return the module of whole tables beside their peers."""
    spec = importlib.util.spec_from_file_location("whole_tables", Path(__file__).with_name("tables.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assessed(_: int) -> Task:
    table = dv.datasets.adult()
    known = [name for name in table.column_names if name != "occupation"]

    def task() -> Any:
        return dv.assess(table, known, "occupation", pairs=False).measures()

    task()  # libraries are read at first use
    return task


def grouped(_: int) -> Task:
    """Return the groups of the same people, counted once by PyArrow."""
    table = dv.datasets.adult()
    known = [name for name in table.column_names if name != "occupation"]
    return lambda: table.group_by(known).aggregate([([], "count_all")])


def wrong_measures(found: Any) -> str:
    return "" if (found["k"], found["groups"]) == (1, 12_458) else f"k {found['k']}, {found['groups']} groups"


def coarsened(_: int) -> Task:
    table, ladders = dv.datasets.adult(), dv.datasets.adult_hierarchies()
    known = [name for name in table.column_names if name != "occupation"]
    chosen = {name: ladders[name] for name in known}

    def task() -> Any:
        return dv.generalize(
            table, known, "occupation", guarantees="k=5", hierarchies=chosen, loss="discernibility"
        )  # fmt: skip

    task()
    return task


def wrong_levels(found: Any) -> str:
    return "" if found.loss == 55_170_356 else f"discernibility {found.loss:.0f}"


def by_peers(*names: str) -> Maker:
    """Return what a peer for whole tables does with Adult, in a process of its own that has the table already."""

    def maker(_: int) -> Task:
        if PEERS not in os.environ:
            raise LookupError(f"{PEERS} names no interpreter that has it")
        known = [name for name in dv.datasets.adult().column_names if name != "occupation"]
        child = whole_tables().Peers(os.environ[PEERS], known, str(FOLDER))
        atexit.register(child.close)

        def task() -> list[Any]:
            found = [child.ask(name) for name in names]
            if any("wrong" in one for one in found):
                raise LookupError("it fails")
            return found

        return task

    return maker


READ, LOGS, NUMPY = "one read of the matrix", "a logarithm of each entry", "import numpy"
STARTED = {NUMPY: started("-c", "import numpy"), "python -c pass": started("-c", "pass")}
MEASURE = ("-m", "divulge", "measure", channel_file(), "--prior", "uniform")
LISTS = (10, 100, 2000)
FEW, MANY = (5, 10, 20, 50), (200, 600, 2000, 5000)
SQUARE = "secrets and outcomes"
GOOGLE, HIGHS, NARROWER = "dp-accounting at 2e-5", "the program by HiGHS", "prv-accountant at 0.01"
PASSED, GROUPED = "read, drawn, written", "one grouping by PyArrow"
AGAINST_QIF = (Goal(0.9, "qif", FEW), Goal(1, "qif", MANY))

WORK = (
    Work("profile", SQUARE, (10, 100, 300, 1000, 4000, 10_000), profile, {READ: one_read, LOGS: logarithms},
         (Goal(3, LOGS, (4000,)), Goal(3, LOGS, (10_000,)))),
    Work("mutual information", SQUARE, FEW + MANY, made(dv.mutual_information),
         {"qif": by_qif("shannon.add_leakage"), READ: one_read}, AGAINST_QIF),
    Work("Bayes vulnerability", SQUARE, FEW + MANY, made(dv.measures.bayes_vulnerability),
         {"qif": by_qif("bayes_vuln.posterior"), READ: one_read}, AGAINST_QIF),
    Work("a stack of channels of 5 x 5", "channels", (100, 1000, 10_000), stacked,
         {"the formula in NumPy": by_formula, "calls one by one": one_by_one},
         (Goal(4, "the formula in NumPy", (10_000,)), Goal(0.05, "calls one by one", (1000,)))),
    Work("sparse profile", "stored entries", (1000, 10_000, 100_000, 1_000_000), sparse,
         {"the formulas in SciPy": by_scipy}, (Goal(0.5, "the formulas in SciPy"),)),
    Work("account, four kinds", "releases", LISTS, four_kinds, {GOOGLE: by_dp_accounting(four_losses)},
         (Goal(1, GOOGLE, LISTS),), narrow),
    Work("account, ten kinds", "releases", LISTS, ten_kinds, {GOOGLE: by_dp_accounting(ten_losses)},
         (Goal(1, GOOGLE, LISTS),), narrow),
    Work("sampled Gaussians", "releases", (1, 10, 100, 1000), sampled, {NARROWER: by_prv},
         (Goal(1, NARROWER),), narrow),
    Work("sampling, compiled", "rows", (10_000, 100_000, 1_000_000, 10_000_000), drawn("numba"),
         {"take from 8 MB": taken, "one keystream": keystream}, (Goal(2, "take from 8 MB"),)),
    Work("sampling, NumPy", "rows", (10_000, 100_000, 1_000_000, 10_000_000), drawn("numpy"),
         {"take from 8 MB": taken, "one keystream": keystream}),
    Work("release, Parquet to Parquet", "rows", (20_000, 200_000, 2_000_000, 20_000_000), released(sources_now),
         {PASSED: passed, "one copy of the file": copied}, (Goal(1.25, PASSED),), roomy),
    Work("count a column", "rows", (20_000, 200_000, 2_000_000, 20_000_000), counted, {"DuckDB": by_duckdb},
         (Goal(1, "DuckDB"),)),
    Work("refinement", SQUARE, (5, 10, 30, 100), refined, {HIGHS: refined_by_highs}, (Goal(3, HIGHS, (5, 10, 30)),)),
    Work("refinement of fractions", SQUARE, (3, 10, 30), refined_exactly, {HIGHS: fractions_by_highs},
         (Goal(1, HIGHS),)),
    Work("design, linear scores", "secrets", (5, 20, 60, 200), by_scores, {HIGHS: scores_by_highs},
         (Goal(0.5, HIGHS, (60,)),)),
    Work("report", "values", (5, 50, 500), reported, {"the matrix in HTML by pandas": by_pandas},
         (Goal(2, "the matrix in HTML by pandas"),)),
    # no hashing here: that of both peers hashes text, which xxhash has refused since it takes bytes alone
    Work("reports, Hadamard", "senders", (1000, 10_000, 100_000, 1_000_000), collected(dv.protocols.hadamard),
         {"pure-ldp": by_pure_ldp("hadamard_response", "HadamardResponse", 100_000)},
         (Goal(0.05, "pure-ldp", (100_000,)),), near_theory(dv.protocols.hadamard)),
    Work("a million reports, Hadamard", "values", (1000, 22_953, 1_000_000), of_many,
         {"pure-ldp": many_by_pure_ldp, "a keystream of 4 MB": lambda size: keystream(SENDERS)},
         (Goal(0.05, "pure-ldp", (1000, 22_953, 1_000_000)),), near_theory(dv.protocols.hadamard)),
    Work("reports, unary", "senders", (100, 1000, 10_000), collected(dv.protocols.unary),
         {"pure-ldp": by_pure_ldp("unary_encoding", "UE", 1000, use_oue=True), "multi-freq-ldpy": by_multi_freq},
         (Goal(0.5, "pure-ldp", (1000,)), Goal(0.5, "multi-freq-ldpy", (1000,))), near_theory(dv.protocols.unary)),
    Work("assess a whole table", "", (1,), assessed,
         {"pyCANON k and l": by_peers("pyCANON k", "pyCANON l"), GROUPED: grouped},
         (Goal(0.1, "pyCANON k and l"), Goal(6, GROUPED)), wrong_measures),
    Work("coarsen a whole table", "", (1,), coarsened, {"anjana": by_peers("anjana generalize"), GROUPED: grouped},
         (Goal(1, "anjana"), Goal(50, GROUPED)), wrong_levels),
    Work("divulge --version", "", (1,), started("-m", "divulge", "--version"), STARTED, (Goal(1.5, NUMPY),)),
    Work("divulge measure", "", (1,), started(*MEASURE), STARTED, (Goal(3, NUMPY),)),
)  # fmt: skip
