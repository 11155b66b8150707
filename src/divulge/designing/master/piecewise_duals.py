"""Duals that bend little: piecewise linear in the probability, with ever more knots.

The multiplier of a secret depends on its probability smoothly, but where few sets fit. With few parameters the master
has few rows and column generation ends after few rounds; each level corrects the best dual of the one before. Any of
these duals bounds every mechanism. Columns found on the way start the search over all duals.
"""

from dataclasses import replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.column_generation import Mixture, master_of, search, secant, start_of
from divulge.designing.polytope.vertices import joined
from divulge.designing.pricing.problem import Oracle, Problem

KNOTS = (3, 9, 33)
_ROUNDS = 12


def with_piecewise_duals(problem: Problem, oracle: Oracle, effort: Effort, found: Mixture) -> Mixture:
    """Return the mixture that there was, with the bound and the columns of duals that bend little."""
    quiet, dual = replace(effort, progress=None, wanted=None), found.dual or secant(problem)[1]
    for knots in KNOTS:
        if knots >= len(problem.classes.size) or effort.late() or found.settled(problem, effort.tolerance):
            break
        master = master_of(problem, dual.classes, hat_functions(problem.classes.probability, knots))
        master.add(start_of(problem, found))
        dual, bound, _ = search(problem, master, oracle, quiet, found.bound, dual, _ROUNDS)
        seen = joined([*([] if found.seen is None else [found.seen]), *master.parts])
        lowered = bound < found.bound
        found = replace(found, bound=bound, seen=seen, dual=dual)
        effort.tell(found.utility(problem), found.bound, 0)
        if not lowered:
            break
    return replace(found, seen=start_of(problem, found))


def hat_functions(p: np.ndarray, knots: int) -> np.ndarray:
    """Return the hat functions at p of knots at quantiles of p, shape (knots or fewer, N)."""
    at = np.unique(np.quantile(p, np.linspace(0, 1, knots)))
    return np.array([np.interp(p, at, hat) for hat in np.eye(len(at))])
