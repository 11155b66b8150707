"""Distances between secrets: grids, lines, graphs, matrices, places on the map; each distance at its exact value."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.model.arraylike import HasArray, Matrix, Number
from divulge.model.entries import entries, whole_number
from divulge.model.labels import Labels, alignment, alphabet, labels_at, position
from divulge.model.metrics.checks import refuse_no_metric
from divulge.model.metrics.circles import radius
from divulge.model.metrics.geography import projected
from divulge.model.metrics.quantities import quantity
from divulge.model.record import Record
from divulge.model.shown import named, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PLACES = 4096
"""More places than this have more pairs than fit into memory beside each other (64 megabytes of int32)."""

Norm = str

N = TypeVar("N")
"""Numbers of a kind, as balls are."""

Edge: TypeAlias = tuple[Hashable, Hashable] | tuple[Hashable, Hashable, Number]
"""Two places, with the length between them or without."""
NORMS: dict[Norm, Callable[[Any], Any]] = {
    "euclidean": lambda differences: sum(d * d for d in differences),
    "manhattan": lambda differences: sum(abs(d) for d in differences),
}
"""Name -> differences of coordinates -> the distance, or of the Euclidean one its square."""


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Record):
    """How far secrets are from each other: d(x, x) = 0 < d(x, z) = d(z, x) <= d(x, y) + d(y, z).

    Made by `grid`, `line`, `of`, `graph` or `of_places`. Distances are kept at their exact values, so that whether a
    mechanism keeps `MetricPrivacy` is decided exactly: numbers of a line or matrix as fractions, floats at their exact
    value, Euclidean distances by their squares.

    Attributes
    ----------
    labels : the places, in order; 0, 1, ... where nobody named them
    classes : int array of shape (N, N)
        Which of `lengths` the distance of two places is.
    lengths : tuple of Fraction
        The different distances, rising; their squares where `rooted`.
    rooted : bool
    unit : str
        What distances are in, such as "km"; "" for plain numbers.
    name : str
    points : float array of shape (N, 2), or None
        Where the places lie, of a grid or of places on the map.
    size : (width, height) of a grid, or None
    step : Fraction or None
        The side of a cell of a grid, or the distance of neighbors on a line.

    Examples
    --------
    >>> square = Metric.grid(2, 2)
    >>> square
    grid of 2 x 2, step 1: 4 places, distances 1 to 1.41421
    >>> square.matrix.round(3).tolist()[0]
    [0.0, 1.0, 1.0, 1.414]
    """

    labels: Labels
    classes: np.ndarray
    lengths: tuple[Fraction, ...]
    rooted: bool
    name: str
    unit: str = ""
    points: np.ndarray | None = None
    size: tuple[int, int] | None = None
    step: Fraction | None = None
    norm: Norm = ""

    @classmethod
    def grid(cls, width: int, height: int, step: Number = 1, *, unit: str = "", norm: Norm = "euclidean") -> Self:
        """Return the metric of a grid of cells, numbered row by row from the lowest: x fastest.

        d = step |(x, y) - (x', y')|.

        Parameters
        ----------
        width, height : int
        step : number > 0, or text with its unit such as "500m"
            The side of a cell; a float counts at its exact value.
        unit : str
            What the step is in.
        norm : "euclidean" or "manhattan"

        Returns
        -------
        Metric
            Of width x height places.

        Raises
        ------
        DivulgeError
            When there is no cell, the step is not positive, or there are more than 4,096 cells.

        Examples
        --------
        >>> Metric.grid(3, 3, step="500m").distance(0, 4) ** 2  # from corner to center, in km
        0.5...
        """
        across, up = whole_number(width, "width"), whole_number(height, "height")
        size, unit = _step(step, unit)
        _refuse_many(across * up)
        x, y = (axis.ravel() for axis in np.meshgrid(np.arange(across), np.arange(up)))
        classes, lengths, rooted = _distinct([x, y], size, norm)
        name = f"grid of {across} x {up}, step {number(size)}{_behind(unit)}{_of_norm(norm)}"
        points = np.column_stack([x, y]) * float(size)
        return cls(range(len(x)), classes, lengths, rooted, name, unit, points, (across, up), size, norm)

    @classmethod
    def line(cls, values: int | Sequence[float] | HasArray, step: Number = 1, *, unit: str = "") -> Self:
        """Return the metric of numbers, d = |x - x'|: of n numbers `step` apart, or of the numbers given.

        Parameters
        ----------
        values : int, or numbers that differ
        step : number > 0, or text with its unit
            For `values` that are a count; else what the numbers are multiplied by.
        unit : str

        Returns
        -------
        Metric
            Its labels are the numbers, or 0, 1, ...

        Raises
        ------
        DivulgeError
            When a number is missing, infinite or there twice.

        Examples
        --------
        >>> Metric.line([1, 2, 4]).matrix.tolist()[0]
        [0.0, 1.0, 3.0]
        """
        size, unit = _step(step, unit)
        counted = hasattr(values, "__index__") and not isinstance(values, bool) and not np.ndim(values)
        labels: Any = range(whole_number(values, "values")) if counted else _listed(values, "values")
        _refuse_many(len(labels))
        at = [_exactly(value, "values", labels[i]) for i, value in enumerate(labels)]
        if len(set(at)) != len(at):
            raise DivulgeError.of("values", "differ", "one of them", "there twice", "give each number once.")
        classes, lengths, rooted = _distinct([np.array(at, dtype=object)], size, "manhattan")
        name = f"line of {number_of(len(at), 'number')}" + (f", step {number(size)}" if counted or size != 1 else "")
        points = np.array([[float(value * size), 0.0] for value in at])
        named_ = range(len(at)) if counted else alphabet(labels, None, "values")
        return cls(named_, classes, lengths, rooted, name + _behind(unit), unit, points, None, size, "manhattan")

    @classmethod
    def of(cls, matrix: Matrix, labels: Iterable[Hashable] | None = None, *, unit: str = "") -> Self:
        """Return the metric of a matrix of distances; what is none is refused with the places that show it.

        Parameters
        ----------
        matrix : array_like of shape (N, N), or Channel-like table of them
            0 on the diagonal, positive and finite elsewhere, symmetric and with the triangle inequality up to
            rounding (a share of 1e-12).
        labels : sequence of N labels, optional
        unit : str

        Returns
        -------
        Metric

        Raises
        ------
        DivulgeError
            When the matrix is no metric; the message names the pair, or the triple whose middle makes a shortcut.

        Examples
        --------
        >>> Metric.of([[0, 1, 3], [1, 0, 1], [3, 1, 0]], ["a", "b", "c"])
        Traceback (most recent call last):
        divulge.errors.DivulgeError: `matrix` must have no shortcut: d(a, c) <= d(a, b) + d(b, c); the first is 3, ...
        """
        given = entries(matrix, "matrix", 2, lambda at: f"the distance in row {at[0]}, column {at[-1]}")
        if given.shape[0] != given.shape[1] or not len(given):
            raise DivulgeError.of("matrix", "be square", "its shape", str(given.shape))
        _refuse_many(len(given))
        letters = alphabet(labels, len(given), "labels")
        refuse_no_metric(given, letters)
        least = np.minimum(given, given.T)
        distinct, where = np.unique(least, return_inverse=True)
        lengths = tuple(Fraction(v) for v in distinct.tolist())
        classes = where.reshape(given.shape).astype(np.int32)
        return cls(letters, classes, lengths, False, f"matrix of {number_of(len(given), 'place')}", unit)

    @classmethod
    def graph(cls, edges: Iterable[Edge] | Mapping[Any, Number], *, unit: str = "") -> Self:
        """Return the metric of shortest paths in a graph.

        Parameters
        ----------
        edges : iterable of (a, b) or (a, b, length), or mapping of (a, b) to length
            Each goes both ways; a length that is not given is 1.
        unit : str

        Returns
        -------
        Metric
            Of all that an edge names, in that order.

        Raises
        ------
        DivulgeError
            When a length is not positive, or a place cannot be reached from another.

        Examples
        --------
        >>> Metric.graph([("a", "b"), ("b", "c", 2)]).distance("a", "c")
        3.0
        """
        lengths: dict[frozenset[Hashable], Fraction] = {}
        letters: dict[Hashable, int] = {}
        for a, b, length in _edges(edges):
            ends = f"{named(a)} to {named(b)}"
            size = _exactly(length, "edges", ends)
            if a == b or not size > 0:
                raise DivulgeError.of("edges", "join two places by a positive length", f"that of {ends}", str(length))
            for end in (a, b):
                letters.setdefault(end, len(letters))
            lengths[frozenset((a, b))] = min(size, lengths.get(frozenset((a, b)), size))
        _refuse_many(len(letters))
        found = _shortest(list(letters), lengths)
        distinct = sorted(set(found.ravel().tolist()))
        at = {value: k for k, value in enumerate(distinct)}
        classes = np.array([[at[value] for value in row] for row in found.tolist()], dtype=np.int32)
        name = f"graph of {number_of(len(letters), 'place')}, {number_of(len(lengths), 'edge')}"
        return cls(alphabet(list(letters), None, "edges"), classes, tuple(distinct), False, name, unit)

    @classmethod
    def of_places(cls, lat: ArrayLike, lon: ArrayLike, labels: Iterable[Hashable] | None = None) -> Self:
        """Return the metric of places on the map, in km: projected about their middle, then straight lines.

        x = R cos(middle latitude) longitude, y = R latitude (equirectangular), R = 6371.0088 km.

        Parameters
        ----------
        lat, lon : array_like of shape (N,), in degrees
        labels : sequence of N labels, optional

        Returns
        -------
        Metric
            In km.

        Raises
        ------
        DivulgeError
            When a latitude is beyond 90 or a longitude beyond 180 degrees, two places are one, or they lie so far apart
            that the projection is off by more than 1 percent from great circles.

        Examples
        --------
        >>> round(Metric.of_places([48.8566, 48.8049], [2.3522, 2.1204]).distance(0, 1), 2)  # Paris to Versailles
        17.91
        """
        points = projected(lat, lon)
        _refuse_many(len(points))
        letters = alphabet(labels, len(points), "labels")
        columns = [np.array([Fraction(v) for v in axis], dtype=object) for axis in points.T.tolist()]
        classes, lengths, rooted = _distinct(columns, Fraction(1), "euclidean")
        same = np.argwhere((classes == 0) & ~np.eye(len(points), dtype=bool))
        if len(same):
            a, b = (named(letters[int(i)]) for i in same[0])
            raise DivulgeError.of("lat", "be of different places", f"{a} and {b}", "one", "give each place once.")
        name = f"{number_of(len(points), 'place')} on the map"
        return cls(letters, classes, lengths, rooted, name, "km", points, None, None, "euclidean")

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.labels)

    @cached_property
    def floats(self) -> np.ndarray:
        """The different distances as doubles, each correctly rounded, rising."""
        if not self.rooted:
            return np.array([exact.as_float(length) for length in self.lengths])
        return np.array([_root(length) for length in self.lengths])

    @cached_property
    def matrix(self) -> np.ndarray:
        """The distances, float64 of shape (N, N), each correctly rounded."""
        return self.floats[self.classes]

    def length(self, k: int, number: Callable[[Fraction], N] = exact.arb) -> N:
        """Return the k-th distance in balls, or in what `number` makes of fractions.

        Examples
        --------
        >>> Metric.line([0, 2, 3]).length(1, lambda length: length)
        Fraction(1, 1)
        """
        found: Any = number(self.lengths[k])
        return found.sqrt() if self.rooted else found

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return float(self.floats[-1])

    @property
    def least(self) -> float:
        """The smallest distance of two places; inf where there is only one."""
        return float(self.floats[1]) if len(self.lengths) > 1 else math.inf

    def distance(self, a: Hashable, b: Hashable) -> float:
        """Return the distance of two places by their labels.

        Examples
        --------
        >>> Metric.line(3, step="1/2").distance(0, 2)
        1.0
        """
        i, j = (position(self.labels, label, "place") for label in (a, b))
        return float(self.floats[self.classes[i, j]])

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays (i, j), i < j: the pairs with no place exactly between them, which bound all others.

        Of a Euclidean grid those whose difference is a primitive vector, of a line the neighbors.
        """
        i, j = np.triu_indices(len(self), 1)
        if self.size is not None and self.norm == "euclidean":
            dx, dy = (np.abs(axis[i] - axis[j]) for axis in self.cells)
            kept = np.gcd(dx, dy) == 1
        elif not self.rooted and len(self) <= _MOST_BETWEEN:
            kept = ~_between(self)[i, j]
        else:
            return i, j
        return i[kept], j[kept]

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The column and row of each cell of a grid."""
        if self.size is None:
            raise DivulgeError.of("metric", "be a grid", "it", self.name, "Metric.grid(width, height, step) is one.")
        up, across = np.divmod(np.arange(len(self)), self.size[0])
        return across, up

    def order_of(self, labels: Labels, argument: str) -> np.ndarray:
        """Return for each of `labels` its place; labels 0, 1, ... that nobody named go by position.

        Examples
        --------
        >>> Metric.line([10, 20]).order_of((20, 10), "prior").tolist()
        [1, 0]
        """
        order = alignment(labels, self.labels, argument, "the metric")
        return np.arange(len(self)) if order is None else np.array(order)

    def reordered(self, labels: Labels, argument: str = "channel") -> "Metric":
        """Return the metric with its places in the order of `labels`, and under these names.

        Examples
        --------
        >>> Metric.line([10, 20, 40]).reordered((40, 10, 20)).matrix.tolist()[0]
        [0.0, 30.0, 20.0]
        """
        order = self.order_of(labels, argument)
        if (order == np.arange(len(self))).all():
            return self if tuple(labels) == tuple(self.labels) else self._with(labels=labels)
        points = None if self.points is None else self.points[order]
        return self._with(
            labels=labels_at(self.labels, order), classes=self.classes[np.ix_(order, order)], points=points, size=None
        )

    def scaled(self, factor: Number) -> "Metric":
        """Return the metric with all distances multiplied by a positive number, without a unit.

        Examples
        --------
        >>> Metric.line([0, 1]).scaled("1/2").diameter
        0.5
        """
        by = _exactly(factor, "factor", "it")
        if not by > 0:
            raise DivulgeError.of("factor", "be positive", "it", str(factor))
        lengths = tuple(length * (by * by if self.rooted else by) for length in self.lengths)
        points = None if self.points is None else self.points * float(by)
        step = None if self.step is None else self.step * by
        return self._with(lengths=lengths, points=points, step=step, name=f"{self.name}, times {number(by)}", unit="")

    def radius(self, around: Hashable, weights: ArrayLike, share: float) -> float:
        """Return the least radius of a circle about a place that holds this share of the weights.

        Examples
        --------
        >>> Metric.line(5).radius(2, [0.1, 0.2, 0.4, 0.2, 0.1], 0.5)
        1.0
        """
        return radius(self.matrix[position(self.labels, around, "around")], weights, share)

    def plot(self, weights: ArrayLike, around: Hashable | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw weights of the places on a map without tiles: cells, a scale, circles about a place; extra: plot.

        The circles hold 50 and 95 in 100 of the weights.

        Examples
        --------
        >>> Metric.grid(3, 3, "500m").plot([1, 1, 1, 1, 2, 1, 1, 1, 1], around=4).get_xlabel()
        'km'
        """
        from divulge.model.metrics.picture import plot

        return plot(self, weights, around, ax)

    def _with(self, **changed: Any) -> "Metric":
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Metric(**{**fields, **changed})

    def __repr__(self) -> str:
        places = number_of(len(self), "place")
        head = self.name if places in self.name else f"{self.name}: {places}"
        span = f", distances {number(self.least)} to {number(self.diameter)}" if len(self) > 1 else ""
        return f"{head}{span}{_behind(self.unit)}"


