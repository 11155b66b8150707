"""Designs against the targets, and beside a researcher's way: all vertices listed, then cvxpy.

    python benchmarks/design.py [quick] [--seconds]
    python benchmarks/design.py --without NAME[+NAME...] [NAME...] [--looks LOOKS]

Work is bounded by looks at the clock, so that every machine does the same: 200 for a second that is allowed (a machine
of 2020 looks about as often) and 6,000 at least. What is printed is the relative gap, the looks that were used, and how
often the restricted master program was solved. With --seconds it is bounded by time, and seconds are printed.

A goal that is not reached is marked: missed. With --without: the same of cases that are hard for one method or
another, with all methods, and in one column each without those named, after 1600 looks unless told. The peer is run
once, divulge five times (the median counts).
"""

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import divulge as dv

COLUMNS = ("class_of_worker", "education", "marital_status", "major_industry", "major_occupation", "race",
           "hispanic_origin", "sex", "citizenship", "income")  # fmt: skip
LOOKS = 200
"""Looks at the clock that stand for a second."""
FEWEST = 6_000
"""Looks at least: subset sums of counts look once for each secret that may be in between."""
Case = tuple[str, Any, Any, float, float]


def random_counts(n: int, total: int) -> dv.Prior:
    rng = np.random.default_rng(n)
    counts = rng.multinomial(total - n, rng.dirichlet(np.ones(n))) + 1
    return dv.Prior.from_counts([int(c) for c in counts])


def real(n: int, tails: float = 1.0) -> np.ndarray:
    p = np.maximum(np.random.default_rng(n).dirichlet(np.full(n, tails)), 1e-12)
    return p / p.sum()


def cases(quick: bool) -> Iterator[Case]:
    """Yield (name, prior, guarantee, relative gap wanted, seconds allowed)."""
    for n in (100, 500):
        for guarantee in (dv.PML(0.5), dv.ALIP(1, 0.5), dv.LDP(1)):
            yield f"counts N={n}, n=2500", random_counts(n, 2500), guarantee, 1e-9, 1
    from divulge.files import read_prior

    for name in COLUMNS:
        for guarantee in (dv.PML(0.5), dv.LDP(1)):
            yield f"census {name}", read_prior(f"{dv.datasets.census_path()}:{name}"), guarantee, 1e-7, 5
    for n in (18, 24, 32, 45, 100) if quick else (18, 24, 32, 45, 100, 200):
        for guarantee in (dv.PML(0.5), dv.ALIP(1, 0.5)):
            yield f"real N={n}", real(n), guarantee, 1e-5, 30
        yield f"real N={n}", real(n), dv.LDP(1), 1e-6, 10
    if not quick:
        for guarantee in (dv.PML(0.5), dv.ALIP(1, 0.5)):
            yield "real N=500", real(500), guarantee, 1e-5, 60
    for guarantee in (dv.PML(0.5), dv.LDP(1)):
        yield "Dirichlet(0.1) N=50", real(50, 0.1), guarantee, 1e-3, 60
    if not quick:
        yield from hard()


def hard() -> Iterator[Case]:
    """Yield cases in which few secrets make an outcome, so that it matters which."""
    for name, p in (
        ("Zipf N=200", 1 / np.arange(1, 201)),
        ("geometric(0.9) N=200", 0.9 ** np.arange(200)),
        ("geometric(0.99) N=200", 0.99 ** np.arange(200)),
        ("real N=200", real(200)),
    ):
        yield name, p / p.sum(), dv.LDP(8), 1e-6, 10
    equal = 1 + 0.1 * np.random.default_rng(7).random(153)
    for name, p, guarantee in (
        ("nearly equal N=153", equal / equal.sum(), dv.PML(0.067)),
        ("nearly equal N=153", equal / equal.sum(), dv.PML(3)),
        ("real N=153", real(153), dv.PML(0.02)),
    ):
        yield name, p, guarantee, 1e-5, 30


def peer(p: np.ndarray, epsilon: float) -> tuple[float, float]:
    """Return (utility, seconds) of PML by listing every vertex and handing them to cvxpy."""
    import cvxpy as cp

    started = time.perf_counter()
    n, high = len(p), math.exp(epsilon)
    found = []
    sets = np.array(list(itertools.product((0.0, high), repeat=n - 1)))
    for between in range(n):
        others = np.delete(np.arange(n), between)
        value = (1 - sets @ p[others]) / p[between]
        good = (value >= 0) & (value <= high)
        found.append(np.insert(sets[good], between, value[good], axis=1))
    v = np.unique(np.round(np.concatenate(found), 12), axis=0)
    mu = (p * v * np.log(np.where(v > 0, v, 1.0))).sum(axis=1)
    w = cp.Variable(len(v), nonneg=True)
    problem = cp.Problem(cp.Maximize(mu @ w), [v.T @ w == np.ones(n)])
    problem.solve()
    return float(problem.value), time.perf_counter() - started


