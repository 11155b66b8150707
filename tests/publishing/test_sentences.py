"""What a statement says of published numbers follows from what was asked, and is true of the noise itself."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import few

import divulge as dv
from divulge.publishing.noising.families import FAMILIES, Laplace, Noise
from divulge.publishing.noising.margins import projected
from divulge.publishing.noising.noise import chosen, each, half_width
from divulge.releasing.drawing.chance import Chance
from divulge.reporting.statements.statistics import reading, using
from divulge.reporting.statements.voice import Voice, plain

from .conftest import VALUES

RUNS = 4000


def drawn(noise: Noise, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return noise by another route than OpenDP's: differences of geometric numbers, or weights of integers."""
    if noise.bounded:
        p = -math.expm1(-1 / noise.scale)
        return rng.geometric(p, shape) - rng.geometric(p, shape)
    k = np.arange(-math.ceil(12 * noise.scale), math.ceil(12 * noise.scale) + 1)
    weight = np.exp(-(k**2) / (2 * noise.scale**2))
    return rng.choice(k, shape, p=weight / weight.sum())


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_what_is_said_of_counts_is_true_of_the_noise(family: Any) -> None:
    rng, noise, level, cells = np.random.default_rng(5), FAMILIES[family](3.0), 0.9, 8
    off = drawn(noise, rng, (RUNS, cells))
    width = half_width(noise, each(level, cells))
    held = (abs(off) <= width).all(axis=1)
    assert held.mean() > level - 4 * math.sqrt(level * (1 - level) / RUNS), "off by {width} at most, in {level}"
    assert (abs(off) <= width - 1).all(axis=1).mean() < level, "a narrower interval would do"
    assert (2 * width + off[held] - width >= 0).all(), "a group of up to {twice} can hold 0"
    assert (2 * width + 1 + off[held] - width > 0).all(), "and no larger one"
    assert (off == 0).any(), "one may happen to be exact"
    assert (off < 0).any(), "a count can be below 0"
    assert (1 + off == 0).any(), "a 0 does not mean that nobody is there"
    assert off[:, :4].sum(axis=1).std() == pytest.approx(2 * noise.deviation, rel=0.1), "four cells: twice that of one"
    assert off[:, 0].std() == pytest.approx(noise.deviation, rel=0.1)
    assert (off[:, :4].sum(axis=1) != off[:, 4]).any(), "a total can differ from the sum of its parts"
    assert np.maximum(off, 0).mean() > 0.1 * noise.deviation, "raised to 0, small counts are too large on average"
    values, low = np.maximum(1 + off, 0), np.maximum(1 + off - width, 0)
    assert (abs(values - 1) <= abs(off)).all(), "raising is never farther off"
    assert (low[held] <= 1).all()


def test_what_is_said_of_moved_counts_is_true_of_the_noise() -> None:
    rng, level = np.random.default_rng(6), 0.9
    noise, sizes = Laplace(4.0), {"x": 3, "y": 2}
    true = np.array([[9, 0], [4, 1], [0, 7]])
    width = half_width(noise, each(level, 9))
    held, moved, runs = 0, 0, 300
    for _ in range(runs):
        tables = [true + drawn(noise, rng, (3, 2)), true.sum(axis=1) + drawn(noise, rng, (3,))]
        found = projected(tables, [("x", "y"), ("x",)], [noise.deviation] * 2, sizes, None, False, False)
        assert np.allclose(found[0].sum(axis=1), found[1]), "the same totals"
        ends = [(np.minimum(t - width, f), np.maximum(t + width, f)) for t, f in zip(tables, found, strict=True)]
        held += all(
            ((low <= t) & (t <= high)).all() for (low, high), t in zip(ends, (true, true.sum(axis=1)), strict=True)
        )
        moved += any(abs(f - t).max() > 0 for f, t in zip(found, tables, strict=True))
    assert held / runs > level - 4 * math.sqrt(level * (1 - level) / runs), "intervals of before hold"
    assert moved == runs


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_values_near_the_true_quantile_are_chosen_more_often(family: Any) -> None:
    scores, noise = np.array([3, 0, 1, 8]), FAMILIES[family](2.0)
    chance = Chance()
    times = np.bincount([chosen(scores, noise, chance) for _ in range(few(8000))], minlength=4)
    by_score = times[np.argsort(scores)]
    assert (np.diff(by_score) < 0).all(), by_score  # fails once in 1e16, by the law of Gumbel noise


def said(found: Any, language: str = "en") -> list[str]:
    return [plain(text) for text in (*reading(found, Voice(language)), *using(found, Voice(language)))]


