"""Linear scores against their targets, and beside qif and cvxpy, which get all pairs of rows.

python benchmarks/linear.py [quick]
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import divulge as dv

GUARANTEES = (dv.PML(0.5), dv.ALIP(1, 0.5), dv.LDP(1))
TARGETS = {100: 5, 200: 30}


def real(n: int) -> np.ndarray:
    return np.random.default_rng(n).dirichlet(np.ones(n))


def by_qif(p: np.ndarray, epsilon: float) -> float:
    """Return the least mean distance under LDP that qif finds, as its channel has it."""
    import qif

    channel = qif.mechanism.d_privacy.min_loss_given_d(
        p, len(p), lambda x, y: epsilon if x != y else 0.0, lambda x, y: float(abs(x - y))
    )
    distance = np.abs(np.subtract.outer(np.arange(len(p)), np.arange(len(p))))
    return float((p[:, None] * np.asarray(channel) * distance).sum())


def by_cvxpy(p: np.ndarray, epsilon: float) -> float:
    """Return the least mean distance under LDP, every pair of rows written out."""
    import cvxpy as cp

    n = len(p)
    c = cp.Variable((n, n), nonneg=True)
    rules = [cp.sum(c, axis=1) == 1, *(c[x] <= np.exp(epsilon) * c[z] for x in range(n) for z in range(n) if x != z)]
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(p[:, None] * distance, c))), rules)
    problem.solve(solver=cp.HIGHS)
    return float(problem.value)


def timed(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    found = function(*arguments, **options)
    return found, time.perf_counter() - started


def main() -> None:
    quick = "quick" in sys.argv
    dv.design(real(5), dv.PML(0.5), utility="hamming")
    print(f"{'scores':28}{'guarantee':16}{'utility':>14}{'gap':>9}{'seconds':>9}{'allowed':>9}")
    for n in (100,) if quick else (100, 200):
        scores = {"hamming": "hamming", "absolute-distance": "absolute-distance",
                  "random": np.random.default_rng(1).random((n, n))}  # fmt: skip
        for name, utility in scores.items():
            for guarantee in GUARANTEES:
                found, seconds = timed(dv.design, real(n), guarantee, utility=utility)
                missed = "" if seconds <= TARGETS[n] else "  missed"
                print(f"{name + f' N={n}':28}{guarantee!s:16}{found.utility:14.8f}{found.relative_gap:9.1e}"
                      f"{seconds:9.2f}{TARGETS[n]:9}{missed}", flush=True)  # fmt: skip
    print(f"\n{'mean distance, ldp=1':28}{'divulge':>12}{'peer':>12}{'seconds':>10}{'peer':>10}{'ratio':>8}")
    for n in (10, 20) if quick else (10, 20, 30):
        ours, fast = timed(dv.design, real(n), dv.LDP(1), utility="absolute-distance")
        for name, peer in (("qif", by_qif), ("cvxpy", by_cvxpy)):
            theirs, slow = timed(peer, real(n), 1.0)
            print(f"{name + f' N={n}':28}{ours.utility:12.8f}{theirs:12.8f}{fast:10.3f}{slow:10.3f}{slow / fast:8.0f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
