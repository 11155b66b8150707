"""How often intervals of protocol reports hold, how far estimates are off, and what a million reports cost: the tables
of docs/millions.md.

    python benchmarks/frequencies.py [RUNS] [--only coverage|error|cost|recursive|candidates]

1,000 runs take some minutes.

Coverage: senders have values whose shares fall as 1, 1/2, 1/3, ..., the same in each run; in each all intervals have
a confidence of 95 % at once. A run misses if any of its intervals does not hold the share of its value; beside it
stands how often the interval of the most frequent value alone misses, and how wide intervals are by the width of
normal ones of the same risk, 2 z sqrt(variance): less than 1 where they are cut at shares of 0 and 1.
A protocol without a list is asked for all values.

Error: the mean over the values of the squared error of a count, in units of one sender, of n senders at epsilon 5 over
22,000 values, which take the first of the 22,953 points of the projective space, against the variance; with the
standard error of the runs, as errors of one run hang together.

Cost: processor seconds in which a million senders report, and all frequencies are estimated, each beside the time of a
keystream of as many words of 32 bits; pure-ldp and multi-freq-ldpy, where they are installed, on fewer senders, as each
is asked in turn. Recursive Hadamard response, which is none of the protocols, is compared by its variance; candidates
are hashed texts that are asked for.
"""

import argparse
import importlib
import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import norm

import divulge as dv
from divulge.releasing.drawing.sampling import Keystream

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