_MOST_BETWEEN = 700
"""Up to so many places all triples are looked through for one that lies between two others: 0.3 s."""


def _distinct(columns: list[np.ndarray], step: Fraction, norm: Norm) -> tuple[np.ndarray, tuple[Fraction, ...], bool]:
    """Return (which distance each pair has, the different distances, whether squared) of exact coordinates."""
    if norm not in NORMS:
        raise DivulgeError.unknown("norm", norm, NORMS)
    common = math.lcm(*(int(v.denominator) for column in columns for v in column.tolist()))
    whole = [np.array([int(v * common) for v in column.tolist()], dtype=object) for column in columns]
    if max(abs(v) for column in whole for v in column.tolist()) < 2**30:
        whole = [column.astype(np.int64) for column in whole]
    found = NORMS[norm]([column[:, None] - column[None, :] for column in whole])
    distinct, where = np.unique(found, return_inverse=True)
    squared = norm == "euclidean"
    unit = (step / common) ** 2 if squared else step / common
    return where.reshape(found.shape).astype(np.int32), tuple(int(v) * unit for v in distinct.tolist()), squared


def _between(metric: Metric) -> np.ndarray:
    """Return whether some place lies on a shortest way from i to j, d(i, y) + d(y, j) <= d(i, j), as a matrix."""
    common = math.lcm(*(length.denominator for length in metric.lengths))
    whole = [int(length * common) for length in metric.lengths]
    if max(whole) >= 2**61:
        return np.zeros(metric.classes.shape, dtype=bool)
    d = np.array(whole, dtype=np.int64)[metric.classes]
    found = np.zeros(d.shape, dtype=bool)
    for y in range(len(d)):
        through = d[:, y, None] + d[None, y] <= d
        through[y], through[:, y] = False, False
        found |= through
    return found


