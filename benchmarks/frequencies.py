"""How often intervals of protocol reports hold, and how far estimates are off: two tables of docs/millions.md.

    python benchmarks/frequencies.py [RUNS]    1,000 runs take some minutes

Coverage: senders have values whose shares fall as 1, 1/2, 1/3, ..., the same in each run; in each all intervals have
a confidence of 95 % at once. A run misses if any of its intervals does not hold the share of its value; beside it
stands how often the interval of the most frequent value alone misses, and how wide intervals are by the width of
normal ones of the same risk, 2 z sqrt(variance): less than 1 where they are cut at shares of 0 and 1.
A protocol without a list is asked for all values.

Error: the mean over the values of the squared error of a count, in units of one sender, of n senders at epsilon 5 over
22,000 values, which take the first of the 22,953 points of the projective space, against the variance; with the
standard error of the runs, as errors of one run hang together.
"""

import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy.stats import norm

import divulge as dv

P = dv.protocols
CONFIDENCE, VALUES = 0.95, 50
PUBLISHED = 22_000

CASES: tuple[tuple[str, Callable[[float], dv.protocols.Protocol]], ...] = (
    ("randomized response", lambda epsilon: P.randomized_response(VALUES, epsilon)),
    ("symmetric unary", lambda epsilon: P.unary(VALUES, epsilon, symmetric=True)),
    ("optimized unary", lambda epsilon: P.unary(VALUES, epsilon)),
    ("local hashing", lambda epsilon: P.local_hashing(None, epsilon)),
    ("Hadamard", lambda epsilon: P.hadamard(VALUES, epsilon)),
    ("projective", lambda epsilon: P.projective(VALUES, epsilon)),
    ("prefix extension, candidates", lambda epsilon: P.prefix_extension(epsilon, 3)),
)


def senders(n: int) -> np.ndarray:
    """Return the value of each sender."""
    shares = 1 / np.arange(1, VALUES + 1)
    bounds = np.rint(np.cumsum(shares / shares.sum()) * n).astype(int)
    return np.repeat(np.arange(VALUES), np.diff(bounds, prepend=0))


def coverage(runs: int) -> None:
    """Print how often intervals hold, protocol by protocol."""
    print(f"| {runs:,} runs, {VALUES} values | epsilon | senders | a run misses | one value misses | width by normal |")
    print("|---|---|---|---|---|---|")
    texts = [str(i) for i in range(VALUES)]
    normal = 2 * norm.isf((1 - CONFIDENCE) / VALUES / 2)
    for name, make in CASES:
        for epsilon, n in ((1.0, 200), (1.0, 5000), (4.0, 5000)):
            protocol, x = make(epsilon), senders(n)
            share = np.bincount(x, minlength=VALUES) / n
            sent = [texts[i] for i in x.tolist()] if protocol.of_text else x
            usual = normal * np.sqrt([protocol.variance(f, n=n) for f in share.tolist()])
            any_, first, wide = 0, 0, 0.0
            for _ in range(runs):
                reports = protocol.report(sent)
                found = reports.frequencies(texts if protocol.of_text else None, confidence=CONFIDENCE)
                off = (found.lower > share) | (share > found.upper)
                any_, first = any_ + bool(off.any()), first + bool(off[0])
                wide += float(np.mean((found.upper - found.lower) / usual))
            print(f"| {name} | {epsilon:g} | {n:,} | {any_ / runs:.3f} | {first / runs:.4f} | {wide / runs:.2f} |",
                  flush=True)  # fmt: skip


def error(runs: int) -> None:
    """Print the mean squared error beside the variance."""
    print(
        f"\n| {PUBLISHED:,} values, epsilon 5, {runs:,} runs | senders | theory | measured | standard error | apart |"
    )
    print("|---|---|---|---|---|---|")
    made = {"projective": P.projective(PUBLISHED, 5.0, field=151, dimension=3), "Hadamard": P.hadamard(PUBLISHED, 5.0),
            "randomized response": P.randomized_response(PUBLISHED, 5.0)}  # fmt: skip
    for name, protocol in made.items():
        for n in (1_000, 10_000):
            values = np.random.default_rng(0).zipf(1.3, n) % PUBLISHED
            sent = np.bincount(values, minlength=PUBLISHED)
            p, q = float(protocol.p_star), float(protocol.q_star)
            theory = n * float(protocol.variance(Fraction(1, PUBLISHED)))
            found = [
                float(np.mean(((protocol.report(values).support() - n * q) / (p - q) - sent) ** 2)) for _ in range(runs)
            ]
            off = float(np.std(found, ddof=1)) / runs**0.5
            mean = float(np.mean(found))
            print(f"| {name} | {n:,} | {theory:.6g} | {mean:.6g} | {off:.2g} | {(mean - theory) / off:+.1f} |",
                  flush=True)  # fmt: skip


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    coverage(runs)
    error(max(2, runs // 2))


if __name__ == "__main__":
    main()
