"""Cones of likelihoods: which directions matter for the worst outputs.

What has been put out so far enters everything later as a vector of likelihoods that counts up to a factor, and every
leakage is a ratio of two linear functions of it: it is greatest at an extreme ray of the cone of all vectors. A `Cone`
keeps rays and the outputs that lead to each. What is left out lies in the cone of those that stay, decided in whole
numbers where the model is exact; else, or beyond `MOST` rays, within `slack` of it: a ratio at what was left out is at
most e^slack times the ratio at what stays, as nonnegative maps never enlarge Hilbert's distance (Birkhoff 1957).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from divulge.networks.ranking import logs

MOST = 400
"""Rays that are kept; five states and ten steps needed 77. Beyond, rays that nearly agree are taken for one."""

_FLAT = 1e-10
"""Directions shorter than this are not looked at for a hull; a point off the hull by as much fails its check."""

_DIMENSIONS = 6
"""The hull of some hundred points in more dimensions takes longer than all else."""

_ULP = 2.0**-52
"""A sum of n products of nonnegative doubles is off by at most n + 1 times this, relative to itself."""

_FAINT = 1e-290
"""Doubles below lose digits soon, and then are 0."""

_LOGS = 4096
"""Differences of four logarithms of doubles, which are at most 745, are off by fewer units of 1 in the last place."""

_NEAR = 1e-12
"""In doubles, what lies within this Hilbert distance of the cone counts as inside; the distance is added to `slack`."""


@dataclass(frozen=True)
class Cone:
    """Rays of a cone, one a row, each with the outputs that lead to it, and what was left out.

    rays : list of rows; whole numbers without common divisor where the model is exact, else doubles that sum to 1
    outputs : list of pairs (outputs before, the last one), () for none: rays share what they have in common
    slack : how much larger the logarithm of a ratio may be at what was left out, in nats; 0 when nothing was
    """

    rays: list[tuple[Any, ...]]
    outputs: list[tuple[Any, ...]]
    slack: float = 0.0


def grown(cone: Cone, maps: Iterable[tuple[Any, Any]], look: Callable[[], None]) -> Cone:
    """Return the cone of all `ray @ matrix` for pairs (output, matrix) of nonnegative maps; an output stands last.

    `look` is called in every round, and raises once the time is up.
    """
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    doubles, lost = isinstance(cone.rays[0][0], float), False
    for output, matrix in maps:
        columns = [[(i, v) for i, v in enumerate(column) if v] for column in zip(*matrix, strict=True)]
        for ray, before in zip(cone.rays, cone.outputs, strict=True):
            look()
            image = primitive([sum(ray[i] * v for i, v in column if ray[i]) for column in columns])
            lost = lost or (doubles and _underflows(image, ray, columns))
            if image is not None and image not in found:
                found[image] = (before, output)
    rounding = math.inf if lost else 2 * _ULP * (len(cone.rays[0]) + 2) if doubles else 0.0
    kept = hull(Cone(list(found), list(found.values()), cone.slack + rounding))
    return kept if len(kept.rays) <= MOST else thinned(kept, MOST, look)


def _underflows(
    image: tuple[float, ...] | None, ray: Sequence[float], columns: Sequence[Sequence[tuple[int, float]]]
) -> bool:
    """Say whether an entry of an image is so small that doubles do not hold its digits, or that they made it 0."""
    small = [(v, column) for v, column in zip(image or [0.0] * len(columns), columns, strict=True) if v < _FAINT]
    return any(v > 0 or any(ray[i] for i, _ in column) for v, column in small)


def in_order(outputs: tuple[Any, ...]) -> list[Any]:
    """Return outputs as a list, the first one first, from pairs (outputs before, the last one).

    >>> in_order((((), 0), 1))
    [0, 1]
    """
    out: list[Any] = []
    while outputs:
        outputs, last = outputs
        out.append(last)
    return out[::-1]


def primitive(ray: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return a ray as whole numbers without common divisor, or as doubles that sum to 1; None for 0."""
    if any(isinstance(v, float) for v in ray):
        total = float(sum(ray))
        return tuple(float(v) / total for v in ray) if total > 0 else None
    common = gcd(*ray)
    return tuple(v // common for v in ray) if common else None


def whole(matrix: Any) -> list[list[Any]]:
    """Return a matrix of fractions multiplied by its common denominator; one of doubles as it is."""
    rows = [list(row) for row in matrix]
    if any(isinstance(v, float) for row in rows for v in row):
        return [[float(v) for v in row] for row in rows]
    scale = math.lcm(*(Fraction(v).denominator for row in rows for v in row))
    return [[int(v * scale) for v in row] for row in rows]


def hull(cone: Cone) -> Cone:
    """Return the cone of the extreme rays, with the slack of what lies near the hull and not inside."""
    if len(cone.rays) <= 2:
        return cone
    points = shares(cone.rays)
    corners, inside = _corners(points)
    keep, slack = set(corners), 0.0
    for i, basis in inside:
        near = _distance(cone.rays[i], [cone.rays[k] for k in basis])
        if near > _NEAR:
            keep.add(i)
        else:
            slack = max(slack, near)
    order = sorted(keep)
    return Cone([cone.rays[i] for i in order], [cone.outputs[i] for i in order], cone.slack + slack)


def shares(rays: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return rays as doubles that sum to 1, one a row."""
    if rays and isinstance(rays[0][0], float):
        return np.array(rays)
    return np.array([[float(Fraction(v, total)) for v in ray] for ray in rays for total in [sum(ray)]])


def _corners(points: np.ndarray) -> tuple[list[int], list[tuple[int, list[int]]]]:
    """Return corners of the hull of points, and of each other point those between which it lies.

    The points are seen from within their flat; in the plane of one line the corners are its ends. Inside a hull a point
    lies between the corner 0 and the facet that the ray from there through it leaves by.
    """
    everything = list(range(len(points)))
    centered = points - points.mean(axis=0)
    _, lengths, axes = np.linalg.svd(centered, full_matrices=False)
    flat = int((lengths > _FLAT * max(1.0, lengths[0])).sum())
    if flat == 0:
        return [0], [(i, [0]) for i in everything[1:]]
    seen = centered @ axes[:flat].T
    if flat == 1:
        ends = [int(seen[:, 0].argmin()), int(seen[:, 0].argmax())]
        return ends, [(i, ends) for i in everything if i not in ends]
    if flat > _DIMENSIONS or len(points) <= flat + 1:
        return everything, []
    body = _polygon(seen) if flat == 2 else _polytope(seen)
    if body is None:
        return everything, []
    corners, edges, normals, offsets = body
    others = np.setdiff1d(everything, corners)
    start = seen[corners[0]]
    height = -(normals @ start + offsets)  # of the first corner above each facet
    with np.errstate(divide="ignore", invalid="ignore"):
        times = height / ((seen[others] - start) @ normals.T)
    times[~(times > 0) | (height <= 1e-13)] = np.inf
    facets = edges[times.argmin(axis=1)]
    return corners, [(int(i), [corners[0], *facet.tolist()]) for i, facet in zip(others, facets, strict=True)]


_Body = tuple[list[int], np.ndarray, np.ndarray, np.ndarray]
"""Corners; the corners of each facet (F, D); normals out of them (F, D) and offsets (F,): n x + b <= 0 inside."""


def _polytope(points: np.ndarray) -> _Body | None:
    """Return the hull of points (R, D); None where they are too flat for it."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        body = ConvexHull(points)
    except QhullError:
        return None
    return body.vertices.tolist(), body.simplices, body.equations[:, :-1], body.equations[:, -1]


def _polygon(points: np.ndarray) -> _Body | None:
    """Return the same in the plane by Andrew's monotone chain (1979), for which nothing need be imported.

    Points within rounding of an edge are no corners.
    """
    order, near = np.lexsort(points.T[::-1]).tolist(), 1e-14 * float(np.abs(points).max()) ** 2
    at = points.tolist()
    corners: list[int] = []
    for way in (order, order[::-1]):
        chain: list[int] = []
        for i in way:
            while len(chain) > 1 and _turn(at[chain[-2]], at[chain[-1]], at[i]) <= near:
                chain.pop()
            chain.append(i)
        corners += chain[:-1]
    if len(corners) < 3:
        return None
    edges = np.column_stack([corners, np.roll(corners, -1)])
    along = points[edges[:, 1]] - points[edges[:, 0]]
    normals = np.column_stack([along[:, 1], -along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
    return corners, edges, normals, -(normals * points[edges[:, 0]]).sum(axis=1)


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Return twice the area of a triangle, positive where it turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _distance(ray: tuple[Any, ...], basis: list[tuple[Any, ...]]) -> float:
    """Return how far a ray is from the cone of a basis by Hilbert's distance, at most; 0 only where it is inside."""
    if isinstance(ray[0], float):
        weights = np.linalg.lstsq(np.array(basis).T, np.array(ray), rcond=None)[0].clip(0.0)
        return hilbert(np.array(ray), weights @ np.array(basis))
    return 0.0 if _inside(ray, basis) else math.inf


def _inside(ray: tuple[int, ...], basis: list[tuple[int, ...]]) -> bool:
    """Say, in whole numbers, whether a ray is a nonnegative combination of a basis, where that has one solution."""
    import flint

    rows: Any = flint.fmpz_mat(len(basis), len(ray), [v for row in basis for v in row])
    point = flint.fmpz_mat(1, len(ray), list(ray))
    square = len(basis) == len(ray)
    system = rows.transpose() if square else rows * rows.transpose()
    try:
        weights = system.solve((point if square else point * rows.transpose()).transpose())
    except ZeroDivisionError:
        return False
    if not all(v >= 0 for v in weights.entries()):
        return False
    return square or flint.fmpq_mat(rows.transpose()) * weights == flint.fmpq_mat(point.transpose())


def hilbert(first: np.ndarray, second: np.ndarray) -> float:
    """Return log of the largest ratio of components over the least: 0 for the same direction; infinite across zeros."""
    if ((first > 0) != (second > 0)).any():
        return math.inf
    here = first > 0
    gaps = np.log(first[here]) - np.log(second[here])
    return float(gaps.max() - gaps.min()) + _LOGS * _ULP


def thinned(cone: Cone, most: int, look: Callable[[], None]) -> Cone:
    """Return at most about `most` rays, the farthest first, with the slack of the others (Gonzalez 1985)."""
    directions = logs(cone.rays)
    chosen, nearest = [0], np.full(len(directions), np.inf)
    while True:
        look()
        nearest = np.minimum(nearest, _hilbert_to(directions, directions[chosen[-1]]))
        if len(chosen) >= most and np.isfinite(nearest.max()):
            break
        if nearest.max() <= 0:
            break
        chosen.append(int(nearest.argmax()))
    order = sorted(chosen)
    slack = float(nearest.max()) * (1 + 1e-12)
    return Cone([cone.rays[i] for i in order], [cone.outputs[i] for i in order], cone.slack + slack)


def _hilbert_to(rays: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return the Hilbert distance of each row of logarithms to one of them."""
    here = np.isfinite(one)
    same = (np.isfinite(rays) == here).all(axis=1)
    out = np.full(len(rays), np.inf)
    gaps = rays[same][:, here] - one[here]
    out[same] = gaps.max(axis=1) - gaps.min(axis=1) if here.any() else 0.0
    return out
