"""Leakage to one adversary and refinement, side by side with qif, in one run.

    python benchmarks/adversaries.py [REPEATS]

Prints, for each task, the median CPU time of REPEATS alternating runs of either library on one thread, the ratio (below
1: divulge is faster), and the difference of the two answers. Both start from the same raw arrays, except where the task
says "built": there the channel and the gain have been made, and checked, before.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import qif

import divulge as dv


@dataclass(frozen=True)
class Task:
    """One question put to both libraries; each answers with a number."""

    name: str
    mine: Callable[[], Any]
    theirs: Callable[[], Any]


def channel(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Return a random channel of shape (n, m)."""
    return rng.dirichlet(np.ones(m), size=n)


def leakage_task(rng: np.random.Generator, actions: int, n: int, m: int) -> Task:
    """Return average-case multiplicative leakage for a dense gain matrix, from raw arrays on both sides."""
    p, c, g = rng.dirichlet(np.ones(n)), channel(rng, n, m), rng.random((actions, n))
    return Task(
        f"average-case leakage, {actions} actions, {n} x {m}",
        lambda: dv.leakage(dv.Joint(p, c), dv.Gain(g)),
        lambda: qif.measure.g_vuln.mult_leakage(g, p, c),
    )


def built_task(rng: np.random.Generator, actions: int, n: int, m: int) -> Task:
    """Return the same for a prior, a channel and a gain that are built, as when several adversaries are tried."""
    p, c, g = rng.dirichlet(np.ones(n)), channel(rng, n, m), rng.random((actions, n))
    prior, mechanism, gain = dv.Prior(p), dv.Channel(c), dv.Gain(g)
    return Task(
        f"the same, built, {actions} actions, {n} x {m}",
        lambda: dv.leakage(dv.Joint(prior, mechanism), gain),
        lambda: qif.measure.g_vuln.mult_leakage(g, p, c),
    )


def guess_task(rng: np.random.Generator, n: int, m: int) -> Task:
    """Return the leakage to one guess."""
    p, c = rng.dirichlet(np.ones(n)), channel(rng, n, m)
    return Task(
        f"one guess, {n} x {m}",
        lambda: dv.leakage(dv.Joint(p, c), dv.Gain.identity(n)),
        lambda: qif.measure.bayes_vuln.mult_leakage(p, c),
    )


def guesswork_task(rng: np.random.Generator, n: int, m: int) -> Task:
    """Return the leakage to a guesser who goes on until he is right."""
    p, c = rng.dirichlet(np.ones(n)), channel(rng, n, m)
    return Task(
        f"guesswork, {n} x {m}",
        lambda: dv.leakage(dv.Joint(p, c), dv.Cost.guesswork(n)),
        lambda: qif.measure.guessing.mult_leakage(p, c),
    )


def refinement_task(rng: np.random.Generator, n: int, *, holds: bool) -> Task:
    """Return whether one channel is a post-processing of another."""
    a = channel(rng, n, n)
    b = a @ channel(rng, n, n) if holds else channel(rng, n, n)
    return Task(
        f"refinement, {n} x {n}, {'holds' if holds else 'fails'}",
        lambda: float(dv.adversaries.refinement(a, b).holds),
        lambda: float(bool(qif.refinement.refined_by(a, b))),
    )


def timed(question: Callable[[], Any]) -> tuple[float, float]:
    """Return (seconds, answer)."""
    start = time.process_time()
    answer = question()
    return time.process_time() - start, float(answer)


def main(repeats: int) -> None:
    """Run every task and print the table."""
    rng = np.random.default_rng(2024)
    tasks = [
        leakage_task(rng, 1000, 1000, 1000),
        built_task(rng, 1000, 1000, 1000),
        leakage_task(rng, 100, 100, 100),
        guess_task(rng, 1000, 1000),
        guesswork_task(rng, 1000, 1000),
        refinement_task(rng, 12, holds=True),
        refinement_task(rng, 12, holds=False),
    ]
    print(f"{'task':48} {'divulge':>10} {'qif':>10} {'ratio':>7} {'difference':>11}")
    for task in tasks:
        runs = [(timed(task.mine), timed(task.theirs)) for _ in range(repeats + 1)][1:]
        mine, theirs = (statistics.median(run[side][0] for run in runs) for side in (0, 1))
        difference = abs(runs[0][0][1] - runs[0][1][1])
        print(f"{task.name:48} {mine * 1e3:8.2f}ms {theirs * 1e3:8.2f}ms {mine / theirs:7.2f} {difference:11.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