def taken(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds of a call, of all threads, and its answer."""
    start = time.process_time()
    answer = run()
    return time.process_time() - start, answer


MILLION = 1_000_000
SIZES = (1000, 22_953, MILLION)
MOST_HASHES = 3 * 10**10
"""Hashes of a decoding by candidates that is tried: more takes minutes, in proportion."""


def values_of(n: int, size: int) -> np.ndarray:
    return np.random.default_rng(0).zipf(1.5, n) % size


def cost() -> None:
    """Print processor seconds of a million reports and of their frequencies."""
    words = np.empty(1 << 15, dtype=np.uint32)

    def keystream() -> None:
        stream = Keystream()
        for _ in range(0, MILLION, len(words)):
            stream.fill(words)

    keystream()
    one = min(taken(lambda: [keystream() for _ in range(10)])[0] for _ in range(3)) / 10
    print(f"a keystream of a million words takes {one * 1e3:.2f} ms")
    print("| values | protocol | a million reports | in keystreams | all frequencies | senders |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        for name, make in (("randomized response", P.randomized_response), ("Hadamard", P.hadamard),
                           ("projective", P.projective), ("local hashing", P.local_hashing)):  # fmt: skip
            if name == "local hashing" and size * MILLION > MOST_HASHES:
                continue
            protocol, values = make(size, 1.0), values_of(MILLION, size)
            protocol.report(values[:1000]).frequencies()  # compiled loops are loaded
            told, reports = taken(lambda p=protocol, v=values: p.report(v))
            decoded, _ = taken(reports.frequencies)
            print(f"| {size:,} | {name} | {told:.2f} s | {told / one:,.0f} | {decoded:.2f} s | all |", flush=True)
        for name, senders, report, estimate in peers(size):
            values = values_of(senders, size).tolist()
            report(values[:2])
            told, reports = taken(lambda r=report, v=values: r(v))
            decoded, _ = taken(lambda e=estimate, r=reports: e(r))
            told *= MILLION / senders
            print(f"| {size:,} | {name} | {told:,.0f} s | {told / one:,.0f} | {decoded:.2f} s | {senders:,}, times "
                  f"{MILLION // senders:,} |", flush=True)  # fmt: skip


Peer = tuple[str, int, Callable[[list[int]], Any], Callable[[Any], Any]]


def peers(size: int) -> Iterator[Peer]:
    """Yield what public libraries have: name, how many senders are asked, who reports, who estimates."""
    try:
        peer = importlib.import_module("pure_ldp.frequency_oracles.hadamard_response")
        server = peer.HadamardResponseServer(1.0, size, index_mapper=int)
        client = peer.HadamardResponseClient(1.0, size, server.get_hash_funcs(), index_mapper=int)

        def estimated(reports: list[Any]) -> Any:
            for one in reports:
                server.aggregate(one)
            return server.estimate_all(range(min(size, 1000)))

        if size < MILLION:  # where it takes longer than a run of benchmarks/all.py waits for
            yield ("pure-ldp, Hadamard, 1,000 values asked for", 10_000,
                   lambda values: [client.privatise(v) for v in values], estimated)  # fmt: skip
    except ImportError:
        print("pure-ldp is not installed: left out")
    try:
        grr = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
        ue = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.UE")
        few = 10_000_000 // size
        yield ("multi-freq-ldpy, randomized response", 10 * few, lambda v: [grr.GRR_Client(x, size, 1.0) for x in v],
               lambda reports: grr.GRR_Aggregator_MI(reports, size, 1.0))  # fmt: skip
        yield ("multi-freq-ldpy, unary", few, lambda v: [ue.UE_Client(x, size, 1.0, True) for x in v],
               lambda reports: ue.UE_Aggregator_MI(reports, 1.0, True))  # fmt: skip
    except ImportError:
        print("multi-freq-ldpy is not installed: left out")


def of_recursive(size: int, epsilon: float, bits: int) -> tuple[float, float]:
    """Return n times the variance of a share by recursive Hadamard response, at a share of 0: on average over values,
    senders with all values alike, and where all senders have values of one block.

    2^(b-1) blocks of values each have a Hadamard matrix; a report is one of its columns, drawn, the block and the sign
    in it of the value, by randomized response of 2^b symbols (Chen, Kairouz, Ozgur, 2020, arXiv:2007.11707).
    """
    symbols = 1 << bits
    p, q = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1), 1 / (math.exp(epsilon) + symbols - 1)
    share = 2 / symbols  # of the values that are in a block
    return (share * (p + q) + (1 - share) * 2 * q) / (p - q) ** 2, (p + q) / (p - q) ** 2


def recursive() -> None:
    """Print the variance of recursive Hadamard response beside that of the protocols."""
    print("| values | epsilon | subset selection | projective | Hadamard | recursive Hadamard | values of one block |")
    print("|---|---|---|---|---|---|---|")
    for size in SIZES:
        for epsilon in (1.0, 2.0, 3.0, 5.0, 8.0):
            others = (make(size, epsilon) for make in (P.subset_selection, P.projective, P.hadamard))
            cells = [f"{protocol.variance(Fraction(1, size)):.4g}" for protocol in others]
            blocks = range(1, (size - 1).bit_length() + 1)
            cells += [f"{one:.4g}" for one in min(of_recursive(size, epsilon, bits) for bits in blocks)]
            print(f"| {size:,} | {epsilon:g} | {' | '.join(cells)} |")


def candidates() -> None:
    """Print processor seconds in which hashed reports are asked for many candidates."""
    protocol = P.local_hashing(None, 2.0)
    print("| reports | candidates | seconds | hashes in a second |")
    print("|---|---|---|---|")
    reports = protocol.report([f"{i}.example" for i in range(100_000)])
    reports.frequencies(["a"])
    for asked in (10_000, 100_000, MILLION):
        seconds, _ = taken(lambda n=asked: reports.frequencies([f"{i}.example" for i in range(n)]))
        print(f"| {len(reports):,} | {asked:,} | {seconds:.1f} | {len(reports) * asked / seconds:.3g} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=1000)
    tables: dict[str, Callable[[int], None]] = {
        "coverage": coverage, "error": lambda runs: error(max(2, runs // 2)), "cost": lambda _: cost(),
        "recursive": lambda _: recursive(), "candidates": lambda _: candidates(),
    }  # fmt: skip
    parser.add_argument("--only", choices=tables)
    asked = parser.parse_args()
    for name, table in tables.items():
        if asked.only in (None, name):
            table(asked.runs)


if __name__ == "__main__":
    main()
