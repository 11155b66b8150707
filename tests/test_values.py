"""Results are values: asked twice they are equal and hash alike, of another question they differ; pickle keeps them."""

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv

ROWS = [["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]]


def joint(first: str = "1/2") -> dv.Joint:
    return dv.Joint([first, "1/4", {"1/2": "1/4", "5/8": "1/8"}[first]], ROWS)


def table(first: str) -> dict[str, Any]:
    column = ["yes", "no", "no" if first == "1/2" else "yes"]
    return {"data": pa.table({"a": column, "b": column}), "secret": "a", "released": "b"}


MADE: dict[str, Callable[[str], Any]] = {
    "Gain": lambda p: dv.Gain.reciprocal(joint(p).prior),
    "Gain of many tries": lambda p: dv.Gain.tries(3, 1 if p == "1/2" else 2),
    "Gain with a matrix": lambda p: dv.Gain([[p, 0, 0], [0, 1, 1]]),
    "Cost": lambda p: dv.Cost.alpha_loss(3, 2 if p == "1/2" else 3),
    "Cost of a distance": lambda p: dv.Cost.power([0, 1, 2 if p == "1/2" else 3], 2),
    "LowerBounded": lambda p: dv.measures.LowerBounded(3, "1/4" if p == "1/2" else "1/5"),
    "L1Ball": lambda p: dv.measures.L1Ball(joint(p).prior, "1/2"),
    "Polytope": lambda p: dv.measures.Polytope([[1, -1, 0]], [0 if p == "1/2" else 0.5]),
    "ConvexHull": lambda p: dv.measures.ConvexHull(
        [[1, 0, 0], ["1/4", "1/2" if p == "1/2" else "1/4", "1/4" if p == "1/2" else "1/2"]]
    ),
    "Robust": lambda p: dv.measures.L1Ball(joint(p).prior, "1/8").pml(ROWS),
    "Attack": lambda p: dv.worst_gain(joint(p), 0),
    "Attack on a function": lambda p: dv.worst_function(joint(p), 0),
    "WorstPrior": lambda p: dv.adversaries.worst_prior(ROWS, [[p, 0, 0], [0, 1, 1]]),
    "PriorSequence": lambda p: dv.adversaries.lift_capacity_priors(joint(p).channel if p == "1/2" else ROWS[:2]),
    "Dalenius": lambda p: dv.adversaries.dalenius(joint(p), [["1", "0"], ["1/2", "1/2"]]),
    "Refinement": lambda p: dv.adversaries.refinement(
        ROWS, ROWS if p == "1/2" else [["1", "0"], ["1/2", "1/2"], ["0", "1"]]
    ),
    "Comparison": lambda p: dv.compare(ROWS, ROWS, joint(p).prior),
    "Contingency": lambda p: dv.contingency(table(p)["data"], "a"),
    "Audit": lambda p: dv.audit(**table(p)),
    "Design": lambda p: dv.design(joint(p).prior, dv.LDP(1)),
    "Frontier": lambda p: dv.frontier(joint(p).prior, dv.LDP, [1.0], named=[]),
    "Growth": lambda p: dv.dp.leakage_growth(joint(p).prior, ROWS, [1, 2]),
    "SampledLeakage": lambda p: dv.dp.sampled_leakage(joint(p).prior, (ROWS, 3), samples=10, rng=1),
    "Report": lambda p: dv.report(joint(p)),
    "Report of rows": lambda p: dv.report(table(p)["data"], secret="a", released="b"),
    "LeakageBounds": lambda p: dv.dp.leakage_bounds(joint(p).prior, ROWS),
    "CapacityBounded": lambda p: dv.dp.capacity_bounded(
        [["1/2", "1/2"], [p, {"1/2": "1/2", "5/8": "3/8"}[p]]], [[1], [0]]
    ),
    "Score": lambda p: dv.Score([[1, 0], [0, 1 if p == "1/2" else 2]]),
    "About": lambda p: dv.About(ROWS, "chi-squared" if p == "1/2" else "total-variation"),
    "Verdict": lambda p: dv.PML(1).holds_for(joint(p)),
}


@pytest.mark.parametrize("name", MADE)
def test_equal_questions_have_equal_answers(name: str) -> None:
    first, again, other = MADE[name]("1/2"), MADE[name]("1/2"), MADE[name]("5/8")
    assert first is not again
    assert first == again
    assert hash(first) == hash(again)
    assert first != other
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.parametrize("name", MADE)
def test_what_is_shown_fits_a_screen_and_holds_no_addresses(name: str) -> None:
    shown = MADE[name]("1/2")
    assert len(repr(shown)) < 1500
    assert " at 0x" not in repr(shown)
    assert str(shown) == repr(shown)
    html = shown._repr_html_() if hasattr(shown, "_repr_html_") else "<table></table>"
    assert html.count("<t") == html.count("</t")


EVIL = dv.Prior({"<b>": "1/2", "<i>": "1/2"})


@pytest.mark.parametrize("name", sorted(set(dv.results.__all__) - {"ValueSet"}))
def test_every_result_shows_itself_in_a_notebook(name: str) -> None:
    assert callable(getattr(getattr(dv.results, name), "_repr_html_", None))


@pytest.mark.parametrize(
    "made",
    [
        lambda: dv.release(pa.table({"<b>": ["<i>", "no"] * 5}), column="<b>", guarantee="ldp=1"),
        lambda: dv.preview(pa.table({"<b>": ["<i>", "no"] * 5}), column="<b>", guarantee="ldp=1"),
        lambda: dv.report(dv.Joint(EVIL, dv.Channel(ROWS[:2], ["<b>", "<i>"]))).beliefs[0],
        lambda: dv.PML(1).holds_for(dv.Joint(EVIL, dv.Channel(ROWS[:2], ["<b>", "<i>"]))).witness,
    ],
)
def test_what_is_shown_in_a_notebook_is_escaped(made: Any) -> None:
    html = made()._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "&lt;" in html
    assert html.count("<t") == html.count("</t")


@pytest.mark.parametrize("name", ["Audit", "Comparison", "Report"])
def test_what_has_a_table_shows_it_in_a_notebook(name: str) -> None:
    shown = MADE[name]("1/2")._repr_html_()
    numbers = {"Audit": "<td>inf</td>", "Comparison": "<td>12/7</td>", "Report": "srcdoc="}
    assert numbers[name] in shown


def test_the_name_of_an_adversary_cannot_be_changed() -> None:
    for one in (dv.Gain.identity(2), dv.Cost.guesswork(2)):
        with pytest.raises(AttributeError):
            one.name = "mine"
        with pytest.raises(AttributeError):
            one.price = 3
