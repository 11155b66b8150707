"""Releases of the same people add up about a person: exact posteriors by whoever reads everything that went out."""

import itertools
import math
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import THOROUGH, few, some
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.releasing.column import Release
from divulge.releasing.persons import most_of
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.promised import Spent, together
from divulge.releasing.release import expected

ROWS = {"a": 3, "b": 1, "c": 2, "d": 2}
"""Four people with so many visits."""

WHO = [name for name, rows in ROWS.items() for _ in range(rows)]
HOME = {"a": "x", "b": "x", "c": "y", "d": "y"}
VISITS = pa.table({
    "who": WHO, "home": [HOME[name] for name in WHO], "visit": list(range(len(WHO))),
    "ill": ["yes", "no", "no", "yes", "no", "no", "yes", "yes"],
})  # fmt: skip
SEX = VISITS.append_column("sex", pa.array(["f" if name in "ac" else "m" for name in WHO]))


def weights(receipt: Any) -> dict[tuple[str, str], Fraction]:
    """Return P(said | true) as fractions."""
    (mechanism,) = receipt.mechanisms
    whole = 2**mechanism.channel.bits
    return {
        (x, y): Fraction(int(w), whole)
        for x, row in zip(mechanism.channel.secrets, mechanism.channel.weights.tolist(), strict=True)
        for y, w in zip(mechanism.channel.outcomes, row, strict=True)
    }


def worst_odds(receipts: list[Any], rows: int) -> Fraction:
    """Return the largest change of odds between two histories of a person with so many rows, over all that is seen.

    Each release shows one draw for a person who has one answer, one for each row that counts, or one for each row; the
    histories are all that a person may have answered, or one answer for all where a release said so.
    """
    channels = [weights(one) for one in receipts]
    secrets = sorted({x for x, _ in channels[0]})
    once = any(one.protects.get("one_answer") for one in receipts)
    histories = [(x,) * rows for x in secrets] if once else list(itertools.product(secrets, repeat=rows))
    best = {history: Fraction(1) for history in histories}
    shown = [1 if one.protects.get("one_answer") else min(one.protects.get("rows_per_person") or rows, rows)
             for one in receipts]  # fmt: skip
    worst = Fraction(1)
    sights = [itertools.product(sorted({y for _, y in c}), repeat=k) for c, k in zip(channels, shown, strict=True)]
    for seen in itertools.product(*sights):
        best = {
            history: math.prod(
                (c[x, y] for c, part in zip(channels, seen, strict=True) for x, y in zip(history, part, strict=False)),
                start=Fraction(1),
            )
            for history in histories
        }
        worst = max(worst, max(best.values()) / min(best.values()))
    return worst


HOW: dict[str, dict[str, Any]] = {
    "row": {"per_row": True}, "one": {"person": "who", "one_answer": True},
    "two": {"person": "who", "rows_per_person": 2}, "three": {"person": "who", "rows_per_person": 3},
}  # fmt: skip


SEVERAL = [pair for n in (2, 3) for pair in itertools.product(HOW, repeat=n) if set(pair) - {"row"}]


@pytest.mark.parametrize("several", SEVERAL if THOROUGH else some(SEVERAL)[::3])
def test_the_keepers_total_holds_for_whoever_reads_all_releases(several: tuple[str, ...], tmp_path: Path) -> None:
    """What is shown before the click is at least what the worst outputs of all releases do to the odds of a person."""
    book, column = tmp_path / "l.sqlite", "sex" if "one" in several else "ill"
    asked = {"column": column, "mechanism": "randomized-response", "ratio": 3, "ledger": book, "source_name": "s"}
    done = [dv.release(SEX, **asked, **HOW[how]) for how in several[:-1]]
    shown = expected(Release(**asked, **HOW[several[-1]]), SEX)
    done.append(dv.release(SEX, **asked, **HOW[several[-1]]))
    true = math.log(worst_odds(done, max(ROWS.values())))
    total = dv.Ledger(book).spent("s", [column])["ldp"]
    assert shown.total is not None
    assert shown.total["guarantees"]["ldp"] == total
    assert true <= total * (1 + 1e-12)
    assert total <= true * (1 + 1e-9) + 1e-9 or "one" in several  # of one answer, rows beyond say the same again
    public = done[-1].together["guarantees"]["ldp"]
    assert public >= total
    assert math.isinf(public) == ("row" in several)  # how many rows a person has is not told
    with pytest.raises(dv.DivulgeError, match="nothing was drawn"):
        dv.release(SEX, **asked, **HOW[several[-1]], budget=f"ldp={total}")


