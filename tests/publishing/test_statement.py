"""The statement about published statistics: its numbers by other routes, every sentence in every language."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scipy.stats import norm

import divulge as dv
from divulge.publishing.notes import SENTENCES as NOTES
from divulge.publishing.notes import Note
from divulge.reporting.remarks import remark
from divulge.reporting.statements.english.statistics import STATISTICS
from divulge.reporting.statements.voice import Voice

from .conftest import VALUES, table

MEAN = dv.Mean("height", (1, 2.5), step=0.01)
CASES: list[tuple[Any, dict[str, Any]]] = [
    (dv.Count("race"), {"guarantee": "pml=1", "record_prior": "lower=0.01"}),
    (dv.Count("race"), {"guarantee": "pml=1", "record_prior": {"a": "1/2", "b": "1/4", "c": "1/4"}}),
    ([dv.Count(), MEAN, dv.Variance("age", (0, 90)), dv.Quantiles("age", (0, 90)), dv.Proportion("sex", "f")],
     {"guarantee": "dp=1", "others": "independent"}),
    ([dv.Count("sex"), dv.Mean("age", (0, 90), by="race")], {"guarantee": "dp=1", "person": "who", "at_most": 2}),
    (dv.Count("race"), {"guarantee": "dp=1", "neighbors": "added", "non_negative": True, "whole": True}),
    (dv.Count("race"), {"guarantee": "adp=1:1e-6", "neighbors": "added", "noise": "gaussian"}),
    (dv.Count("race"), {"guarantee": "adp=1:1e-6", "values": None}),
    (dv.Mean("age", (0, 50)), {"guarantee": "dp=1", "tell_cut": True}),
    (dv.Quantiles("age", (0, 90), by="race", intervals=False), {"guarantee": "dp=1"}),
    (dv.Mean("age", (0, 50), by="race"), {"guarantee": "dp=1", "tell_numbers": True}),
    (dv.Mean("age", "auto"), {"guarantee": "dp=1", "fill": {"age": 40}}),
    (dv.Mean("age", (0, 90), by="race"), {"guarantee": "adp=1:1e-6", "values": None}),
    ([dv.Count("race"), dv.Count("sex", "race")], {"guarantee": "zcdp=0.1", "consistent": True}),
    (MEAN, {"guarantee": "zcdp=0.1", "noise": "gaussian"}),
    ([dv.Count("race"), dv.Quantiles("age", (0, 90))], {"guarantee": "rdp=4:0.5", "noise": "gaussian",
                                                        "neighbors": "added"}),
    (dv.Count("race"), {"guarantee": "dp=9", "values": None, "values_from_data": True}),
    (dv.Count("race"), {"guarantee": "dp=1", "values": None, "values_from_data": True}),
    (dv.Count(), {"guarantee": "dp=1", "neighbors": "added"}),
    ([dv.Count("race"), dv.Count("sex")], {"guarantee": "dp=1", "no_other": True}),
    (dv.Count("race"), {"guarantee": "zcdp=50"}),
    (dv.Count("race"), {"guarantee": "zcdp=0.1", "values": None, "values_from_data": True}),
    (dv.People("race"), {"guarantee": "dp=1", "person": "who", "groups_per_person": 2, "rows_per_group": 2}),
]  # fmt: skip


def published(people: Any, statistics: Any, how: dict[str, Any]) -> dv.results.Published:
    return dv.publish(people, statistics, **({"values": VALUES} | how))


@cache
def releases() -> list[dv.results.Published]:
    """Return what is published of each case, for all that read it."""
    return [published(table(), *case) for case in CASES]


def said(found: Any, language: str = "en") -> str:
    return " ".join(dv.statement(found, language).text().split())


DELTAS = {
    1e-5: ("1 in 100,000", "1 von 100.000"), 1e-20: ("1 in 1E20", "1 von 1E20"), 1e-300: ("1 in 1E300", "1 von 1E300"),
    1.4e-15: ("1 in 714,285,700,000,000", "1 von 714.285.700.000.000"),
}  # fmt: skip


@pytest.mark.parametrize("delta", DELTAS)
def test_no_slack_is_told_as_none(people: Any, delta: float) -> None:
    how = {"guarantee": f"adp=1:{delta!r}", "noise": "gaussian", "neighbors": "added"}
    found = published(people, dv.Count("race"), how)
    exact = replace(found, guarantees={"adp": {"epsilon": 1.0, "delta": delta}})
    assert f"a slack of at most {DELTAS[delta][0]}." in said(exact)
    assert f"einen Rest von höchstens {DELTAS[delta][1]}." in said(exact, "de")


@pytest.mark.parametrize("level", [0.9999999999, 1 - 2**-53, 0.95, 0.995, 1e-12])
def test_no_level_is_told_as_always_or_never(people: Any, level: float) -> None:
    found = published(people, dv.Count("race"), {"guarantee": "dp=1"})
    for language in ("en", "de"):
        text = said(replace(found, level=level), language)
        told = re.search(r"(?:In|Bei) ([\d.,E-]+) (?:of|von) 1[,.]?000", text)
        assert told is not None
        value = told[1].replace(",", "") if language == "en" else told[1].replace(".", "").replace(",", ".")
        assert Fraction(value) == Fraction(repr(level)) * 1000


@pytest.mark.parametrize("loss", [5e-324, 1e-17, 1e-9, 1e-3, 6.9])
def test_no_loss_is_told_as_none(people: Any, loss: float) -> None:
    found = published(people, dv.Count("race"), {"guarantee": "dp=1"})
    small = replace(found, guarantees={"dp": loss}, loss=loss)
    assert re.search(r"a factor of at most 1\.(?!\d)", said(small)) is None
    rows = [
        line.split() for line in dv.statement(small).text().splitlines() if re.match(r"\s*(1|10|100|500) +\d", line)
    ]
    assert len(rows) == 4
    for before, most, least in rows:
        p = Fraction(before) / 1000
        up = Fraction(math.exp(loss)) * p / (Fraction(math.exp(loss)) * p + 1 - p)
        assert Fraction(before) < Fraction(most) < 1000
        assert Fraction(most) / 1000 >= up * (1 - Fraction(1, 10**10))
        assert 0 < Fraction(least) < Fraction(before)


@pytest.mark.xdist_group("releases")
def test_every_sentence_is_said_in_every_language(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()
    say = Voice.say

    def heard(self: Voice, name: str, **values: Any) -> Any:
        names.add(name)
        return say(self, name, **values)

    monkeypatch.setattr(Voice, "say", heard)
    for found in releases():
        for language in ("en", "de"):
            statement = dv.statement(found, language)
            page, text = statement.html(), statement.text()
            assert page.startswith(f'<!doctype html>\n<html lang="{language}">')
            assert "<script" not in page
            assert not re.search(r"\{\w+\}|\binf\b|\bnan\b", text), text
            assert len(text.splitlines()) > 20
    again = (Note("note_together", {"releases": 2, "total": "ldp 2", "loss": 2.0}),)
    assert dv.statement(replace(published(people, dv.Count(), {"guarantee": "dp=1"}), notes=again), "de").parts
    before = (Note("note_together", {"releases": 2, "total": "ldp 2"}), Note("note_together_void", {"releases": 3}),
              Note("note_known_alone"), Note("note_single", {"columns": ["year"]}),
              Note("note_untouched", {"columns": ["age"]}), Note("note_groups"),
              Note("note_clamped", {"columns": ["age"]}), Note("note_taken", {"columns": ["sex"]}),
              Note("note_bought", {"columns": ["city"], "epsilon": 0.5, "delta": 1e-6}),
              Note("note_interval", {"reach": "500", "total": "dp 0.2"}),
              Note("note_interval_rows", {"rows": "100"}),
              Note("note_interval_ranks", {"ranks": "50", "total": "dp 0.2"}),
              Note("note_accounts", {"columns": ["patient"], "goal": "dp 2"}))  # fmt: skip
    assert dv.statement(replace(published(people, dv.Count(), {"guarantee": "dp=1"}), notes=before), "de").parts
    missing = (set(STATISTICS) | set(NOTES)) - names
    assert not missing, f"nobody says {sorted(missing)}"


def test_the_promise_that_was_asked_for_leads_with_its_numbers(people: Any) -> None:
    found = published(people, *CASES[0])
    text = said(found)
    assert "no answer becomes more than 2.72 times as likely" in text  # e, rounded up
    assert "one that had 10 in 1,000 before has at most 27.19 in 1,000 after" in text
    loss = math.log(0.99 / (math.exp(-1) - 0.01))  # -log(p + (1 - p) e^-loss) = 1
    assert found.loss == pytest.approx(loss)
    for chance in (1, 10, 100, 500):
        p = chance / 1000
        most = math.ceil(1e5 * p / (p + (1 - p) * math.exp(-loss))) / 100
        least = math.floor(1e5 * p / (p + (1 - p) * math.exp(loss))) / 100
        assert f"{chance} {Voice().number(most, 2)} {Voice().number(least, 2)}" in text
    factor = math.ceil(100 * math.exp(loss)) / 100
    twice = math.ceil(100 * math.exp(2 * loss)) / 100
    assert f"by {twice:g} times in place of {factor:g} times" in text
    assert f"off by {found.queries[0]['half_width']} at most, in 950 of 1,000 such releases" in text
    assert text.index("no answer becomes") < text.index("had any one person answered")
    for question in ("May this page be public?", "Who is at most risk?", "Can a small group be counted?",
                     "How many people are in a group?", "What can I tell somebody who is worried?",
                     "What does a second release do?", "What is not promised"):  # fmt: skip
        assert question in text, question


@pytest.mark.thin
@pytest.mark.parametrize("rho", [0.01, 0.1, 1.0])
def test_once_in_a_million_is_no_more_than_that_by_the_law(people: Any, rho: float) -> None:
    """P(loss > E) of two shifted discrete Gaussians, summed up, for the factor e^E that the page tells."""
    found = published(people, dv.Count("race"), {"guarantee": f"zcdp={rho}", "noise": "gaussian"})
    text = said(found)
    sigma = found.queries[0]["scale"]
    factor = math.exp(rho + 2 * math.sqrt(rho * math.log(2e6)))
    if factor >= 1000:
        assert "so weak" in text
        return
    shown = re.search(r"up to a factor of at most (\d+(?:\.\d+)?)", text)
    assert shown is not None
    assert factor <= float(shown[1]) <= factor * 1.01
    weight = {k: math.exp(-k * k / (2 * sigma**2)) for k in range(-400, 401)}
    whole = sum(weight.values())
    loss: dict[int, float] = {}
    for a, p in weight.items():  # the loss of k = a + b is (1 - k) / sigma^2
        for b, q in weight.items():
            loss[a + b] = loss.get(a + b, 0.0) + p * q / whole**2
    assert sum(p for k, p in loss.items() if abs(1 - k) / sigma**2 > math.log(float(shown[1]))) <= 1e-6


def test_a_receipt_makes_the_same_page_again_in_its_language(people: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    found = dv.publish(people, dv.Count("race"), out, guarantee="dp=1", values=VALUES, language="de")
    page = (tmp_path / "out.statement.html").read_text(encoding="utf-8")
    assert page == dv.statement(tmp_path / "out.receipt.json", "de").html() == dv.statement(found, "de").html()
    assert (tmp_path / "out.statement.txt").read_text(encoding="utf-8") == dv.statement(found, "de").text()
    assert json.loads((tmp_path / "out.receipt.json").read_text())["told"] == list(found.told)
    with pytest.raises(dv.DivulgeError, match="one of de, en"):
        dv.statement(found, "klingon")
    with pytest.raises(dv.DivulgeError, match="one of de, en"):
        dv.publish(people, dv.Count("race"), guarantee="dp=1", values=VALUES, language="klingon")


def test_what_was_published_before_is_told_in_both_languages(people: Any, tmp_path: Path) -> None:
    how: dict[str, Any] = {"values": VALUES, "ledger": tmp_path / "l.sqlite", "source_name": "survey"}
    dv.publish(people, dv.Count("race"), guarantee="dp=1", **how)
    found = dv.publish(people, dv.Count("race"), guarantee="dp=1", **how)
    assert "has 2 releases" in dv.statement(found).together
    assert "stehen 2 Veröffentlichungen" in dv.statement(found, "de").together
    third = dv.publish(people, dv.Count("race"), guarantee="zcdp=0.1", noise="gaussian", **how)
    assert "3 releases" in dv.statement(third).together


def test_sentences_follow_what_was_asked(people: Any) -> None:
    """Each pair: what only the first page says, and what only the second does."""
    asked = [dv.Count("race"), dv.Count("race", "sex")]
    plain = said(published(people, asked, {"guarantee": "dp=1"}))
    treated = {"non_negative": True, "consistent": True, "whole": True}
    moved = said(published(people, asked, {"guarantee": "dp=1"} | treated))
    for only in ("A count or a sum can be below 0", "A total can differ", "is twice that of one"):
        assert only in plain, only
        assert only not in moved, only
    for only in ("No count is below 0", "add up to the same totals", "does not follow from theirs"):
        assert only in moved, only
        assert only not in plain, only
    mean = published(people, dv.Mean("age", (15, 100), by="sex"), {"guarantee": "dp=1", "person": "who", "at_most": 2})
    page = said(mean)
    assert "cut to 15 to 100" in page
    assert "at most 2 of each person, and not those of all rows" in page
    assert "No: no count with noise was published." in page
    taken = said(published(people, dv.Count("race"), {"guarantee": "dp=1", "values": None, "values_from_data": True}))
    assert "not covered by the promise" in taken
    assert "whatever they knew" not in taken
    assert "knows everything else in the source." not in taken.replace("Somebody who knows everything else", "")
    width = published(people, asked[0], {"guarantee": "dp=1"}).queries[0]["half_width"]
    assert f"a group of up to {2 * width} can hold 0" in said(published(people, asked[0], {"guarantee": "dp=1"}))


def test_what_all_releases_add_up_to_leads(people: Any, tmp_path: Path) -> None:
    how: dict[str, Any] = {"values": VALUES, "ledger": tmp_path / "l.sqlite", "source_name": "survey"}
    for _ in range(3):
        third = dv.publish(people, dv.Count("race"), guarantee="dp=1", **how)
    page = said(third)
    assert "This table alone changes odds by 2.72 times at most." in page
    assert "With the releases before it about the same people, 3 in all: by 20.1 times." in page


def test_names_of_columns_cannot_turn_the_page(people: Any) -> None:
    table = pa.table({"<b>x</b>": ["a"] * 5, "‮y": ["b"] * 5})
    found = dv.publish(table, dv.Count("<b>x</b>", "‮y"), guarantee="dp=1", values_from_data=True)
    page = dv.statement(found).html()
    assert "<b>x" not in page
    assert "&lt;b&gt;x" in page
    assert "<bdi>" in page


def _numbers_below(text: str, head: str) -> list[list[float]]:
    """Return the rows of numbers of the table under a heading."""
    rows: list[list[float]] = []
    for line in text.partition(head)[2].splitlines()[2:]:
        cells = line.replace(",", "").split()
        if cells and all(re.fullmatch(r"[\d.]+", cell) for cell in cells):
            rows.append(list(map(float, cells)))
        elif rows:
            break
    return rows


@pytest.mark.parametrize(
    ("guarantee", "neighbors", "rho"), [("zcdp=0.1", "replaced", 0.1), ("zcdp=0.02", "added", 0.08)]
)
def test_where_no_factor_bounds_all_tables_it_says_what_most_tell(guarantee: str, neighbors: str, rho: float) -> None:
    """Held against Gaussian noise of this rho, whose tests are known: mu = sqrt(2 rho)."""
    table = pa.table({"ill": ["yes", "no"] * 50})
    made = dv.publish(table, dv.Count("ill"), guarantee=guarantee, neighbors=neighbors, values={"ill": ["yes", "no"]})
    text = str(dv.statement(made))
    rows, mu = _numbers_below(text, "How much likelier"), math.sqrt(2 * rho)
    assert [row[0] for row in rows] == [1, 10, 100, 500]
    for before, usual, alarms in rows:
        a = before / 1000
        threshold = (math.log(usual / (1000 - usual)) - math.log(a / (1 - a)) + mu**2 / 2) / mu
        assert 1e-5 < norm.sf(threshold - mu) <= 1e-3  # where the answer is true: who is told of has it
        hits = norm.sf(norm.isf(0.01) - mu)
        assert alarms / 1.3 < 1000 * a * hits / (a * hits + (1 - a) * 0.01) <= alarms
    words = " ".join(text.split())
    right = float(re.findall(r"the right one for at most ([\d.]+) of 1,000", words)[0])
    assert right / 1.1 < 1000 * norm.cdf(mu / 2) <= right
    assert f"one of at most {rows[1][1]:g} in 1,000" in words
    twice = float(re.findall(r"at most ([\d.]+) in 1,000, in 999 of 1,000 such pairs", words)[0])
    both = dv.statement(replace(made, guarantees={"zcdp": 2 * made.guarantees["zcdp"]}))
    assert twice == _numbers_below(str(both), "How much likelier")[1][1] > rows[1][1]
    assert "Kein brauchbarer Faktor" not in str(dv.statement(made, language="de"))


def test_a_promise_that_leaves_everything_possible_says_so() -> None:
    table = pa.table({"ill": ["yes", "no"] * 50})
    made = dv.publish(table, dv.Count("ill"), guarantee="zcdp=50", values={"ill": ["yes", "no"]})
    assert "No useful factor bounds what every possible table tells" in " ".join(str(dv.statement(made)).split())


def test_levels_of_notes_are_written_as_the_language_writes_them() -> None:
    """1.17679 is 117,679 to whoever reads 34.142 as 34,142 on the same page."""
    notes = (
        Note("note_together", {"releases": 2, "total": "ldp 2.5, pml 1.17679, adp 1.5 at delta 1e-06", "loss": 2.5}),
        Note("note_interval", {"reach": "1,234.5", "total": "dp 0.25"}),
        Note("note_accounts", {"columns": ["patient 1.5"], "goal": "dp 2.5"}),
    )
    text = said(replace(published(table(), dv.Count(), {"guarantee": "dp=1"}), notes=notes), "de")
    for levels in (
        "ldp 2,5, pml 1,17679, adp 1,5 bei delta 0,000001",
        "weiter daneben als 1.234,5",
        "dp 0,25",
        "dp 2,5 ein",
    ):
        assert levels in text, levels
    assert "patient 1.5" in text  # a name is no number
    assert remark(Voice("de"), notes[0].text).endswith("ldp 2,5, pml 1,17679, adp 1,5 bei delta 0,000001 (nats).")


@pytest.mark.parametrize(("answers", "told"), [(["yes"] * 9, True), (["yes"] * 8 + ["no"], False)])
def test_a_list_of_one_value_is_told_to_tell_it_of_everybody(answers: list[str], told: bool) -> None:
    """No noise hides it: a release of such a column is refused, and a count by a year of which there is one is not."""
    people = pa.table({"ill": answers, "year": ["2026"] * len(answers)})
    found = dv.publish(people, dv.Count("ill", "year"), guarantee="dp=1", values_from_data=True)
    columns = [note.values["columns"] for note in found.notes if note.name == "note_single"]
    assert columns == [["ill", "year"] if told else ["year"]]
    assert "it tells this of everybody" in said(found)
    alone = dv.publish(people, dv.Count("ill"), guarantee="dp=1", values_from_data=True)
    assert any(note.name == "note_single" for note in alone.notes) == told
    assert ("Sie verrät das von allen" in said(alone, "de")) == told
