"""Measures side by side with plain numpy, qif and dit, in one run: times and their ratios.

Run: python benchmarks/measure.py [--quick]. Peers (qif, dit) come with the test dependencies.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dit
import numpy as np
import qif
import scipy.sparse as sp
from qif import measure as peer

import divulge as dv

Row = tuple[str, float, str, float]


def best(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the least of some run times, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def stochastic(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Return a random N x M channel matrix."""
    matrix = rng.random((n, m))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def whole_profile(n: int) -> Row:
    """Everything about a dense channel, against one pass for the column maxima."""
    rng = np.random.default_rng(0)
    channel, prior = dv.Channel(stochastic(rng, n, n)), dv.Prior(rng.dirichlet(np.ones(n)))
    ours = best(lambda: dv.profile(dv.Joint(prior, channel)).capacity)
    one_pass = best(lambda: channel.matrix.max(axis=0).sum())
    tracemalloc.start()
    _ = dv.profile(dv.Joint(prior, channel)).capacity
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    share = 100 * peak / channel.matrix.nbytes
    return f"profile {n} x {n} (extra memory {share:.1f} %)", ours, "numpy max(axis=0).sum()", one_pass


def local_privacy(n: int) -> Row:
    """ldp, against qif's cubic search at a tenth of the size (times 1000)."""
    rng = np.random.default_rng(1)
    channel, small = dv.Channel(stochastic(rng, n, n)), stochastic(rng, n // 10, n // 10)
    discrete = qif.metric.discrete()
    theirs = best(lambda: peer.d_privacy.smallest_epsilon(small, discrete), 2)
    return f"ldp {n} x {n}", best(lambda: dv.ldp(channel), 20), f"qif at {n // 10}, x 1000", 1000 * theirs


def against_qif(n: int) -> list[Row]:
    """Mutual information and Bayes vulnerability at one size: of a channel at the first question, again, made for it.

    qif takes the arrays as they are; ours is asked about a Joint of a Prior and a Channel, checked once before.
    """
    rng = np.random.default_rng(2)
    matrix, weights = stochastic(rng, n, n), rng.dirichlet(np.ones(n))
    channel, prior = dv.Channel(matrix), dv.Prior(weights)
    pairs = [
        ("mutual information", dv.mutual_information, peer.shannon.add_leakage),
        ("Bayes vulnerability", dv.measures.bayes_vulnerability, peer.bayes_vuln.posterior),
    ]
    repeats = 200 if n <= 300 else 20 if n <= 1000 else 5
    rows: list[Row] = []
    for name, ours, theirs in pairs:
        copies = [dv.Channel(matrix) for _ in range(min(repeats, max(5, 10_000_000 // matrix.size)))]
        fresh = iter([dv.Joint(prior, one) for one in copies])
        once, known = best(lambda f=ours, g=fresh: f(next(g)), len(copies)), dv.Joint(prior, channel)
        peers = best(lambda f=theirs: f(weights, matrix), repeats)
        again = best(lambda f=ours, j=known: f(j), repeats)
        made = best(lambda f=ours: f(dv.Joint(prior, channel)), repeats)
        times = {"": once, ", again": again, ", joint made for it": made}
        rows += [(f"{name} {n} x {n}{which}", taken, "qif", peers) for which, taken in times.items()]
    return rows


def against_dit(n: int) -> Row:
    """Mutual information against dit."""
    joint = dv.Joint(dv.Prior.uniform(n).floats, stochastic(np.random.default_rng(3), n, n))
    outcomes = [(x, y) for x in range(n) for y in range(n)]
    theirs = dit.Distribution(outcomes, joint.matrix.ravel().tolist())
    fresh = best(lambda: dv.mutual_information(dv.Joint(joint.prior, joint.channel)), 20)
    return (
        f"mutual information {n} x {n}",
        fresh,
        "dit",
        best(lambda: dit.shannon.mutual_information(theirs, [0], [1]), 2),
    )


def fractions(rng: np.random.Generator, n: int) -> list[list[Fraction]]:
    """Return a channel of fractions, a different denominator in each row."""
    whole = rng.integers(1, 1_000_000, size=(n, n))
    return [[Fraction(int(v), int(row.sum())) for v in row] for row in whole]


def exact_arithmetic() -> list[Row]:
    """Rational channels: the whole profile, and Bayes capacity against qif's rationals."""
    rng = np.random.default_rng(4)
    hundred, fifty = dv.Channel(fractions(rng, 100)), dv.Channel(fractions(rng, 50))
    prior = dv.Prior.from_counts([int(v) for v in rng.integers(1, 1000, size=100)])
    rational = np.array(fifty.matrix)
    theirs = best(lambda: peer.bayes_vuln.mult_capacity(rational), 2)
    return [
        ("exact profile 100 x 100", best(lambda: dv.profile(dv.Joint(prior, hundred)).capacity, 2), "a second", 1000.0),
        ("exact Bayes capacity 50 x 50", best(lambda: dv.bayes_capacity(fifty), 5), "qif rationals", theirs),
    ]


def large_sparse() -> Row:
    """A sparse channel of 100,000 x 100,000 with a million entries, against a dense numpy pass over as many entries."""
    rng, n, stored = np.random.default_rng(5), 100_000, 1_000_000
    rows = np.concatenate([np.arange(n), rng.integers(n, size=stored - n)])
    matrix = sp.csr_array((rng.random(stored) + 0.01, (rows, rng.integers(n, size=stored))), shape=(n, n))
    channel = dv.Channel(sp.csr_array(matrix.multiply(1 / matrix.sum(axis=1)[:, None])))
    prior = dv.Prior(np.full(n, 1 / n))
    dense = rng.random((1000, 1000))
    ours = best(lambda: dv.profile(dv.Joint(prior, channel)).capacity, 2)
    return "profile 1e5 x 1e5 sparse", ours, "numpy max over 1e6 dense", best(lambda: dense.max(axis=0).sum())


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="leave out the sizes from 4000 on")
    quick = arguments.parse_args().quick
    qif.set_default_type(qif.double)
    sizes = [100, 300, 1000] if quick else [100, 300, 1000, 3000, 5000]
    table = [whole_profile(n) for n in ([1000] if quick else [4000, 10_000])]
    table += [local_privacy(1000), *(row for n in sizes for row in against_qif(n)), against_dit(20), large_sparse()]
    table += exact_arithmetic()
    print(f"{'':44}{'divulge ms':>12}  {'beside':28}{'ms':>12}{'ratio':>9}")
    for name, ours, other, theirs in table:
        print(f"{name:44}{ours:12.3f}  {other:28}{theirs:12.3f}{ours / theirs:9.3f}")


if __name__ == "__main__":
    main()
