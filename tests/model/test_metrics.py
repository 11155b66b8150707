"""Distances: what each maker gives, by hand and by brute force; what is refused, with its place."""

import math
import pickle
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.model.metrics.geography import Box, great_circle


def test_a_grid_is_numbered_row_by_row() -> None:
    grid = dv.Metric.grid(3, 2, step="1/2")
    places = [(x, y) for y in range(2) for x in range(3)]
    for i, (a, b) in enumerate(places):
        for j, (c, d) in enumerate(places):
            assert grid.matrix[i, j] == math.hypot(a - c, b - d) / 2
            assert dv.Metric.grid(3, 2, norm="manhattan").distance(i, j) == abs(a - c) + abs(b - d)
    assert grid.points is not None
    assert grid.points.tolist()[4] == [0.5, 0.5]


def test_units_of_length_and_time() -> None:
    assert dv.Metric.grid(2, 1, "500m").matrix[0, 1] == 0.5
    assert dv.Metric.grid(2, 1, "1mi").matrix[0, 1] == 1.609344
    assert dv.Metric.line(2, "30min").distance(0, 1) == 0.5
    assert dv.Metric.line(2, "15min").unit == "h"
    assert dv.Metric.line([1, 3], unit="eur").unit == "eur"


def test_a_line_and_a_graph_are_exact() -> None:
    assert dv.Metric.line(np.array([1.0, 3.0])).diameter == dv.Metric.line(np.int64(3)).diameter == 2
    line = dv.Metric.line(["1/3", "2/3", 0.1])
    assert line.length(int(line.classes[0, 2]), lambda v: v) == F(1, 3) - F(0.1)
    ring = dv.Metric.graph({(i, (i + 1) % 5): "1/5" for i in range(5)})
    assert ring.matrix.max() == 0.4
    assert ring.distance(0, 3) == 0.4
    assert dv.Metric.graph([("a", "b", 3), ("a", "c"), ("c", "b")]).distance("a", "b") == 2


def test_places_lie_as_far_apart_as_along_great_circles() -> None:
    rng = np.random.default_rng(1)
    for _ in range(few(12)):
        lat, lon = rng.uniform(-60, 60) + rng.uniform(-0.5, 0.5, 6), rng.uniform(-179, 179) + rng.uniform(-0.5, 0.5, 6)
        metric = dv.Metric.of_places(lat, lon)
        for i in range(6):
            for j in range(i):
                assert metric.matrix[i, j] == pytest.approx(great_circle(lat[i], lon[i], lat[j], lon[j]), rel=0.01)
    across = dv.Metric.of_places([0.0, 0.0], [179.9, -179.9])  # over the date line
    assert across.distance(0, 1) == pytest.approx(22.239, abs=1e-3)


def test_pairs_with_nothing_between_them_make_all_others() -> None:
    """Shortest paths over `pairs` are the distances again."""
    rng = np.random.default_rng(2)
    graph = dv.Metric.graph({(i, int(rng.integers(0, i))): F(int(rng.integers(1, 9)), 3) for i in range(1, 9)})
    for metric in (dv.Metric.grid(4, 3, norm="manhattan"), dv.Metric.line([0, 1, 5, 7]), graph, dv.Metric.grid(4, 4)):
        i, j = metric.pairs
        found = np.full(metric.matrix.shape, np.inf)
        np.fill_diagonal(found, 0)
        found[i, j] = found[j, i] = metric.matrix[i, j]
        for y in range(len(metric)):
            found = np.minimum(found, found[:, y, None] + found[None, y])
        assert np.allclose(found, metric.matrix, rtol=1e-14)
    assert len(dv.Metric.grid(4, 3, norm="manhattan").pairs[0]) == 3 * 3 + 4 * 2
    assert len(dv.Metric.line(9).pairs[0]) == 8


def test_equal_metrics_are_equal_and_travel() -> None:
    one, same = dv.Metric.grid(3, 3), dv.Metric.grid(3, 3)
    assert one == same
    assert hash(one) == hash(same)
    assert one != dv.Metric.grid(3, 3, step=2)
    assert pickle.loads(pickle.dumps(one)) == one
    assert dv.MetricPrivacy(1, one) == dv.MetricPrivacy(1, same)