def test_a_majority_of_all_draws_is_what_the_total_says(tmp_path: Path) -> None:
    """The posterior of the visitor with most visits, whose draws all agree: what 1 in 100 is told to become."""
    book = tmp_path / "l.sqlite"
    asked = {"column": "sex", "mechanism": "randomized-response", "ratio": 3, "ledger": book, "source_name": "s"}
    dv.release(SEX, **asked, person="who", one_answer=True)
    told: list[str] = []
    done = dv.release(SEX, **asked, per_row=True, warn=told.append)
    odds = Fraction(1, 99) * 3 ** (1 + 3)  # one draw, and one for each of three rows
    total = dv.Ledger(book).spent("s", ["sex"])["ldp"]
    bound = dv.guarantees.posterior_bounds(dv.LDP(total), "1/100").upper
    assert float(odds / (1 + odds)) == pytest.approx(float(bound), rel=1e-9)
    assert any("at most 3 about one of 'who'" in sentence for sentence in told)
    assert not any("at most 3" in sentence for sentence in done.warnings)
    assert "no useful bound on what all of them tell together about a person" in dv.statement(done).text().replace(
        "\n", " "
    )
    assert "at most 3" not in done.to_json().decode()


def test_statistics_of_people_and_a_release_of_rows(tmp_path: Path) -> None:
    """One visitor with three rows: the noisy count of their answers as one record, and three draws of their own."""
    book = dv.Ledger(tmp_path / "l.sqlite")
    asked = {"ledger": book, "source_name": "s"}
    values = {"ill": ["yes", "no"]}
    dv.publish(VISITS, dv.Count("ill"), guarantee="dp=1", values=values, person="who", rows_per_person=3, **asked)
    row = {"column": "ill", "mechanism": "randomized-response", "ratio": 3, "per_row": True, **asked}
    with pytest.raises(dv.DivulgeError, match=r"must allow dp 4\.3 in all"):
        dv.release(VISITS, **row, budget="dp=4.29")
    dv.release(VISITS, **row, budget="dp=4.3")
    assert book.spent("s", ["ill"])["ldp"] == pytest.approx(1 + 3 * math.log(3), rel=1e-9)


def test_people_of_two_columns(tmp_path: Path) -> None:
    """A home of two people has two draws where each of them has one; a person is in one home only."""
    book = dv.Ledger(tmp_path / "l.sqlite")
    alike = VISITS.set_column(3, "ill", pa.array(["yes"] * 3 + ["yes"] + ["no"] * 4))
    asked = {"column": "ill", "mechanism": "randomized-response", "ratio": 3, "ledger": book, "source_name": "s"}
    dv.release(alike, **asked, person="who", one_answer=True)
    dv.release(alike, **asked, person="home", one_answer=True)
    assert book.spent("s", ["ill"])["ldp"] == pytest.approx(3 * math.log(3), rel=1e-12)  # a home: 2 draws and 1
    assert most_of(dv.open_table(VISITS), "home", "who") == 2
    assert most_of(dv.open_table(VISITS), "who", "home") == 1
    assert most_of(dv.open_table(VISITS), "who", None) == 3
    assert most_of(dv.open_table(VISITS), "nobody", None) is None


def test_a_table_that_grew_keeps_what_is_known_of_the_old_one(tmp_path: Path) -> None:
    """Rows of a person in the old table count where they are on record, and are not known where they are not."""
    rng = np.random.default_rng(1)
    more = pa.concat_tables([VISITS] * 10).set_column(2, "visit", pa.array(range(80)))
    more = more.append_column("age", pa.array(rng.integers(18, 90, 80)))
    new = {"who": ["e"] * 4, "home": ["z"] * 4, "visit": range(80, 84), "ill": ["no"] * 4, "age": [33] * 4}
    grown = pa.concat_tables([more, pa.table(new).cast(more.schema)])
    asked = {"column": "ill", "mechanism": "randomized-response", "ratio": 3}
    for named in (True, False):
        book = dv.Ledger(tmp_path / f"{named}.sqlite")
        person: dict[str, Any] = {"person": "who"} if named else {}
        dv.release(more, **asked, **person, per_row=True, ledger=book, source_name="March")
        told: list[str] = []
        dv.release(grown, **asked, person="who", rows_per_person=2, ledger=book, source_name="June", warn=told.append)
        assert any("counted as the same people" in sentence for sentence in told)
        total = book.spent("June", ["ill"])["ldp"]
        assert total == (pytest.approx(31 * math.log(3), rel=1e-12) if named else math.inf)
        assert any("rows-per-person" in sentence for sentence in told) != named
        if not named:
            with pytest.raises(dv.DivulgeError, match="rows-per-person"):
                dv.release(grown, **asked, person="who", rows_per_person=2, ledger=book, source_name="June",
                           budget="ldp=100")  # fmt: skip
            line = ["ledger", "rows-per-person", "March", "30", "--person", "who", "--ledger", str(book.file)]
            assert CliRunner().invoke(app, line).exit_code == 0
            assert book.spent("June", ["ill"])["ldp"] == pytest.approx(31 * math.log(3), rel=1e-12)
            book.rows_per_person("June", "who", 1)  # what was counted stays
            assert book.spent("June", ["ill"])["ldp"] == pytest.approx(31 * math.log(3), rel=1e-12)


