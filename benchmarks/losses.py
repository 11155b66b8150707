"""Privacy loss beside dp-accounting: delta(epsilon) of all ordered pairs of a channel, and of named mechanisms.

Run `python benchmarks/losses.py`. Both sides get the same rows in one run; the ratio is their time over ours.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as peer
from timing import timed

import divulge as dv


def random_rows(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Return n random distributions over m outcomes."""
    return np.random.default_rng(seed).dirichlet(np.full(m, 5.0), n)


def theirs_all_pairs(rows: np.ndarray, epsilon: float, interval: float = 1e-3) -> float:
    """Return the largest delta over all ordered pairs, one privacy-loss distribution for each."""
    logs = [dict(enumerate(np.log(row).tolist())) for row in rows]
    return max(
        peer.from_two_probability_mass_functions(
            logs[j], logs[i], value_discretization_interval=interval, symmetric=False
        ).get_delta_for_epsilon(epsilon)
        for i, j in permutations(range(len(rows)), 2)
    )


def main() -> None:
    """Print the table."""
    print(f"{'question':52} {'ours [s]':>10} {'peer [s]':>10} {'ratio':>9} {'ours':>14} {'peer':>14}")
    for n, m, epsilon in [(10, 200, 0.5), (50, 200, 0.5), (50, 200, 1.0)]:
        rows = random_rows(n, m)
        channel = dv.Channel(rows)
        ours, value = timed(lambda c=channel, e=epsilon: float(dv.dp.delta_from_epsilon(c, e)), 5)
        theirs, other = timed(lambda r=rows, e=epsilon: theirs_all_pairs(r, e), 1)
        row(f"all pairs of a {n} x {m} channel, delta({epsilon})", ours, theirs, value, other)
    named: list[tuple[str, Any, Callable[[], Any]]] = [
        ("Gaussian(sigma 1)", dv.dp.GaussianMechanism(1.0), lambda: peer.from_gaussian_mechanism(1.0)),
        ("Laplace(1)", dv.dp.LaplaceMechanism(1.0), lambda: peer.from_laplace_mechanism(1.0)),
        ("discrete Laplace(1)", dv.dp.DiscreteLaplaceMechanism(1.0), lambda: peer.from_discrete_laplace_mechanism(1.0)),
        (
            "discrete Gaussian(2)",
            dv.dp.DiscreteGaussianMechanism(2.0),
            lambda: peer.from_discrete_gaussian_mechanism(2.0),
        ),
    ]
    for name, mechanism, build in named:
        ours, value = timed(lambda m=mechanism: float(dv.dp.delta_from_epsilon(m, 0.5)), 5)
        theirs, other = timed(lambda b=build: b().get_delta_for_epsilon(0.5), 3)
        row(f"{name}, delta(0.5)", ours, theirs, value, other)


def row(name: str, ours: float, theirs: float, value: float, other: float) -> None:
    """Print one line."""
    print(f"{name:52} {ours:10.6f} {theirs:10.4f} {theirs / ours:9.0f} {value:14.10f} {other:14.10f}")


if __name__ == "__main__":
    main()
