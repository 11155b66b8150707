"""Pictures tell values apart, and show them as they are: what they are drawn with reads tags, numbers and patterns."""

from pathlib import Path
from typing import Any

import pytest
from browser import browser

from divulge.app import figures
from divulge.app.steps import preview

LONG = "A very long answer that many people give, and which ends with "
VALUES = ["<b>x</b>", "<a href='http://elsewhere.example'>x</a>", "a&lt;b", "%{x}", LONG + "yes", LONG + "no",
          "2", "10", "2020-01-01", "missing", "x" * 200, "x" * 201, "", " "]  # fmt: skip


def estimated() -> dict[str, Any]:
    rows = [{"value": value, "share": 0.1, "simulated": 0.2, "low": 0.1, "high": 0.3} for value in VALUES]
    return figures.estimates(rows)


def published() -> dict[str, Any]:
    return figures.statistics([{"name": value, "true": 1, "value": 2, "low": 0, "high": 3} for value in VALUES])


@pytest.mark.parametrize("made", [estimated, published])
def test_every_value_has_a_line_of_its_own_that_says_it(made: Any) -> None:
    figure = made()
    assert figure["layout"]["yaxis"]["type"] == "category"  # else numbers and dates are places, and words get none
    for trace in figure["data"]:
        assert len(set(trace["y"])) == len(VALUES)
        assert not any(sign in "".join(trace["y"]) for sign in "<>%")
    shown = figure["data"][0]["y"]
    assert shown[2] == "a&#38;lt;b"
    assert shown[4].endswith("yes")
    assert shown[5].endswith("no")
    assert shown[6:10] == VALUES[6:10]
    assert shown[-2:] == ["(empty)", "' '"]  # what is empty is drawn nowhere


def test_a_browser_makes_text_of_values_and_no_markup() -> None:
    """Plotly makes elements of tags that it knows, and text of all else."""
    script = (Path(figures.__file__).parent / "static" / "plotly-basic.min.js").read_text()
    with browser() as watched:
        watched.page.set_content("<div id=place></div>")
        watched.page.add_script_tag(content=script)
        for made in (estimated, published):
            draw = (
                "figure => Plotly.newPlot('place', figure.data, figure.layout, {displayModeBar: false}).then(() => 0)"
            )
            watched.page.evaluate(draw, made())
            drawn = "[...document.querySelectorAll('#place .ytick text')].map(one => one.textContent)"
            shown = watched.page.evaluate(drawn)
            assert {"<b>x</b>", "a&lt;b", "%{x}"} <= set(shown)
            assert watched.page.evaluate("document.querySelectorAll('#place a[href], #place b').length") == 0
        assert not watched.wrong


def test_a_group_of_empty_values_is_not_all_rows() -> None:
    one = {"statistic": "count", "value": 1, "low": 0, "high": 2, "true": 1}
    found = {"statistics": [one | {"by": {"town": ""}}, one | {"by": {"town": "x"}}, one | {"by": {}}], "level": 0.95}
    names = [row["name"] for rows in preview.statistics(found)["kinds"].values() for row in rows]
    assert names == ["(empty)", "x", "all rows"]


def test_a_column_is_named_in_words_of_a_picture() -> None:
    figure = figures.frontier([{"after": 2.0, "off": 1.0}], 2.0, "mean of <b>%{x}</b>")
    assert "%{x:.3g}" in figure["data"][0]["hovertemplate"]
    assert "%{x}" not in figure["data"][0]["hovertemplate"]
    assert "<b>" not in figure["data"][0]["hovertemplate"] + figure["layout"]["yaxis"]["title"]["text"]
