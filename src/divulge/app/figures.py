"""Results of the library as pictures that react: plain data that the page draws, with the words a reader needs."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from divulge.app.words import filled
from divulge.errors import number_of
from divulge.model.shown import named, shortened

INK = {"before": "#7a8791", "after": "#0b7a75", "warn": "#b3541e"}
"""Named colors; each is told apart by its shape as well."""


VALUES = {"autorange": "reversed", "type": "category"}
"""An axis of values, from the top: each has a line of its own, numbers and dates as well."""


def _name(value: Any, most: int = 40) -> str:
    """Return a value as the words of a picture, which reads tags, entities and %{patterns} in them."""
    text = "missing" if value is None else named(value)
    return "".join(f"&#{ord(sign)};" if sign in "<>&%" else sign for sign in shortened(text, most))


def _names(values: Iterable[Any]) -> list[str]:
    """Return the names of values, each a line of its own in a picture: those that are shortened alike are numbered."""
    names: dict[str, None] = {}
    for name in map(_name, values):
        numbered = (f"{name} ({i})" for i in range(2, len(names) + 3))
        names[name if name not in names else next(other for other in numbered if other not in names)] = None
    return list(names)


def _layout(**more: Any) -> dict[str, Any]:
    return {
        "margin": {"l": 10, "r": 10, "t": 50, "b": 45},  # the legend, in two lines where the page is narrow, is above
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom"},
        "yaxis": {"automargin": True, "fixedrange": True},
        "xaxis": {"fixedrange": True, "zeroline": False},
    } | more


def disclosures(rows: Sequence[Any], noun: str = "row", unit: str = "people") -> dict[str, Any]:
    """For each value of the secret: its share among all, and with error bars in the group that raises it most."""
    names = _names(row.value for row in rows)
    words = [" and ".join("missing" if value is None else str(value) for value in row.group.values()) for row in rows]
    groups = [f"{_name(text, 60)} ({number_of(row.rows, noun)})" for text, row in zip(words, rows, strict=True)]
    after = {
        "type": "scatter", "mode": "markers", "name": "in the group that raises it most", "y": names,
        "x": [100 * float(row.after) for row in rows], "text": groups,
        "hovertemplate": "%{y}: %{x:.3g} in 100 of %{text}<extra></extra>",
        "marker": {"color": INK["after"], "symbol": "diamond", "size": 11},
        "error_x": {
            "type": "data", "symmetric": False, "color": INK["after"],
            "array": [100 * (row.high - float(row.after)) for row in rows],
            "arrayminus": [100 * (float(row.after) - row.low) for row in rows],
        },
    }  # fmt: skip
    before = {
        "type": "scatter", "mode": "markers", "name": "among all", "y": names,
        "x": [100 * float(row.before) for row in rows],
        "hovertemplate": "%{y}: %{x:.3g} in 100 of all<extra></extra>",
        "marker": {"color": INK["before"], "symbol": "circle-open", "size": 11, "line": {"width": 2}},
    }  # fmt: skip
    layout = _layout(height=160 + 42 * len(rows))
    layout["xaxis"] |= {"title": {"text": f"{unit} in 100"}, "rangemode": "tozero"}
    layout["yaxis"] |= VALUES
    return {"data": [before, after], "layout": layout}


def estimates(rows: Sequence[dict[str, Any]], unit: str = "people") -> dict[str, Any]:
    """For each value: its true share, and the estimate that a receiver might get, with its interval."""
    names = _names(row["value"] for row in rows)
    truth = {
        "type": "scatter", "mode": "markers", "name": "now in the table", "y": names,
        "x": [100 * r["share"] for r in rows],
        "hovertemplate": "%{y}: %{x:.3g} in 100<extra></extra>",
        "marker": {"color": INK["before"], "symbol": "circle-open", "size": 11, "line": {"width": 2}},
    }  # fmt: skip
    guess = {
        "type": "scatter", "mode": "markers", "name": "one simulated estimate", "y": names,
        "x": [100 * r["simulated"] for r in rows],
        "hovertemplate": "%{y}: %{x:.3g} in 100 estimated<extra></extra>",
        "marker": {"color": INK["after"], "symbol": "diamond", "size": 10},
        "error_x": {
            "type": "data", "symmetric": False, "color": INK["after"],
            "array": [100 * (r["high"] - r["simulated"]) for r in rows],
            "arrayminus": [100 * (r["simulated"] - r["low"]) for r in rows],
        },
    }  # fmt: skip
    layout = _layout(height=160 + 42 * len(rows))
    layout["xaxis"] |= {"title": {"text": f"{unit} in 100"}}
    layout["yaxis"] |= VALUES
    return {"data": [truth, guess], "layout": layout}


def statistics(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """For each group: the true number, and the one that is published in a simulation, with its interval."""
    names = _names(row["name"] for row in rows)
    truth = {
        "type": "scatter", "mode": "markers", "name": "now in the table", "y": names, "x": [r["true"] for r in rows],
        "hovertemplate": "%{y}: %{x:,.6g}<extra></extra>",
        "marker": {"color": INK["before"], "symbol": "circle-open", "size": 11, "line": {"width": 2}},
    }  # fmt: skip
    guess = {
        "type": "scatter", "mode": "markers", "name": "as published in a simulation", "y": names,
        "x": [r["value"] for r in rows],
        "hovertemplate": "%{y}: %{x:,.6g} published<extra></extra>",
        "marker": {"color": INK["after"], "symbol": "diamond", "size": 10},
        "error_x": {
            "type": "data", "symmetric": False, "color": INK["after"],
            "array": [r["high"] - r["value"] for r in rows], "arrayminus": [r["value"] - r["low"] for r in rows],
        },
    }  # fmt: skip
    layout = _layout(height=160 + 42 * len(rows))
    layout["yaxis"] |= VALUES
    return {"data": [truth, guess], "layout": layout}


_SIZES = ((1, "1"), (2, "2–4"), (5, "5–9"), (10, "10–49"), (50, "≥ 50"))
"""The least size of a class of groups, and what the class is called."""


def sizes(before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    """How many rows in 100 are in groups of each size, now and with coarser columns."""
    bars: list[dict[str, Any]] = []
    for name, found, ink in (("now in the table", before, "before"), ("coarser", after, "after")):
        rows = [sum(size for size in found if low <= size < high)
                for low, high in pairwise([*(least for least, _ in _SIZES), sum(found) + 51])]  # fmt: skip
        bars.append({
            "type": "bar", "name": name, "x": [name for _, name in _SIZES],
            "y": [100 * row / sum(found) for row in rows], "marker": {"color": INK[ink]},
            "hovertemplate": "%{y:.3g} in 100 rows<extra></extra>",
        })  # fmt: skip
    layout = _layout(height=320)
    layout["xaxis"] |= {"title": {"text": "rows of a group"}, "type": "category"}
    layout["yaxis"] |= {"title": {"text": "rows in 100"}, "rangemode": "tozero"}
    return {"data": bars, "layout": layout}


def places(true: Sequence[tuple[float, float]], moved: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """True places, and points of one simulation: longitude to the right, latitude up."""
    marks = [
        {
            "type": "scatter", "mode": "markers", "name": name, "x": [lon for _, lon in points],
            "y": [lat for lat, _ in points], "hovertemplate": "%{y:.4f}, %{x:.4f}<extra></extra>",
            "marker": {"color": INK[ink], "symbol": symbol, "size": 8},
        }
        for name, points, ink, symbol in (("now in the table", true, "before", "circle-open"),
                                          ("as published in a simulation", moved, "after", "diamond"))
    ]  # fmt: skip
    layout = _layout(height=420)
    layout["xaxis"] |= {"title": {"text": "longitude"}}
    layout["yaxis"] |= {"title": {"text": "latitude"}}
    return {"data": marks, "layout": layout}


def protocols(ways: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """How far off estimates of rare answers are beside the bits of a report, protocol by protocol."""
    marks: list[dict[str, Any]] = []
    for one, name in zip(ways, names, strict=True):
        ink = "warn" if one["best"] else "after" if one["can"] else "before"
        marks.append({
            "type": "scatter", "mode": "markers", "name": name, "x": [one["bits"]], "y": [one["off"][0]],
            "hovertemplate": "%{x} bits, ± %{y} rows<extra></extra>",
            "marker": {"color": INK[ink], "size": 16 if one["best"] else 11,
                       "symbol": _SHAPES[len(marks) % len(_SHAPES)] + ("" if one["can"] else "-open")},
        })  # fmt: skip
    layout = _layout(height=360)
    layout["margin"] = {**layout["margin"], "t": 110}  # one line of the legend for each two ways on a phone
    layout["xaxis"] |= {"title": {"text": "bits of a report"}, "type": "log"}
    layout["yaxis"] |= {"title": {"text": "rare answers off by ± rows"}, "type": "log"}
    return {"data": marks, "layout": layout}


_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "star")
"""A shape for each protocol, so that no color need be told apart."""


_WITHIN = "at most %{x:.3g} in 100 sure, {1} within ± %{y:.3g}{2}<extra></extra>"


def frontier(
    points: Sequence[dict[str, Any]], chosen: float, what: str, unit: str = "", language: str = "en"
) -> dict[str, Any]:
    """How far off published numbers are against what a person risks; a point can be chosen."""
    line = {
        "type": "scatter", "mode": "lines+markers", "name": "this way",
        "x": [p["after"] for p in points], "y": [p["off"] for p in points], "customdata": [p["after"] for p in points],
        "hovertemplate": filled(language, _WITHIN, _name(what), unit),
        "marker": {"color": [INK["warn"] if p["after"] == chosen else INK["after"] for p in points],
                   "size": [16 if p["after"] == chosen else 10 for p in points]},
        "line": {"color": INK["after"]},
    }  # fmt: skip
    layout = _layout(height=320)
    layout["xaxis"] |= {"title": {"text": "at most so many in 100 sure of the value"}}
    layout["yaxis"] |= {
        "title": {"text": filled(language, "{1} off by ±{2}", _name(what), unit)},
        "rangemode": "tozero",
    }
    return {"data": [line], "layout": layout}
