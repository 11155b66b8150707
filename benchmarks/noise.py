"""Leakage of noise beside plain quadrature: the same numbers from scipy.integrate.quad and from mpmath, in one run.

Run `python benchmarks/noise.py`. The peers evaluate the definition; the ratio is their time over ours.
"""

import math
from collections.abc import Callable
from itertools import product

import mpmath as mp
import numpy as np
from scipy import integrate, stats
from timing import timed

import divulge as dv

VALUES, WEIGHTS, SCALE = (0.0, 0.5, 1.0), (0.495, 0.01, 0.495), 0.3


def mechanism(records: int = 1) -> dv.NoiseMechanism:
    """Return Gaussian noise on three values."""
    text = "values(" + ", ".join(f"{v}:{p}" for v, p in zip(VALUES, WEIGHTS, strict=True)) + ")"
    return dv.NoiseMechanism("gaussian", text, scale=SCALE, records=records)


def mean_by_quad() -> float:
    """Return E pml(Y) by scipy.integrate.quad."""

    def f(y: float) -> float:
        given = stats.norm.pdf(y - np.array(VALUES), scale=SCALE)
        q = float(given @ np.array(WEIGHTS))
        return q * math.log(given.max() / q) if q > 0 else 0.0

    return integrate.quad(f, -4, 5, points=(0.0, 0.25, 0.5, 0.75, 1.0), limit=200)[0]


def mean_by_mpmath() -> float:
    """Return E pml(Y) by mpmath.quad in 20 digits."""

    def f(y: mp.mpf) -> mp.mpf:
        given = [mp.npdf(y, v, SCALE) for v in VALUES]
        q = mp.fsum(p * g for p, g in zip(WEIGHTS, given, strict=True))
        return q * mp.log(max(given) / q)

    with mp.workdps(20):
        return float(mp.quad(f, [-4, -1, 0, 0.25, 0.5, 0.75, 1, 2, 5]))


def outcome_by_quad(ys: np.ndarray) -> float:
    """Return pml at the last of the outcomes, each by one integral: Laplace noise on beta(2, 5)."""
    x = stats.beta(2, 5)
    logs = [
        math.log(
            float(stats.laplace.pdf(y - min(max(y, 0), 1), scale=SCALE))
            / integrate.quad(lambda v, y=y: x.pdf(v) * stats.laplace.pdf(y - v, scale=SCALE), 0, 1)[0]
        )
        for y in ys.tolist()
    ]
    return logs[-1]


def mean_of_records_by_enumeration(y: np.ndarray, records: int) -> float:
    """Return the largest pml at y for a mean of records, by all combinations of values."""
    means = np.array([sum(t) / records for t in product(VALUES, repeat=records)])
    weights = np.array([math.prod(t) for t in product(WEIGHTS, repeat=records)])
    first = np.array([t[0] for t in product(VALUES, repeat=records)])
    f = stats.norm.pdf(y[:, None] - means, scale=SCALE) * weights
    given = np.stack([f[:, first == v].sum(axis=1) / p for v, p in zip(VALUES, WEIGHTS, strict=True)])
    return float(np.log(given.max(axis=0) / f.sum(axis=1)).max())


def main() -> None:
    """Print the table."""
    ys, grid = np.linspace(-1, 2, 200), np.linspace(-2, 3, 100)
    beta = dv.NoiseMechanism("laplace", "beta(2, 5)", scale=SCALE)
    cases: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
        ("E pml, Gaussian on 3 values, beside quad", lambda: mechanism().mean_pml().value, mean_by_quad),
        ("E pml, Gaussian on 3 values, beside mpmath", lambda: mechanism().mean_pml().value, mean_by_mpmath),
        ("pml of 200 outcomes, Laplace on beta(2, 5)", lambda: float(beta.pml(ys)[-1]), lambda: outcome_by_quad(ys)),
        (
            "pml of 100 outcomes, mean of 8 records",
            lambda: float(np.max(mechanism(8).pml(grid))),
            lambda: mean_of_records_by_enumeration(grid, 8),
        ),
    ]
    print(f"{'question':48} {'ours [s]':>10} {'peer [s]':>10} {'ratio':>8} {'ours':>15} {'peer':>15}")
    for name, ours, theirs in cases:
        (a, value), (b, other) = timed(ours, 3), timed(theirs, 1)
        print(f"{name:48} {a:10.5f} {b:10.4f} {b / a:8.1f} {value:15.12f} {other:15.12f}")
    seconds, found = timed(lambda: mechanism(1000).pml_supremum, 1)
    print(f"{'sup pml, mean of 1000 records (no peer)':48} {seconds:10.5f}   [{found.lower:.12f}, {found.upper:.12f}]")


if __name__ == "__main__":
    main()