REFUSED: dict[str, tuple[Any, str]] = {
    "asymmetric": (lambda: dv.Metric.of([[0, 1], [2, 0]], ["a", "b"]), r"symmetric; d\(a, b\) is 1 and d\(b, a\) 2"),
    "negative": (lambda: dv.Metric.of([[0, -1], [-1, 0]]), "row 0, column 1 is -1"),
    "a shortcut": (
        lambda: dv.Metric.of([[0, 1, 3], [1, 0, 1], [3, 1, 0]], ["a", "b", "c"]),
        r"d\(a, c\) <= d\(a, b\) \+ d\(b, c\); the first is 3, the sum 2",
    ),
    "not 0 from itself": (lambda: dv.Metric.of([[1, 1], [1, 0]]), "0 on the diagonal"),
    "two places that are one": (lambda: dv.Metric.of([[0, 0], [0, 0]]), "positive between different places"),
    "NaN": (lambda: dv.Metric.of([[0, math.nan], [math.nan, 0]]), "row 0, column 1 is nan"),
    "infinity": (lambda: dv.Metric.of([[0, math.inf], [math.inf, 0]]), "row 0, column 1 is inf"),
    "no square": (lambda: dv.Metric.of([[0, 1, 2], [1, 0, 1]]), "square"),
    "a latitude": (lambda: dv.Metric.of_places([91.0, 0.0], [0.0, 0.0]), "from -90 to 90 degrees"),
    "a longitude": (lambda: dv.Metric.of_places([0.0, 1.0], [200.0, 0.0]), "from -180 to 180 degrees"),
    "a missing degree": (lambda: dv.Metric.of_places([math.nan, 1.0], [2.0, 0.0]), "place 0 is missing"),
    "continents": (lambda: dv.Metric.of_places([60.0, 0.0], [0.0, 90.0]), "within 1 percent"),
    "one place twice": (lambda: dv.Metric.of_places([1.0, 1.0], [2.0, 2.0]), "different places"),
    "no cell": (lambda: dv.Metric.grid(0, 3), "at least 1"),
    "a step of 0": (lambda: dv.Metric.grid(3, 3, step=0), "positive"),
    "a step that is no number": (lambda: dv.Metric.grid(3, 3, step=math.nan), "finite"),
    "too many cells": (lambda: dv.Metric.grid(100, 100), "1 to 4,096 places"),
    "a graph in two parts": (lambda: dv.Metric.graph([("a", "b"), ("c", "d")]), "not reached from a"),
    "an edge of no length": (lambda: dv.Metric.graph([("a", "b", 0)]), "positive length"),
    "a number twice": (lambda: dv.Metric.line([1, 1.0]), "there twice"),
    "a norm": (lambda: dv.Metric.grid(2, 2, norm="euclid"), "Did you mean 'euclidean'"),
    "a rate per nothing": (lambda: dv.MetricPrivacy("1/km", dv.Metric.line(3)), "bare number"),
    "a rate per something else": (lambda: dv.MetricPrivacy("1/h", dv.Metric.grid(2, 2, "1km")), "per km"),
    "epsilon without unit": (lambda: dv.guarantees.parse("metric=1", dv.Metric.grid(2, 2, "1km")), "metric=1/km"),
    "no metric": (lambda: dv.guarantees.parse("metric=1"), "come with a metric"),
    "a matrix in place of a metric": (lambda: dv.MetricPrivacy(1, [[0, 1], [1, 0]]), "be a Metric"),
    "a NaN rate": (lambda: dv.MetricPrivacy(math.nan, dv.Metric.line(3)), "at least 0"),
    "a negative rate": (lambda: dv.MetricPrivacy("-1", dv.Metric.line(3)), "at least 0"),
    "other places": (lambda: dv.MetricPrivacy(1, dv.Metric.line(3)).holds_for([[1.0], [1.0]]), "3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_metric_is_refused_with_its_place(name: str) -> None:
    made, message = REFUSED[name]
    with pytest.raises(dv.DivulgeError, match=message):
        made()


def test_rounding_is_no_shortcut() -> None:
    at = np.arange(7) * 0.1
    assert len(dv.Metric.of(np.abs(at[:, None] - at[None, :]))) == 7
    sphere = np.array([[great_circle(0, a, 0, b) for b in range(5)] for a in range(5)])
    assert dv.Metric.of(sphere, unit="km").unit == "km"


@pytest.mark.parametrize(
    "box", [(48.7, 2.1, 49.0, 2.6), (-60.25, 5, -59.75, 8), (-1, 10, 2, 14), (70, 179, 70.1, -179)]
)
def test_the_flat_map_is_off_by_no_more_than_it_says(box: tuple[float, ...]) -> None:
    """Of random places, and of those along its edges, where a parallel is shown longest and shortest."""
    region = Box.of(box)
    rng = np.random.default_rng(5)
    lat = np.concatenate([rng.uniform(box[0], box[2], 600), np.repeat([box[0], box[2]], 300)])
    lon = (box[1] + rng.uniform(0, region.width, 1200) + 180) % 360 - 180
    along, up = region.scale
    ratios = []
    for i in range(0, 1200, 2):
        turned = (lon[i] - lon[i + 1] + 180) % 360 - 180
        flat = math.hypot(along * turned, up * (lat[i] - lat[i + 1]))
        ratios.append(flat / great_circle(lat[i], lon[i], lat[i + 1], lon[i + 1]))
    assert max(ratios) <= region.stretched
    assert 1 / min(ratios) <= region.shrunk
    assert region.stretched - 1 < 1.2 * (max(ratios) - 1) + 1e-4  # and it is not much more
    assert region.shrunk - 1 < 1.2 * (1 / min(ratios) - 1) + 1e-4