def grids_alone(problem: Any, effort: Any) -> Any:
    """Return the oracle of all vertices without branch and bound."""
    from divulge.designing import methods

    return methods.Cascade(problem, *(methods.ScaledWeights(problem, work, effort) for work in methods.LATER))


def not_relaxed(problem: Any, oracle: Any, effort: Any, found: Any, _: float) -> Any:
    """Return column generation from what was found, without a divided problem first."""
    from divulge.designing import methods

    return methods.generate(problem, oracle, effort, found)


def not_rounded(problem: Any, effort: Any, found: Any, _: float) -> Any:
    """Return what was found, or the channel that says nothing."""
    from divulge.designing.master.column_generation import uninformed

    return found or uninformed(problem, problem.bound)


def not_listed(*_: Any) -> None:
    """Return None: no sets are listed."""


def no_grids(problem: Any, effort: Any) -> Any:
    """Return the oracle of all vertices without grids for boxes; pairs of levels have no other oracle."""
    from divulge.designing import methods
    from divulge.designing.pricing.ratio_grid import Windows

    pairs = ([Windows(problem, pair, work, effort) for pair in problem.shape.pairs] for work in methods.LATER)
    if not problem.shape.boxes:
        return methods.Cascade(problem, *(methods.ScaledWeights(problem, work, effort) for work in methods.LATER))
    return methods.Cascade(problem, *(methods.BranchAndBound(problem, effort, some) for some in pairs))


def not_touched(_problem: Any, _kinds: Any, first: Any, lifts: Any, *_: Any) -> Any:
    """Return what there is: no tangents are tried."""
    return first, lifts


WITHOUT: dict[str, dict[str, Any]] = {
    "random-sets": {"of_random_sets": lambda *_: None},
    "randomized-rounding": {"randomly_rounded": not_rounded},
    "relaxation": {"randomly_rounded": not_rounded, "from_relaxed_dual": not_relaxed},
    "listed-sets": {"listed_sets": not_listed},
    "aggregation": {"without_tail": lambda p, e, solve: solve(p, e)},
    "branch-and-bound": {"everything": grids_alone},
    "scaled-weights": {"everything": no_grids},
    "tangents": {"touched": not_touched},
}
"""Name of a method -> what stands in its place in `designing.methods` and `supports.faces` when it is left out."""


def about(n: int, k: int) -> tuple[np.ndarray, dv.About]:
    """Return (probabilities of n secrets, the utility about another variable of k values)."""
    rng = np.random.default_rng(n + k)
    return rng.dirichlet(np.ones(n)), dv.About(rng.dirichlet(np.ones(k), n))


def hardest() -> Iterator[tuple[str, np.ndarray, Any, Any]]:
    """Yield (name, prior, guarantee, utility) of the cases of the ablation: each is hard for one method or another."""
    for name, p, guarantee in hard_for_one():
        yield name, p, guarantee, "mutual-information"
    for n, k, guarantee in ((100, 2, dv.PML(0.5)), (100, 3, dv.LDP(1)), (40, 8, dv.PML(0.5))):
        p, utility = about(n, k)
        yield f"{n} about {k} values", p, guarantee, utility


def hard_for_one() -> Iterator[tuple[str, np.ndarray, Any]]:
    """Yield (name, prior, guarantee) under which mutual information is hard to design for."""
    equal = 1 + 0.1 * np.random.default_rng(7).random(153)
    zipf = 1 / np.arange(1, 201)
    yield "real N=24", real(24), dv.PML(0.5)
    yield "real N=32", real(32), dv.PML(0.5)
    yield "real N=45", real(45), dv.PML(2.623)
    yield "real N=100", real(100), dv.LDP(1)
    yield "Dirichlet(0.1) N=50", real(50, 0.1), dv.PML(0.5)
    yield "Zipf N=200", zipf / zipf.sum(), dv.LDP(8)
    yield "nearly equal N=153", equal / equal.sum(), dv.PML(0.067)
    yield "real N=153", real(153), dv.PML(0.067)
    yield "real N=153", real(153), dv.PML(0.02)
    yield "real N=500", real(500), dv.ALIP(1, 0.5)


class Counted:
    """Looks at the clock, which stand for time, and solutions of the restricted master program."""

    def __init__(self) -> None:
        from divulge import clock
        from divulge.designing.master.restricted_master import Master

        self.looks = self.solves = 0
        solve = Master.solve

        def looked() -> float:
            self.looks += 1
            return self.looks / LOOKS

        def counted(master: Any, *_: Any) -> Any:
            self.solves += 1
            return solve(master)

        clock.now, Master.solve = looked, counted

    def design(self, prior: Any, guarantee: Any, looks: float, utility: Any = "mutual-information") -> Any:
        """Return the design after so many looks."""
        self.looks = self.solves = 0
        return dv.design(prior, guarantee, utility=utility, time_limit=looks / LOOKS)


