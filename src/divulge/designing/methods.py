"""The ways of solving a design, in the order in which they are tried; each can be asked for by name."""

from collections.abc import Callable
from dataclasses import dataclass

from divulge.designing import closed
from divulge.designing.blending import blended
from divulge.designing.counting import Counting
from divulge.designing.generation import Effort, Mixture, generate
from divulge.designing.gridded import Gridded, Together
from divulge.designing.nearby import Nearby, single
from divulge.designing.pricing import Exhaustive, Problem

GRIDS = ((3e7, 1e-6), (2.4e8, 1e-5))
"""(additions a price may cost, relative gap at which that grid is not worth it)."""


@dataclass(frozen=True)
class Method:
    """A name, what it is, and `solve(problem, effort)`: a mixture with its bound, or None where it does not apply."""

    name: str
    about: str
    solve: Callable[[Problem, Effort], Mixture | None]


def _closed(problem: Problem, effort: Effort) -> Mixture | None:
    return next((found for form in closed.FORMS if (found := form(problem)) is not None), None)


def _enumerated(problem: Problem, effort: Effort) -> Mixture | None:
    return generate(problem, Exhaustive(problem), effort) if Exhaustive.fits(problem) else None


def _counted(problem: Problem, effort: Effort) -> Mixture | None:
    return generate(problem, Counting(problem, effort), effort) if Counting.fits(problem.classes) else None


def _searched(problem: Problem, effort: Effort) -> Mixture | None:
    apart = Problem.of(single(problem.classes), problem.utility, problem.limits)
    blend = blended(apart, effort)
    if blend is not None and blend.settled(apart, GRIDS[0][1]):
        return blend
    near = Nearby(apart, effort)
    found = generate(apart, near, effort)
    found = found if blend is None else blend.or_better(found, apart)
    for work, enough in GRIDS:
        if effort.late() or found.settled(apart, enough):
            break
        both = Together(near, Gridded(apart, work, effort))
        found = found.or_better(generate(apart, both, effort, found.seen, found.bound), apart)
    return found


METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        Method("closed-form", "a formula proved optimal for every sub-convex utility", _closed),
        Method("counting", "column generation, priced by subset sums of the counts", _counted),
        Method("enumeration", "column generation over all vertices, listed once", _enumerated),
        Method("column-generation", "column generation over sets whose mass nearly fits", _searched),
    )
}
"""Name -> method, in the order of the dispatcher."""
