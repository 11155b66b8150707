"""How often intervals hold: the table of docs/audit.md. Nominal: 95 %, all intervals of a table at once.

Run: python benchmarks/intervals.py [tables]. Tables of rows are drawn with a fixed seed; 4,000 of them take minutes.
"""

import sys
from collections.abc import Iterator

import numpy as np

import divulge as dv
from divulge.auditing.audit import EXACT, audit
from divulge.releasing.estimating.estimate import right_inverse
from divulge.releasing.estimating.intervals import INTERVALS, within_simplex

CONFIDENCE = 0.95


def skewed(n: int, most: float) -> np.ndarray:
    """Return frequencies of n values: one common, the others equally rare."""
    return np.array([most, *[(1 - most) / (n - 1)] * (n - 1)])


def cases() -> Iterator[tuple[str, dv.Channel, np.ndarray, tuple[int, ...]]]:
    """Return (what, mechanism, frequencies, numbers of rows)."""
    rr = dv.mechanisms.randomized_response
    yield (
        "randomized response, 100 values, epsilon 6, (.9, .1/99 each)",
        rr(100, 6.0),
        skewed(100, 0.9),
        (500, 5_000, 100_000),
    )
    yield "randomized response, 5 values, epsilon 1, (.9, .025 each)", rr(5, 1.0), skewed(5, 0.9), (1, 20, 1_000)
    yield "randomized response, 2 values, epsilon 8, (.9999, .0001)", rr(2, 8.0), skewed(2, 0.9999), (20, 1_000)
    near = 0.3 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    geometric = dv.Channel(near / near.sum(axis=1, keepdims=True))
    yield "near values likelier, 10 values, (.9, .1/9 each)", geometric, skewed(10, 0.9), (20, 1_000, 100_000)
    wide = dv.Channel(np.random.default_rng(0).dirichlet(np.ones(6), 3))
    yield "3 values, 6 outcomes, (.98, .01, .01)", wide, skewed(3, 0.98), (5, 100, 10_000)


def estimates(channel: dv.Channel, p: np.ndarray, rows: int, tables: int, rng: np.random.Generator) -> dict[str, float]:
    """Return {kind of interval: share of tables in which all intervals hold}."""
    inverse, matrix = right_inverse(channel), channel.floats
    hits = dict.fromkeys(INTERVALS, 0)
    for counts in rng.multinomial(rows, p @ matrix, size=tables):
        for name, interval in INTERVALS.items():
            low, high = within_simplex(*interval(counts, matrix, inverse, (1 - CONFIDENCE) / len(p)))
            hits[name] += bool(((low <= p) & (p <= high)).all())
    return {name: count / tables for name, count in hits.items()}


def audits(channel: dv.Channel, p: np.ndarray, rows: int, tables: int, rng: np.random.Generator) -> float:
    """Return the share of tables in which no measure of the mechanism is below its lower bound in the audit."""
    joint = dv.Joint(dv.Prior(p), channel)
    truth = {name: float(measure(joint)) for name, measure in EXACT.items()}
    good = 0
    for counts in rng.multinomial(rows, (p[:, None] * channel.floats).ravel(), size=tables):
        found = audit(counts.reshape(channel.shape), secret=None, released=None)
        good += all(found.measures[name].lower <= value * (1 + 1e-12) for name, value in truth.items())
    return good / tables


def main() -> None:
    """Print the table in Markdown."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    rng = np.random.default_rng(20_260)
    print(f"| {tables:,} tables each | rows | " + " | ".join(INTERVALS) + " | audit |")
    print("|---|" + "---|" * (len(INTERVALS) + 2))
    for what, channel, p, numbers in cases():
        for rows in numbers:
            shares = [*estimates(channel, p, rows, tables, rng).values(), audits(channel, p, rows, tables // 10, rng)]
            print(f"| {what} | {rows:,} | " + " | ".join(f"{share:.3f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