def _shortest(letters: list[Hashable], lengths: Mapping[frozenset[Hashable], Fraction]) -> np.ndarray:
    """Return the lengths of shortest paths between all places, exact (networkx, Dijkstra's method)."""
    from divulge.extras import require

    nx = require("networkx", "networks")
    graph = nx.Graph()
    graph.add_nodes_from(letters)
    graph.add_weighted_edges_from((*ends, length) for ends, length in lengths.items())
    out = np.empty((len(letters), len(letters)), dtype=object)
    for i, start in enumerate(letters):
        reached = nx.single_source_dijkstra_path_length(graph, start)
        for j, end in enumerate(letters):
            if end not in reached:
                raise DivulgeError.of(
                    "edges", "join all places", f"{named(end)}", f"not reached from {named(start)}",
                    "leave places out, or join them by long edges.",
                )  # fmt: skip
            out[i, j] = Fraction(reached[end])
    return out


def _edges(edges: Any) -> Iterator[tuple[Hashable, Hashable, Any]]:
    if isinstance(edges, Mapping):
        edges = [(*ends, length) for ends, length in edges.items() if isinstance(ends, tuple)]
    listed = _listed(edges, "edges")
    for edge in listed:
        if isinstance(edge, (str, bytes)) or not hasattr(edge, "__len__") or len(edge) not in (2, 3):
            raise DivulgeError.of("edges", "be pairs of places, with a length or without", "one", repr(edge))
        yield edge[0], edge[1], edge[2] if len(edge) == 3 else 1