def test_answers_may_have_changed_in_a_table_that_grew() -> None:
    """a in both tables against b in March and c in June: no single answer loses as much as these two."""
    channels = [
        dv.IntegerChannel.of(dv.Channel(rows, ["a", "b", "c"], ["y", "z"]))
        for rows in ([["1/2", "1/2"], ["3/4", "1/4"], ["1/2", "1/2"]], [["1/2", "1/2"], ["1/2", "1/2"], ["3/4", "1/4"]])
    ]
    prior = dv.Prior(["1/3"] * 3, ["a", "b", "c"])
    same, other = (
        together([Spent(("x",), one, prior, table=name) for one, name in zip(channels, names, strict=True)], None)
        for names in (("March", "March"), ("March", "June"))
    )
    histories = list(itertools.product(range(3), repeat=2))
    worst = max(
        channels[0].exact.matrix[h[0], y] * channels[1].exact.matrix[h[1], z]
        / (channels[0].exact.matrix[g[0], y] * channels[1].exact.matrix[g[1], z])
        for h in histories for g in histories for y in range(2) for z in range(2)
    )  # fmt: skip
    assert other["ldp"] >= math.log(worst) - 1e-15 > same["ldp"]
    assert other["ldp"] == pytest.approx(math.log(worst), rel=1e-12)


@pytest.mark.parametrize("seed", range(few(6)))
def test_groups_of_records_by_every_outcome(seed: int) -> None:
    """k records that change, one after the other: the worst (epsilon, delta) over k steps of a mechanism."""
    rng = np.random.default_rng(seed)
    k, epsilon, delta = int(rng.integers(2, 5)), float(rng.uniform(0.1, 1)), float(rng.uniform(1e-4, 1e-2))
    chain = [np.array([1 - (k - i) * 1e-3, (k - i) * 1e-3]) for i in range(k + 1)]
    # outcome 2 gives away that nothing was changed, with delta a step; else the odds change by e^epsilon a step
    laws = [np.array([*(p * (1 - delta * i)), delta * i]) for i, p in enumerate(chain)]
    step = max(
        sum(max(0.0, float(b[y] - math.exp(epsilon) * a[y])) for y in range(3))
        for a, b in [pair for i in range(k) for pair in ((laws[i], laws[i + 1]), (laws[i + 1], laws[i]))]
    )
    found = Aggregate(("x",), {"ldp": math.inf}, 0.3, None, (epsilon, step)).of_draws(k)
    assert found.adp is not None
    for a, b in ((laws[0], laws[k]), (laws[k], laws[0])):
        needed = sum(max(0.0, float(b[y] - math.exp(found.adp[0]) * a[y])) for y in range(3))
        assert needed <= found.adp[1] * (1 + 1e-12)
    assert found.adp == pytest.approx((k * epsilon, step * math.expm1(k * epsilon) / math.expm1(epsilon)), rel=1e-12)
    assert found.rho >= 0.3 * k**2
    assert Aggregate(("x",), {"ldp": 0.0}, 0.0, None, (0.0, 1e-6)).of_draws(3).adp == (0.0, pytest.approx(3e-6))


def test_old_ledgers_say_what_they_cannot_know(tmp_path: Path) -> None:
    book = dv.Ledger(tmp_path / "l.sqlite")
    asked = {"column": "ill", "mechanism": "randomized-response", "ratio": 3, "ledger": book, "source_name": "s"}
    dv.release(VISITS, **asked, per_row=True)
    with sqlite3.connect(tmp_path / "l.sqlite") as connection:  # as an earlier version wrote it
        connection.execute("delete from divulge_about")
        connection.execute("delete from divulge_tables")
        connection.execute("drop table divulge_persons")
    book = dv.Ledger(tmp_path / "l.sqlite")
    told: list[str] = []
    dv.release(VISITS, **asked | {"ledger": book}, person="who", rows_per_person=3, warn=told.append)
    assert any("does not say whom it is about" in sentence for sentence in told)
    assert book.spent("s", ["ill"])["ldp"] == math.inf
    book.rows_per_person("s", "who", 3)
    assert book.spent("s", ["ill"])["ldp"] == pytest.approx(4 * math.log(3), rel=1e-12)
    with pytest.raises(dv.DivulgeError):
        book.rows_per_person("s", "who", 0)
