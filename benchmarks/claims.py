"""How often claims about any set of outcomes are refuted, true and false ones: `python benchmarks/claims.py [RUNS]`.

Rows are a fair coin and what a mechanism says of it. Of each mechanism a claim is tested that is just true, and one
that is too small by half; the share of runs that refute the first may be 5 % at most. Beside the audit, which chooses
an event on one half of the rows and tests it on the other, stands the way of a program that tests the event on the rows
that chose it.
"""

import math
import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from divulge.auditing import chosen
from divulge.guarantees import parse

ROWS = 2000
RISK = 0.05

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def gaussian_delta(epsilon: float) -> float:
    """Return the delta of a Gaussian that is moved by one standard deviation."""
    return float(norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon))


def respond(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Return answers of randomized response with 5 values and epsilon 1, as no number."""
    kept = rng.random(len(x)) < math.e / (math.e + 4)
    return np.char.add("y", np.where(kept, x, (x + rng.integers(1, 5, len(x))) % 5).astype(str))


CASES: tuple[tuple[str, Draw, tuple[tuple[str, str], ...]], ...] = (
    ("Laplace noise, moved by its scale", lambda rng, x: rng.laplace(x), (
        ("dp=1", "dp=0.5"), (f"adp=0.5:{-math.expm1(-0.25)!r}", f"adp=0.25:{-math.expm1(-0.25)!r}"),
        (f"tv={-math.expm1(-0.5)!r}", f"tv={-math.expm1(-0.5) / 2!r}"),
        (f"kl={math.exp(-1)!r}", f"kl={math.exp(-1) / 2!r}"))),
    ("Gaussian noise, moved by sigma", lambda rng, x: rng.normal(x), (
        ("gdp=1", "gdp=0.5"), (f"adp=1:{gaussian_delta(1.0)!r}", f"adp=0.5:{gaussian_delta(1.0)!r}"),
        ("zcdp=0.5", "zcdp=0.25"), ("rdp=2:1", "rdp=2:0.5"))),
    ("randomized response, 5 values, epsilon 1", respond, (("dp=1", "dp=0.5"),)),
    ("numbers that tell nothing", lambda rng, x: rng.normal(size=len(x)), (("dp=0", ""), ("tv=0", ""), ("gdp=0", ""))),
)  # fmt: skip
"""What ran, how it draws, and of each kind of claim the least that is true, and half of it."""


def table(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, list[object]]:
    """Return counts of secrets and outcomes, and the outcomes."""
    values, column = np.unique(y, return_inverse=True)
    counts = np.zeros((2, len(values)), dtype=np.int64)
    np.add.at(counts, (x, column.ravel()), 1)
    return counts, values.tolist()


def refuted(counts: np.ndarray, outcomes: list[object], claim: str) -> tuple[bool, float]:
    """Return whether the audit refutes a claim, and the level that it shows."""
    found = chosen.chosen_event(counts, outcomes, parse(claim), RISK)
    return (False, 0.0) if found is None else (found.refuted, found.level)


def on_the_same_rows(counts: np.ndarray, outcomes: list[object], claim: str) -> tuple[bool, float]:
    """Return the same if the rows that choose the event also test it."""
    apart = chosen._parts
    chosen._parts = lambda given: (given, given, given)
    try:
        return refuted(counts, outcomes, claim)
    finally:
        chosen._parts = apart


def main() -> None:
    """Print the table in Markdown."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(
        f"| {runs:,} runs of {ROWS:,} rows | just true | refuted | the same rows | half of it | refuted | mean level |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, draw, claims in CASES:
        for true, half in claims:
            wrong, right, alike, levels = 0, 0, 0, 0.0
            for run in range(runs):
                rng = np.random.default_rng(run)
                x = rng.integers(0, 2, ROWS)
                counts, outcomes = table(x, draw(rng, x))
                wrong += refuted(counts, outcomes, true)[0]
                alike += on_the_same_rows(counts, outcomes, true)[0]
                if half:
                    found, level = refuted(counts, outcomes, half)
                    right, levels = right + found, levels + level
            far = f"{short(half)} | {right / runs:.3f} | {levels / runs:.3f}" if half else " | | "
            print(f"| {name} | {short(true)} | {wrong / runs:.3f} | {alike / runs:.3f} | {far} |", flush=True)


def short(claim: str) -> str:
    """Return a claim with three digits of each number."""
    kind, _, values = claim.partition("=")
    return f"{kind}={':'.join(f'{float(value):.3g}' for value in values.split(':'))}"


if __name__ == "__main__":
    main()
