"""Many secrets that hardly ever occur: as one secret they keep all but a little of the utility.

A mechanism for the prior in which the lightest secrets T are one is a mechanism for all. The other way round, of any
mechanism the mean lifts of T keep the same limits, and it loses at most sum over T of P_x E_y f(v_xy), as f is convex
and f(1) = 0: no more than the chords of T.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.column_generation import Mixture
from divulge.designing.polytope.limits import Classes
from divulge.designing.pricing.problem import Problem

LIGHT = 1e-9
"""The share of the largest utility that the secrets that are taken together may be worth."""


def aggregated(problem: Problem) -> tuple[Problem, float]:
    """Return (the problem with the lightest single secrets as one, if two are light; what they are worth at most)."""
    classes, limits = problem.classes, problem.limits
    worth = np.maximum(classes.probability * problem.chords[0], 0.0)
    order = np.argsort(classes.probability, kind="stable")
    total = np.cumsum(worth[order])
    light = int(np.searchsorted(total, LIGHT * problem.bound))
    if light < 2:
        return problem, 0.0
    tail, rest = order[:light], np.sort(order[light:])
    p = np.append(classes.probability[rest], classes.probability[tail].sum())
    together = np.concatenate([classes.members[c] for c in tail.tolist()])
    members = [*(classes.members[c] for c in rest.tolist()), together]
    part = Problem.of(Classes.apart(p, members), problem.utility, limits.tightened(float(p.min()), len(p)))
    return part, float(total[light - 1]) * (1 + 1e-12)


def without_tail(
    problem: Problem, effort: Effort, solve: Callable[[Problem, Effort], Mixture | None]
) -> Mixture | None:
    """Return the mixture that a solver finds with the lightest of single secrets as one, and a bound for all."""
    part, worth = aggregated(problem)
    found = solve(part, replace(effort, missing=worth))
    if found is None or part is problem:
        return found
    return replace(found, bound=min(found.bound + worth, problem.bound))
