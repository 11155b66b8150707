"""A utility about W by its tangents: an outcome of the linear program for each, which takes any lifts at all.

mu is convex, so that it is the largest of its tangents. Under finitely many tangents the best channel has an outcome
for each, and one linear program over its entries finds it: what would be a column for each vertex of the polytope is a
tangent for each point of the space of W, which has few dimensions. Its multipliers are priced like any others, and the
outcomes that exceed them are where new tangents touch.
"""

from dataclasses import replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import Scoring, solved
from divulge.designing.master.column_generation import Mixture
from divulge.designing.master.restricted_master import Dual, refined
from divulge.designing.polytope.vertices import Outcomes, inside
from divulge.designing.pricing.problem import Oracle, Problem

_ENTRIES = 8_000
"""How many entries a channel has at most."""
_FRESH = 12
"""Tangents that join a round. A heuristic: with more of them fewer rounds, with larger programs."""
_PATIENCE = 4
"""Rounds without progress after which no more follow. A heuristic: bounds fall by jumps."""
_RARE = 1e-9
"""Outcomes of less probability are left out: ten times the solver's tolerance."""


def touched(
    problem: Problem, kinds: np.ndarray, first: Mixture, lifts: np.ndarray, oracle: Oracle[Outcomes], effort: Effort
) -> tuple[Mixture, np.ndarray]:
    """Return (the best convex combination, all lifts seen (n, N)) of tangents that start at the lifts (n, N).

    It ends when the gap is closed, or when neither the mixture nor the bound has moved for a while. The classes of the
    problem are single secrets; an outcome is 0 outside one of the kinds, the columns of a boolean (N, K).
    """
    p, utility = problem.classes.probability, problem.utility
    most = max(4 * _FRESH, _ENTRIES // len(p))
    best, known, stale = first, [lifts], 0
    while stale < _PATIENCE and effort.spend():
        kind = inside(lifts, kinds).argmax(axis=1)
        scores = np.where(kinds[:, kind], utility.slopes(p, lifts.T), -np.inf)
        found = solved(Scoring(scores, problem.limits, p[None, :], p[None, :]), effort)
        if found.dual is None:
            break
        dual = Dual(found.dual.rows, found.dual.capacity)
        channel = np.where(kinds[:, kind], np.maximum(found.channel, 0.0), 0.0)
        trial, used = combination(problem, channel, best.bound, _RARE)
        fresh, excess = oracle.price(dual)
        reached = dual.value(problem.limits.capacity) + excess
        little = 1e-3 * max(best.gap(problem), 0.0)
        moved = reached < best.bound - little or trial.utility(problem) > best.utility(problem) + little
        stale = 0 if moved else stale + 1
        bound, multipliers = (reached, dual) if reached < best.bound else (best.bound, best.dual)
        best = replace(max(best, trial, key=lambda one: one.utility(problem)), bound=bound, dual=multipliers)
        effort.tell(best.utility(problem), bound, len(known))
        if best.settled(problem, effort.tolerance) or not len(fresh):
            break
        told = trial.vertices.lifts(problem.classes)
        known += [told, fresh.rows]
        lifts = np.concatenate([told, _apart(problem, fresh.rows, problem.gains(fresh, dual)), lifts[~used]])[:most]
    return best, np.concatenate(known)


def combination(problem: Problem, channel: np.ndarray, bound: float, rare: float) -> tuple[Mixture, np.ndarray]:
    """Return (the columns of a channel (N, M) as a mixture of single secrets, which of them are not too rare)."""
    p, classes = problem.classes.probability, problem.classes
    weights = p @ channel
    used = weights > rare
    lifts = (channel[:, used] / weights[used]).T
    return Mixture(refined(weights[used], lifts), Outcomes.of(lifts, classes, problem.utility), bound, classes), used


def _apart(problem: Problem, lifts: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Return those of the lifts (n, N) that exceed most what tangents at the ones before them explain."""
    p, utility = problem.classes.probability, problem.utility
    values, chosen = utility.at(p, lifts), []
    while len(chosen) < _FRESH and excess.max() > 0:
        chosen.append(int(excess.argmax()))
        tangent = lifts @ (p * utility.slopes(p, lifts[chosen[-1:]].T)[:, 0])
        excess = np.minimum(excess, values - tangent)
        excess[chosen] = 0.0
    return lifts[chosen]