def published(people: Any, asked: Any, how: dict[str, Any]) -> Any:
    return dv.publish(people, asked, **({"guarantee": "dp=1", "values": VALUES, "per_row": "person" not in how} | how))


ADD, MOVED, RAISED = "The standard error of a sum of four", "does not follow from theirs", "too large on average, as"
NOT, ZERO, BELOW, TOTAL = "cannot be added up", "A 0 does not mean", "can be below 0", "A total can differ"
TRUE_ZERO, SHOWN, COMPARE, BARE = (
    "does not mean that the true one",
    "in no sum of",
    "do not overlap",
    "without intervals",
)
PEOPLE, CUT = "may not be added up to a number of people", "are those of numbers cut to their bounds"
SENTENCES = (ADD, MOVED, RAISED, NOT, ZERO, BELOW, TOTAL, TRUE_ZERO, SHOWN, COMPARE, BARE, PEOPLE, CUT)

WHICH: dict[str, tuple[list[Any], dict[str, Any], list[str]]] = {
    "counts": ([dv.Count("race")], {}, [ADD, ZERO, BELOW, COMPARE]),
    "two tables": ([dv.Count("race"), dv.Count("sex")], {}, [ADD, ZERO, BELOW, TOTAL, COMPARE]),
    "moved": ([dv.Count("race"), dv.Count("sex")], {"consistent": True}, [MOVED, ZERO, BELOW, COMPARE]),
    "raised": ([dv.Count("race")], {"non_negative": True}, [RAISED, ZERO, COMPARE]),
    "sums": ([dv.Sum("age", (0, 90), by="sex")], {}, [ADD, ZERO, BELOW, COMPARE, CUT]),
    "means": ([dv.Mean("age", (0, 90), by="sex")], {}, [NOT, TRUE_ZERO, COMPARE, CUT]),
    "variances": ([dv.Variance("age", (0, 90), by="sex")], {}, [NOT, TRUE_ZERO, COMPARE, CUT]),
    "shares": ([dv.Proportion("sex", "f", by="race")], {}, [NOT, TRUE_ZERO, COMPARE]),
    "quantiles": ([dv.Quantiles("age", (0, 90), by="sex")], {}, [NOT, TRUE_ZERO, COMPARE, CUT]),
    "bare quantiles": ([dv.Quantiles("age", (0, 90), by="sex", intervals=False)], {}, [NOT, TRUE_ZERO, BARE, CUT]),
    "people": ([dv.People("race")], {"person": "who", "rows_per_person": 2}, [ZERO, BELOW, PEOPLE, COMPARE]),
    "rows and people": ([dv.Count("race"), dv.People("race")], {"person": "who", "rows_per_person": 2},
                        [ADD, ZERO, BELOW, PEOPLE, COMPARE]),
    "filled": ([dv.Mean("age", (5, 90))], {"fill": {"age": 0}}, [NOT, TRUE_ZERO, COMPARE, CUT]),
    "cut": ([dv.Mean("age", (0, 30))], {"tell_cut": True}, [NOT, TRUE_ZERO, COMPARE, CUT, ZERO, BELOW]),
    "numbers": ([dv.Mean("age", (0, 90), by="sex")], {"tell_numbers": True},
                [NOT, TRUE_ZERO, COMPARE, CUT, ADD, ZERO, BELOW]),
    "chosen bounds": ([dv.Mean("age", "auto")], {}, [NOT, TRUE_ZERO, COMPARE, CUT]),
    "shown": ([dv.Count("race")], {"values": None, "guarantee": "adp=1:1e-6"}, [ADD, SHOWN, COMPARE]),
    "named": ([dv.Mean("age", (0, 90), by="race")], {"values": None, "guarantee": "adp=4:1e-6"},
              [NOT, TRUE_ZERO, COMPARE, CUT]),
}  # fmt: skip


@pytest.mark.parametrize("name", WHICH)
def test_each_sentence_is_said_where_it_is_true_and_nowhere_else(people: Any, name: str) -> None:
    statistics, how, wanted = WHICH[name]
    found = dv.publish(
        people, statistics, **({"guarantee": "dp=1", "values": VALUES, "per_row": "person" not in how} | how)
    )
    text = " ".join(said(found))
    for sentence in SENTENCES:
        assert (sentence in text) == (sentence in wanted), sentence
    blank = "there is no number but" in " ".join(found.told)
    assert blank == (NOT in wanted and BARE not in wanted)