def ablation(columns: list[str], looks: int) -> None:
    """Print gap and work of hard cases with all methods, and without some."""
    from divulge.designing import methods
    from divulge.designing.supports import faces

    work, head = Counted(), f"{'gap':>10}{'looks':>7}{'solves':>8}"
    print(f"{'':38}" + "".join(f"   {name:>25}" for name in ["all", *columns]))
    print(f"{'prior':24}{'guarantee':14}" + f"   {head}" * (1 + len(columns)))
    for name, p, guarantee, utility in hardest():
        print(f"{name:24}{guarantee!s:14}", end="", flush=True)
        for column in ["", *columns]:
            instead = {key: value for one in column.split("+") if one for key, value in WITHOUT[one].items()}
            kept = [(module, key, getattr(module, key)) for module in (methods, faces) for key in instead
                    if hasattr(module, key)]  # fmt: skip
            for module, key, _ in kept:
                setattr(module, key, instead[key])
            found = work.design(p, guarantee, looks, utility)
            for module, key, method in kept:
                setattr(module, key, method)
            print(f"   {found.relative_gap:10.1e}{work.looks:7}{work.solves:8}", end="", flush=True)
        print()


def targets(quick: bool, timed: bool) -> None:
    """Print gap and work of every case, beside what is wanted; work is bounded by looks, or by seconds."""
    work = None if timed else Counted()
    used = f"{'seconds':>9}{'allowed':>9}" if timed else f"{'looks':>7}{'allowed':>9}{'solves':>8}"
    print(f"{'prior':28}{'guarantee':14}{'method':19}{'gap':>9}{'wanted':>9}{'rounding':>10}{used}")
    reached, every = 0, 0
    for name, prior, guarantee, wanted, allowed in cases(quick):
        started, looks = time.perf_counter(), max(allowed * LOOKS, FEWEST)
        if work is None:
            found = dv.design(prior, guarantee, time_limit=0.97 * allowed)
        else:
            found = work.design(prior, guarantee, looks)
        assert found.channel.exact
        seconds, lost = time.perf_counter() - started, found.rounding_loss or 0.0
        small = lost <= 1e-9 or len(found.prior) > 50
        good = "" if found.relative_gap <= wanted and (work or seconds <= allowed) and small else "  missed"
        reached, every = reached + (not good), every + 1
        used = f"{work.looks:7}{looks:9g}{work.solves:8}" if work else f"{seconds:9.2f}{allowed:9g}"
        gaps = f"{found.relative_gap:9.1e}{wanted:9.0e}{lost:10.1e}"
        print(f"{name:28}{guarantee!s:14}{found.method:19}{gaps}{used}{good}", flush=True)
    print(f"{reached} of {every} goals reached")


def names(text: str) -> str:
    """Return NAME[+NAME...] as it is; refuse other names."""
    unknown = [name for name in text.split("+") if name not in WITHOUT]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(WITHOUT)}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Designs against the targets, and beside cvxpy over all vertices.")
    parser.add_argument("quick", nargs="?", choices=["quick"], help="leave out the cases that take longest")
    parser.add_argument("--seconds", action="store_true", help="bound the work by time instead of looks at the clock")
    parser.add_argument("--without", nargs="+", type=names, metavar="NAME[+NAME...]",
                        help=f"print hard cases with and without methods: {', '.join(WITHOUT)}")  # fmt: skip
    parser.add_argument("--looks", type=int, default=1600, help="looks at the clock with --without (1600)")
    asked = parser.parse_args()
    if asked.without:
        ablation(asked.without, asked.looks)
        return
    quick = asked.quick is not None
    for warm in (4, 15):
        dv.design(real(warm), dv.PML(0.6))
    targets(quick, asked.seconds)
    print(f"\n{'beside cvxpy over vertices':28}{'divulge':>12}{'cvxpy':>12}{'seconds':>10}{'cvxpy':>10}{'ratio':>8}")
    for n in (10, 12, 14) if quick else (10, 12, 14, 16):
        p = real(n)
        runs = []
        for _ in range(5):
            started = time.perf_counter()
            found = dv.design(p, dv.PML(0.5))
            runs.append(time.perf_counter() - started)
        seconds = sorted(runs)[2]
        theirs, slow = peer(p, 0.5)
        print(
            f"N={n:<26}{found.utility:12.8f}{theirs:12.8f}{seconds:10.3f}{slow:10.2f}{slow / seconds:8.0f}", flush=True
        )
    print("qif designs for expected scores alone: see linear.py.")


if __name__ == "__main__":
    main()
