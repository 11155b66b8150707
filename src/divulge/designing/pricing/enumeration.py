"""All vertices, listed once: exact prices by one product, and a bound that keeps its digits beside rare secrets.

A vertex that holds a secret of probability P high has lifts up to 1 / P, and so many digits less of its excess are
known. But its weight is at most P: where such vertices exceed a dual, raising the multiplier of that secret costs
little.
"""

from dataclasses import dataclass

import numpy as np

from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Box, Vertices, box_vertices, inside, joined, pair_vertices
from divulge.designing.pricing.problem import Problem


@dataclass(frozen=True, eq=False)
class Cover:
    """Cells of vertices with the same largest lift (of a class), up to a factor of 2."""

    order: np.ndarray
    starts: np.ndarray
    of: np.ndarray
    top: np.ndarray

    @classmethod
    def over(cls, lifts: np.ndarray) -> "Cover":
        """Return the cells of lift vectors of shape (n, C), n > 0."""
        of, top = lifts.argmax(axis=1), lifts.max(axis=1)
        octave = np.frexp(top)[1]
        order = np.lexsort((octave, of))
        edges = (np.diff(of[order]) != 0) | (np.diff(octave[order]) != 0)
        starts = np.append(0, np.flatnonzero(edges) + 1)
        return cls(order, starts, of[order[starts]], np.minimum.reduceat(top[order], starts))

    def cost(self, excess: np.ndarray) -> float:
        """Return how much a dual must rise in value until no vertex exceeds it, at most.

        Raised by c P it loses c of every excess and costs c; what is left of vertices whose lift of a secret is at
        least v is covered by raising the multiplier of that secret by the excess over v.
        """
        worst = np.maximum.reduceat(excess[self.order], self.starts)
        levels = np.unique(worst)[:, None]
        needs = np.maximum(worst - levels, 0.0) / self.top
        first = np.flatnonzero(np.diff(self.of, prepend=-1))
        return float((levels[:, 0] + np.maximum.reduceat(needs, first, axis=1).sum(axis=1)).min())


class Enumeration:
    """Prices all vertices (up to permutations of equals), or those inside one of the kinds; each is listed once."""

    def __init__(self, problem: Problem, kinds: np.ndarray | None = None) -> None:
        vertices = every_vertex(problem)
        if kinds is not None:
            vertices = vertices.take(np.flatnonzero(inside(vertices.lifts(problem.classes), kinds).any(axis=1)))
        self.problem, self.vertices = problem, vertices
        self.lifts, self.peaks = vertices.lifts(problem.classes), vertices.peaks()
        self.values = vertices.utility(problem.classes, problem.utility)
        self.above = self.values + vertices.doubt(problem.classes, problem.utility, problem.unit)
        self.off = problem.unit * vertices.loose(problem.classes) / problem.classes.size[vertices.between]
        self.cover = Cover.over(self.lifts)

    @classmethod
    def fits(cls, problem: Problem) -> bool:
        """Whether the sets are few: tiny priors, and somewhat larger ones where a capacity rules other ways out."""
        most = 14 if problem.limits.capacity == np.inf else 17
        return bool(np.log2(problem.classes.size + 1.0).sum() <= most)

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the vertices that gain most, as they are and for their largest lift; and a bound for all mixtures."""
        paid, size = self.lifts @ dual.classes + dual.capacity * self.peaks, np.abs(dual.classes)
        average = size.sum() + (dual.capacity * self.problem.limits.capacity if dual.capacity else 0.0)
        cost = self.cover.cost(self.above - paid + self.off * size[self.vertices.between])
        gaining = most_gaining(self.values - paid, self.peaks, self.problem.secrets)
        return self.vertices.take(gaining), cost + self.problem.unit * float(average)


def most_gaining(excess: np.ndarray, peaks: np.ndarray, size: int) -> np.ndarray:
    """Return the positions of those that gain something, most as they are, and most for their largest lift."""
    gaining = np.flatnonzero(excess > 0)
    many = min(2 * size + 4, len(gaining))
    orders = (np.argpartition(-value[gaining], many - 1)[:many] for value in (excess, excess / peaks) if many)
    return gaining[np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *orders]))]


def every_vertex(problem: Problem) -> Vertices:
    """Return all vertices, up to permutations of equal secrets."""
    classes = problem.classes
    grids = np.indices(tuple(int(m) + 1 for m in classes.size), dtype=np.int16)
    counts = grids.reshape(len(classes.size), -1).T.astype(np.int64)
    mass = counts @ classes.probability
    parts = [_of_box(problem, box, counts, mass) for box in problem.shape.boxes]
    for pair in problem.shape.pairs:
        within = (mass >= pair.least - 1e-15) & (mass <= pair.most + 1e-15) & (mass > 0) & (mass < 1 - 1e-15)
        parts.append(pair_vertices(pair, classes, counts[within]))
    return joined(parts)


def _of_box(problem: Problem, box: Box, counts: np.ndarray, mass: np.ndarray) -> Vertices:
    left, rows, between = box.t - mass, [], []
    for c, (p, m) in enumerate(zip(problem.classes.probability, problem.classes.size, strict=True)):
        some = np.flatnonzero((left >= -1e-15 * box.t) & (left <= p + 1e-15 * box.t) & (counts[:, c] < m))
        rows.append(some)
        between.append(np.full(len(some), c))
    return box_vertices(box, problem.classes, counts[np.concatenate(rows)], np.concatenate(between))