def test_what_is_said_of_zeros_fills_and_groups_of_nobody_is_true() -> None:
    few_of_many = pa.table({"ill": ["yes"] * 2 + ["no"] * 300, "age": pa.array([None] * 302, pa.int64())})
    shares = [dv.publish(few_of_many, dv.Proportion("ill", "yes"), guarantee="dp=0.5", level=0.5, per_row=True)
              for _ in range(20)]  # fmt: skip
    assert any(one.statistics()[0]["value"] == 0 for one in shares), "a share of 0, and the true one is not"
    (mean,) = dv.publish(few_of_many, dv.Mean("age", (2, 90)), guarantee="dp=1e6", fill={"age": 0}, per_row=True
                         ).statistics()  # fmt: skip
    assert mean["value"] == pytest.approx(2, abs=0.01), "what missing numbers count as is cut to the bounds"
    bare = dv.Quantiles("n", (0, 90), probabilities=(0.5,), intervals=False, by="ill")
    table = few_of_many.append_column("n", pa.array([7] * 302))
    how: dict[str, Any] = {"guarantee": "dp=1", "values": {"ill": ["yes", "no", "never"]}, "per_row": True}
    seen = {one["by"]["ill"]: one for one in dv.publish(table, bare, **how).statistics()}
    assert seen["never"]["value"] is not None, "a group of nobody has a quantile"
    assert [seen[name]["low"] for name in seen] == [None] * 5
    assert "no interval" in repr(dv.publish(table, bare, **how))


QUESTIONS: dict[str, tuple[str, str]] = {
    "may I add cells": (r"may be added up|may not be added|cannot be added up",
                        "darf man addieren|kann man nicht addieren|ergeben Gruppen zusammen"),
    "may I compare groups": ("differ where theirs do not overlap|Whether two groups differ cannot be said",
                             "unterscheiden"),
    "is a zero a zero": (r"A 0 does not mean that nobody|of 0 has noise in it|that one is missing says nothing",
                         r"Eine 0 heißt nicht|dass eine fehlt, besagt nichts"),
    "is a small group visible": ("does not show that there is anybody|a much smaller group",
                                 "dass es jemanden gibt|viel kleinere"),
    "how many people are in a group": ("the table does, between low and high|Neither this page nor the table tells",
                                       "die Tabelle|Weder diese Seite noch"),
    "how far off": ("all intervals, from low to high, hold at once|how far off they are is not told",
                    "gelten alle Intervalle|Wie weit sie daneben liegen"),
    "what was cut": ("were cut to|of the whole source|of the rows that count", "gekürzt|der ganzen Quelle|die zählen"),
    "who counts": ("Every row is taken to be another person|at most so many rows", "Jede Zeile|so viele Zeilen"),
    "is it a sample": ("nothing about how the source came to be", "nichts darüber"),
    "what is promised about me": ("The promise:", "Das Versprechen:"),
    "what if more is published": ("After a second table like this one|It adds to this one", "zweiten|kommt zu dieser"),
    "may I pass it on": ("are made for everybody", "für alle"),
}  # fmt: skip
"""What readers ask, and how the page answers, in English and in German."""

PAGES: dict[str, tuple[list[Any], dict[str, Any]]] = {name: (asked, how) for name, (asked, how, _) in WHICH.items()}


@pytest.mark.parametrize("name", PAGES)
def test_twelve_questions_of_readers_are_answered_on_the_page(people: Any, name: str) -> None:
    asked, how = PAGES[name]
    found = published(people, asked, how)
    for place, language in enumerate(("en", "de")):
        page = " ".join(dv.statement(found, language).text().split())
        left = [question for question, answers in QUESTIONS.items() if not re.search(answers[place], page)]
        assert not left, (language, left)


def test_rows_are_never_called_people(people: Any) -> None:
    """Where a person can have several rows, no sentence about a count of rows speaks of people."""
    found = dv.publish(people, dv.Count("race"), guarantee="dp=1", values=VALUES, person="who", rows_per_person=2)
    page = " ".join(dv.statement(found).text().split())
    assert "A count of rows is no number of people." in page
    assert "counts of people" not in page
    both = dv.publish(people, [dv.Count("race"), dv.People("race")], guarantee="dp=1", values=VALUES, person="who",
                      rows_per_person=2)  # fmt: skip
    assert "counts of rows and counts of people" in " ".join(dv.statement(both).text().split())
    older = replace(found, queries=tuple({k: v for k, v in q.items() if k != "serves"} for q in found.queries))
    assert said(older) == said(found)