def _listed(values: Any, argument: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DivulgeError.of(argument, "be a list", "it", f"a {type(values).__name__}")
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    if not found:
        raise DivulgeError.of(argument, "name at least one place", "it", "empty")
    return found


def _exactly(value: Any, argument: str, where: Any) -> Fraction:
    """Return a number at its exact value, also from text such as "1/3"."""
    if isinstance(value, str):
        return quantity(value.removeprefix("-"), argument)[0] * (-1 if value.startswith("-") else 1)
    try:
        if isinstance(value, bool):
            raise TypeError
        return Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of(argument, "hold finite numbers", f"that of {where}", repr(value)) from None


def _step(step: Any, unit: str) -> tuple[Fraction, str]:
    size, own = quantity(step, "step")
    if own and unit and own != unit:
        raise DivulgeError.of("unit", f"be that of the step, {own}", "it", unit)
    exactly = _exactly(size, "step", "it")
    if not exactly > 0:
        raise DivulgeError.of("step", "be positive", "it", str(step))
    return exactly, own or unit


def _refuse_many(places: int) -> None:
    if not 1 <= places <= MOST_PLACES:
        raise DivulgeError.of("metric", f"have 1 to {MOST_PLACES:,} places", "their number", f"{places:,}")


def _root(square: Fraction) -> float:
    """Return the square root of a fraction, correctly rounded."""
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return exact.as_float(root) if root * root == square else exact.correctly_rounded(lambda: exact.arb(square).sqrt())


def _behind(unit: str) -> str:
    return f" {unit}" if unit else ""


def _of_norm(norm: Norm) -> str:
    return "" if norm == "euclidean" else f", {norm}"
