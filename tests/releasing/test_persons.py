"""The promise is the person's: exact posteriors of an attacker who reads all rows that went out, at every door."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from scipy import stats
from support import NEVER, THOROUGH, plausible, some
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.files.tables.table import open_table
from divulge.releasing.estimating.intervals import clustered
from divulge.releasing.persons import people_in, repeated

SIX = 6


def visits(people: int = 500, rows: int = SIX, seed: int = 0) -> Any:
    """Six rows a person: one faith, an illness that changes, and a number that says who."""
    rng = np.random.default_rng(seed)
    each = {"patient": np.arange(people), "age": rng.integers(18, 90, people),
            "faith": rng.choice(["a", "b", "c"], people, p=[0.7, 0.2, 0.1])}  # fmt: skip
    table = {name: np.repeat(values, rows) for name, values in each.items()}
    ill = rng.choice(["yes", "no"], people * rows)
    return pa.table({**table, "visit": np.tile(np.arange(rows), people), "ill": ill})


VISITS = visits()


def exactly(receipt: Any) -> dict[tuple[str, str], Fraction]:
    """Return P(said | true) as fractions, from what everybody can read."""
    found = receipt.to_dict()["mechanisms"][0]
    whole = 2 ** found["bits"]
    return {
        (x, y): Fraction(w, whole)
        for x, row in zip(found["secrets"], found["weights"], strict=True)
        for y, w in zip(found["outcomes"], row, strict=True)
    }


def worst_odds(receipt: Any, rows: int, one_answer: bool) -> Fraction:
    """Return the largest factor by which the odds between two histories of a person change, over all that is seen."""
    said = exactly(receipt)
    secrets, outcomes = sorted({x for x, _ in said}), sorted({y for _, y in said})
    histories = [(x,) * rows for x in secrets] if one_answer else list(itertools.product(secrets, repeat=rows))
    seen = [(y,) for y in outcomes] if receipt.protects.get("one_answer") else itertools.product(outcomes, repeat=rows)
    worst = Fraction(1)
    for sight in seen:
        chances = [
            math.prod((said[x, y] for x, y in zip(h, sight, strict=False)), start=Fraction(1)) for h in histories
        ]
        worst = max(worst, max(chances) / min(chances))
    return worst


def test_one_answer_stands_in_all_rows_and_odds_change_as_by_one_row() -> None:
    done = dv.release(VISITS, column="faith", guarantee="ldp=1", person="patient", one_answer=True)
    said = np.array(done.table["faith_perturbed"].to_pylist()).reshape(-1, SIX)
    assert (said == said[:, :1]).all()
    assert set(said[:, 0]) == {"a", "b", "c"}
    assert math.log(worst_odds(done, SIX, True)) <= done.guarantees["ldp"] <= 1
    assert done.protects == {
        "person": "patient", "rows_per_person": None, "one_answer": True, "people": 500, "squares": 18000,
    }  # fmt: skip


def test_draws_of_people_follow_the_mechanism() -> None:
    table = visits(6000, 2)
    done = dv.release(
        table, column="faith", mechanism="randomized-response", ratio=4, person="patient", one_answer=True
    )
    true, said = (np.array(t.to_pylist()[::2]) for t in (table["faith"], done.table["faith_perturbed"]))
    kept = float(exactly(done)["a", "a"])
    right = int((true == said).sum())
    assert plausible(right, 6000, kept)
    assert not plausible(right, 6000, 0.8)  # a wrong scale would be seen


def test_a_row_of_its_own_for_each_visit_gives_a_person_away() -> None:
    """What the question is for: the majority of six draws, as an attacker takes it."""
    table = visits(2000)
    alone = dv.release(table, column="faith", guarantee="ldp=1", per_row=True)
    assert math.log(worst_odds(alone, SIX, True)) > 5
    once = dv.release(table, column="faith", guarantee="ldp=1", person="patient", one_answer=True)
    true = table["faith"].to_pylist()[::SIX]

    def right(done: Any) -> float:
        said = np.array(done.table["faith_perturbed"].to_pylist()).reshape(-1, SIX)
        return float(
            np.mean([Counter(row).most_common(1)[0][0] == x for row, x in zip(said.tolist(), true, strict=True)])
        )

    assert right(alone) > 0.67 > right(once)  # about .77 and .58, each eight deviations of 2,000 people away


@pytest.mark.thin
@pytest.mark.parametrize("guarantee", ["ldp=1", "pml=0.7", "pmc=0.7", "lip=0.5", "alip=0.6:0.9"])
@pytest.mark.parametrize("rows", [2, 3])
def test_answers_that_change_share_the_promise(guarantee: str, rows: int) -> None:
    done = dv.release(VISITS, column="ill", guarantee=guarantee, person="patient", rows_per_person=rows)
    asked = min(map(float, dv.guarantees.parse(guarantee).values().values()))
    assert math.log(worst_odds(done, rows, False)) <= done.guarantees["ldp"] <= asked
    assert done.guarantees["ldp"] > 0.999 * asked
    assert done.rows == 500 * rows
    assert done.protects == {"person": "patient", "rows_per_person": rows}
    assert "patient" not in done.table.column_names


def test_a_mechanism_by_its_name_is_as_strong_for_a_person() -> None:
    for strength in ({"epsilon": 1.0}, {"ratio": "3"}, {"epsilon": 1.0, "unit": "bits"}):
        done = dv.release(VISITS, column="ill", mechanism="randomized-response", rows_per_person=6, **strength)
        asked = math.log(3) if "ratio" in strength else 1.0 * (math.log(2) if "unit" in strength else 1)
        assert 0.999 * asked < done.guarantees["ldp"] <= asked
        assert math.log(worst_odds(done, 6, True)) <= done.guarantees["ldp"]


def test_a_guarantee_without_a_share_is_refused() -> None:
    with pytest.raises(dv.DivulgeError, match="one_answer"):
        dv.release(VISITS, column="ill", guarantee="mutual-information=0.1", rows_per_person=2)


def test_rows_beyond_are_left_out_whatever_the_answers_are() -> None:
    """The rows of each person are sorted by their answer: whether a row stays has nothing to do with it."""
    people = 4000
    table = pa.table({"who": np.repeat(np.arange(people), 4), "x": np.tile(["a", "b", "c", "d"], people)})
    coin = {x: {x: 1} for x in "abcd"}
    same = dv.Channel([[float(x == y) for y in coin] for x in coin], list(coin), list(coin))
    done = dv.release(table, column="x", mechanism=same, person="who", rows_per_person=1)
    stayed = Counter(done.table["x_perturbed"].to_pylist())
    assert sum(stayed.values()) == people
    for count in stayed.values():
        assert plausible(count, people, 1 / 4)
    kept = people_in(open_table(table), "who").drawn(3)
    assert np.bincount(table["who"].to_numpy()[kept]).tolist() == [3] * people


def test_people_with_two_answers_are_told_as_a_count(tmp_path: Path) -> None:
    table = VISITS.set_column(0, "patient", pa.array(np.repeat(np.arange(500), SIX)))
    faith = table["faith"].to_pylist()
    faith[0], faith[13] = "z", "z"
    wrong = table.set_column(2, "faith", pa.array(faith))
    with pytest.raises(dv.DivulgeError, match="several answers is 2 of 500") as refused:
        dv.release(wrong, tmp_path / "o.csv", column="faith", guarantee="ldp=1", person="patient", one_answer=True)
    assert "'z'" not in str(refused.value)
    assert not list(tmp_path.iterdir())
    missing = table.set_column(0, "patient", pa.array([None, *table["patient"].to_pylist()[1:]]))
    with pytest.raises(dv.DivulgeError, match="empty in 1 row"):
        dv.release(missing, column="faith", guarantee="ldp=1", person="patient", one_answer=True)


def test_the_column_that_says_who_goes_out_only_by_name() -> None:
    how: dict[str, Any] = {"column": "faith", "guarantee": "ldp=1", "person": "patient", "one_answer": True}
    assert "patient" not in dv.release(VISITS, **how).table.column_names
    assert dv.release(VISITS, **how, keep=["patient"]).untouched == ("patient",)
    assert dv.release(VISITS, **how, only_column=True).untouched == ()


EVERY: dict[str, Any] = {
    "release": lambda table, **how: dv.release(table, column="faith", guarantee="ldp=1", **how),
    "preview": lambda table, **how: dv.preview(table, column="faith", guarantee="ldp=1", **how),
    "publish": lambda table, **how: dv.publish(
        table, dv.Count("faith"), guarantee="dp=1", values_from_data=True, **how
    ),
    "run": lambda table, **how: dv.run(dv.Request.of("release", column="faith", guarantee="ldp=1", **how), table),
}


@pytest.mark.parametrize("door", EVERY)
def test_every_door_asks_whose_rows_these_are(door: str) -> None:
    with pytest.raises(dv.DivulgeError, match=r"--one-answer.*--rows-per-person.*--per-row"):
        EVERY[door](VISITS)
    EVERY[door](VISITS, per_row=True)
    EVERY[door](VISITS, person="patient", rows_per_person=2)
    EVERY[door](VISITS, person="patient", one_answer=True)


def test_the_command_asks_and_says_whom_it_protects(tmp_path: Path) -> None:
    csv.write_csv(VISITS, tmp_path / "v.csv")
    line = ["release", str(tmp_path / "v.csv"), "--column", "faith", "--guarantee", "ldp=1", "--no-ledger"]
    asked = CliRunner().invoke(app, [*line, "-o", str(tmp_path / "o.csv")])
    assert asked.exit_code == 2
    assert "--person patient" in asked.output
    once = ["--person", "patient", "--one-answer", "--json", "-o"]
    for more, protects in (
        (once, {"person": "patient", "rows_per_person": None}),
        (["--rows-per-person", "6", "--json", "-o"], {"person": None, "rows_per_person": 6}),
        (["--per-row", "--json", "-o"], {"person": None, "rows_per_person": None}),
    ):
        done = CliRunner().invoke(app, [*line, *more, str(tmp_path / f"{len(more)}{more[0]}.csv")])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)["protects"]
        assert {name: found[name] for name in protects} == protects


N = 3000
RNG = np.random.default_rng(1)
PLAIN = {
    "postcode": [f"{i:05d}" for i in RNG.integers(0, 400, N)], "age": RNG.integers(18, 90, N),
    "town": RNG.choice(["x", "y", "z"], N), "income": RNG.integers(0, 900, N) * 100, "id": np.arange(N),
    "user_type": RNG.choice(["new", "old"], N), "patient_age": RNG.integers(0, 99, N),
    "student": RNG.integers(0, 40, N),
}  # fmt: skip
ANSWER = RNG.choice(["yes", "no"], N)


@pytest.mark.parametrize("name", PLAIN)
def test_columns_that_name_nobody_are_not_taken_for_people(name: str) -> None:
    table = pa.table({name: PLAIN[name], "sex": RNG.choice(["f", "m"], N), "answer": ANSWER})
    assert repeated(open_table(table), ["answer"]) is None


def test_the_census_names_nobody() -> None:
    for column in some(["race", "sex", "education"]):
        assert repeated(open_table(dv.datasets.census_path()), [column]) is None


@pytest.mark.parametrize(("drop", "column", "named"), [
    ([], "ill", "patient"), ([], "faith", "patient"),
    (["visit"], "ill", "patient"),
])  # fmt: skip
def test_people_with_several_rows_are_noticed(drop: list[str], column: str, named: str | None) -> None:
    table = VISITS.drop_columns(drop)
    found = repeated(open_table(table), [column])
    assert found == named if named else found is not None
    other = table.rename_columns(["z" if name == "patient" else name for name in table.column_names])
    if column == "faith" or "visit" in table.column_names:
        assert repeated(open_table(other), [column]) is not None


@pytest.mark.parametrize("name", ["patient", "Patient_ID", "personId", "user id", "KundenNr", "E-Mail", "student_no"])
def test_a_column_called_after_people_is_one_where_it_repeats(name: str) -> None:
    table = pa.table({name: np.repeat(np.arange(50), 3), "x": RNG.choice(["a", "b"], 150)})
    assert repeated(open_table(table), ["x"]) == name


@pytest.mark.parametrize("parts", [1, 2])
def test_people_are_noticed_in_a_column_of_codes_whatever_its_values_are(parts: int) -> None:
    """A value may stand twice in a dictionary, none may, and what no row has; a row may have no code."""
    names = pa.array([None, "x", *(f"p{i // 2}" for i in range(400))])
    rows = pa.array([None, 0, *RNG.permutation(np.arange(400)) + 2], type=pa.int32())
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(rows, names)] * parts)
    plain = pa.array(column.to_pylist())
    assert plain.null_count == 2 * parts
    answer = pa.array(RNG.choice(["a", "b"], len(plain)))
    for kind in (column, plain):
        assert repeated(open_table(pa.table({"person": kind, "x": answer})), ["x"]) == "person"
    once = pa.DictionaryArray.from_arrays(pa.array(np.arange(2, 402, 2), type=pa.int32()), names)
    assert repeated(open_table(pa.table({"person": once, "x": answer[: len(once)]})), ["x"]) is None


def test_rows_that_repeat_in_all_public_columns_with_one_answer_are_noticed() -> None:
    rng = np.random.default_rng(5)
    each = {"age": rng.integers(18, 90, 300), "town": rng.integers(0, 400, 300), "sex": rng.choice(["f", "m"], 300)}
    table = pa.table({name: np.repeat(values, 4) for name, values in each.items()})
    faith = np.repeat(rng.choice(["a", "b"], 300), 4)
    assert repeated(open_table(table.append_column("x", pa.array(faith))), ["x"]) == ""
    assert repeated(open_table(table.append_column("x", pa.array(rng.permutation(faith)))), ["x"]) is None


def test_intervals_hold_where_the_rows_of_a_person_show_one_draw() -> None:
    rng = np.random.default_rng(3)
    sizes = 16 * rng.integers(1, 40, 60)
    answers = rng.choice(["a", "b"], 60, p=[0.3, 0.7])
    table = pa.table({"who": np.repeat(np.arange(60), sizes), "x": np.repeat(answers, sizes)})
    true = float((np.repeat(answers, sizes) == "a").mean())
    missed = as_rows = 0
    runs = 60 if THOROUGH else 24
    for _ in range(runs):
        done = dv.release(table, column="x", guarantee="ldp=2", prior="uniform", person="who", one_answer=True)
        found = dv.estimate_frequencies(done.table, done)
        place = found.values.index("a")
        missed += not found.lower[place] <= true <= found.upper[place]
        alone = dv.estimate_frequencies(done.table, done.channel, column="x_perturbed")  # who does not know of people
        as_rows += not alone.lower[place] <= true <= alone.upper[place]
    assert missed <= stats.binom.isf(NEVER, runs, 0.05)
    assert as_rows > runs / 5


def test_half_widths_of_people_with_one_row_are_those_of_hoeffding() -> None:
    inverse = np.linalg.inv(np.array([[0.75, 0.25], [0.25, 0.75]]))
    off = clustered(np.eye(2), inverse, 400, 400, 0.05)
    assert off == pytest.approx([2 * math.sqrt(math.log(40) / 800)] * 2)


def test_the_statement_says_whom_the_promise_is_about_and_what_it_does_not_cover() -> None:
    def said(**how: Any) -> str:
        return " ".join(dv.statement(dv.release(VISITS, column="faith", guarantee="ldp=1", **how)).text().split())

    row, once = said(per_row=True), said(person="patient", one_answer=True)
    some = said(person="patient", rows_per_person=2)
    odds = math.e
    assert f"with 2 rows the odds may change by {math.ceil(odds**2 * 100) / 100:g} times" in row
    assert f"with 6 rows by {math.ceil(odds**6):g} times" in row
    assert "several rows" in row
    assert "one and the same draw" in once
    assert "Nobody has more than 2" in some
    for text in (row, once, some):
        assert "1 in 100 becomes at most 2.68 in 100, 10 become at most 23.2, and 50 at most 73.2" in text
        assert "does not cover what relatives’ answers, other columns, or other releases" in text
        assert "see from the list that somebody gave one that nobody else gave" in text
    for text in (once, some):
        assert "several rows" not in text


def test_the_ledger_counts_all_draws_about_a_person(tmp_path: Path) -> None:
    book = dv.Ledger(tmp_path / "l.sqlite")
    how: dict[str, Any] = {"column": "ill", "guarantee": "ldp=1", "ledger": book, "source_name": "visits"}
    first = dv.release(VISITS, **how, person="patient", rows_per_person=3)
    assert book.spent("visits", ["ill"])["ldp"] == pytest.approx(first.guarantees["ldp"], rel=1e-12)
    second = dv.release(VISITS, **how, person="patient", rows_per_person=3)
    assert second.together["guarantees"]["ldp"] == pytest.approx(2.0, rel=1e-9)
    assert second.together["guarantees"]["ldp"] >= 2 * math.log(worst_odds(first, 3, False))


@pytest.mark.parametrize("how", [
    {"one_answer": True}, {"person": 3}, {"person": ""}, {"rows_per_person": 0}, {"rows_per_person": 1.5},
    {"rows_per_person": True}, {"person": "patient", "one_answer": True, "rows_per_person": 2},
    {"per_row": True, "rows_per_person": 2}, {"person": "nobody", "one_answer": True},
    {"person": "faith", "one_answer": True}, {"person": "patient"},
])  # fmt: skip
def test_answers_that_contradict_each_other_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.release(VISITS, column="faith", guarantee="ldp=1", **how)
