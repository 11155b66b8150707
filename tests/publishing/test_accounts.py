"""Accounts of people: with and without each of them, what went in differs by no more than their account holds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import some
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.dp.individual import Accounts

WARDS = ["ear", "eye", "leg"]
KEPT: dict[str, Any] = {"person": "who", "rows_per_person": 4, "neighbors": "added", "values": {"ward": WARDS},
                        "no_other": True, "source_name": "visits"}  # fmt: skip


def visits(rng: np.random.Generator, people: int) -> pa.Table:
    """Return visits of people, of whom each has 1 to 6."""
    who = np.repeat(np.arange(people), rng.integers(1, 7, people))
    return pa.table({"who": [f"p{i}" for i in who], "ward": rng.choice(WARDS, len(who)).tolist(),
                     "days": rng.integers(0, 11, len(who)).tolist()})  # fmt: skip


def without(table: pa.Table, person: str) -> pa.Table:
    return table.filter(pa.array([one != person for one in table["who"].to_pylist()]))


def numbers(done: Any) -> list[np.ndarray]:
    """Return the exact numbers that noise was added to, query by query, as the keeper has them."""
    return [np.array(one["numbers"], float).ravel() for one in done.keeper["exact"]]


def run(table: pa.Table, ledger: Path, rounds: Sequence[tuple[Any, str]], **how: Any) -> list[Any]:
    asked = {**KEPT, **how}
    return [dv.publish(table, what, guarantee=level, ledger=ledger, **asked) for what, level in rounds]


@pytest.mark.parametrize(("account", "power"), [("dp=2", 1), ("zcdp=0.3", 2)])
def test_nobody_changes_what_goes_in_by_more_than_their_account_holds(tmp_path: Path, account: str, power: int) -> None:
    rng = np.random.default_rng(3)
    same = {"who": ["p0"] * 4 + ["p1"], "ward": ["ear"] * 5, "days": [10] * 5}  # whose rows are all in one cell
    table = pa.concat_tables([pa.table(same), visits(rng, 3)])
    kind, scale = ("dp", 1.0) if power == 1 else ("zcdp", 0.15)
    asked = [dv.Count("ward"), dv.Sum("days", bounds=(0, 10)), [dv.Count("ward"), dv.Count()], dv.People("ward")]
    rounds = [(what, f"{kind}={level * scale!r}") for what, level in zip(asked, (0.5, 0.75, 1, 1.5), strict=True)]
    how = {"accounts": account, "noise": "laplace" if power == 1 else "gaussian"}
    whole = run(table, tmp_path / "whole.db", rounds, **how)
    room, most = float(account.partition("=")[2]), 0.0
    for person in some(("p0", "p1", "p2")):
        others = run(without(table, person), tmp_path / f"{person}.db", rounds, **how)
        spent = 0.0
        for one, other in zip(whole, others, strict=True):
            for query, x, y in zip(one.queries, numbers(one), numbers(other), strict=True):
                norm = np.linalg.norm(x - y, power)  # the noise is of cells: L1 / s, and L2^2 / (2 s^2)
                spent += float(norm) / query["scale"] if power == 1 else float(norm) ** 2 / 2 / query["scale"] ** 2
        assert spent <= room * (1 + 1e-9)
        most = max(most, spent)
    assert most > 0.6 * room  # some account is used
    assert numbers(whole[0])[0].sum() > numbers(whole[2])[0].sum()  # somebody was left out


def test_a_release_may_cost_all_that_an_account_holds(tmp_path: Path) -> None:
    table = pa.table({"who": ["a", "b"], "ward": ["ear"] * 2, "days": [1] * 2})
    done = run(table, tmp_path / "ledger.db", [(dv.Count("ward"), "dp=1")] * 2, accounts="dp=1", rows_per_person=1)
    assert [int(numbers(one)[0][0]) for one in done] == [2, 0]


def test_whoever_has_fewer_rows_takes_part_longer(tmp_path: Path) -> None:
    table = pa.table({"who": ["a"] * 4 + ["b"], "ward": ["ear"] * 5, "days": [1] * 5})
    done = run(table, tmp_path / "ledger.db", [(dv.Count("ward"), "dp=1")] * 5, accounts="dp=1")
    counts = [int(numbers(one)[0][0]) for one in done]
    assert counts == [5, 1, 1, 1, 0]  # 4 rows cost 1, a row costs 1/4
    ledger = dv.Ledger(tmp_path / "ledger.db")
    assert ledger.spent("visits", ["ward"])["ldp"] == 2.0  # of somebody who is replaced, and once
    assert [getattr(one.mechanisms[0], "account", None) for one in ledger.entries("visits")] == ["dp=1.0"] * 5
    more: Any = dv.publish(
        table, dv.Count("ward"), guarantee="dp=1", ledger=ledger, **KEPT
    )  # on no account: beside them
    assert numbers(more)[0][0] == 5
    assert ledger.spent("visits", ["ward"])["ldp"] == 2.0 + more.aggregate.guarantees["ldp"]
    other = dv.publish(table, dv.Count("ward"), guarantee="dp=1", ledger=ledger, accounts="dp=2", **KEPT)
    assert ledger.spent("visits", ["ward"])["ldp"] == 6.0 + more.aggregate.guarantees["ldp"]
    assert numbers(other)[0][0] == 5


def test_accounts_are_remembered_whatever_a_file_calls_a_person(tmp_path: Path) -> None:
    whole = pa.table({"who": [1, 1, 1, 1, 2], "ward": ["ear"] * 5})
    text = pa.table({"who": ["1.0"] * 4 + ["2", "3"], "ward": ["ear"] * 6})
    ledger = tmp_path / "ledger.db"
    first = run(whole, ledger, [(dv.Count("ward"), "dp=1")] * 2, accounts="dp=2")
    (later,) = run(text, ledger, [(dv.Count("ward"), "dp=1")], accounts="dp=2", people="visits")
    assert [int(numbers(one)[0][0]) for one in (*first, later)] == [5, 5, 2]
    alike = pa.table({"who": ["5", "05", "6"], "ward": ["ear"] * 3})  # nobody's rows decide whether there is a table
    (last,) = run(alike, ledger, [(dv.Count("ward"), "dp=1")], accounts="dp=2", people="visits")
    assert int(numbers(last)[0][0]) == 1
    assert len(dv.Ledger(ledger).entries("visits")) == 4


def test_other_people_of_the_same_name_have_other_accounts(tmp_path: Path) -> None:
    table = pa.table({"who": ["a"] * 4, "ward": ["ear"] * 4})
    ledger = tmp_path / "ledger.db"
    run(table, ledger, [(dv.Count("ward"), "dp=2")], accounts="dp=2")
    (new,) = run(table, ledger, [(dv.Count("ward"), "dp=2")], accounts="dp=2", people="new")
    assert numbers(new)[0][0] == 4
    (old,) = run(table, ledger, [(dv.Count("ward"), "dp=2")], accounts="dp=2", people="visits")
    assert numbers(old)[0][0] == 0


def test_public_papers_do_not_tell_who_was_left_out(tmp_path: Path) -> None:
    table = pa.table({"who": ["a"] * 4, "ward": ["ear"] * 4})
    papers = []
    for i in range(2):
        out = tmp_path / f"{i}" / "out.csv"
        out.parent.mkdir()
        how: dict[str, Any] = {**KEPT, "accounts": "dp=1", "ledger": tmp_path / "ledger.db", "guarantee": "dp=1"}
        done = dv.publish(table, dv.Count("ward"), out, **how)
        receipt = json.loads((out.parent / "out.receipt.json").read_text())
        assert numbers(done)[0][0] == (4, 0)[i]
        drop = ("created", "checksum", "digest", "notes", "told")
        papers.append({name: value for name, value in receipt.items() if name not in drop})
        said = (out.parent / "out.statement.txt").read_text().replace("\n  ", " ")
        assert "left out, and whether anybody was, is not told" in said
    assert papers[0] == papers[1]


@pytest.mark.parametrize(("change", "word"), [
    ({"accounts": "pml=1"}, "accounts"), ({"accounts": "zcdp=0.5:0.1"}, "accounts"),
    ({"accounts": "dp=0.1"}, "one row"),
    ({"accounts": "dp=nan"}, "epsilon"), ({"accounts": 3}, "accounts"), ({"accounts": "dp=0"}, "one row"),
    ({"neighbors": "replaced"}, "neighbors"), ({"person": None, "rows_per_person": None, "per_row": True}, "person"),
    ({"ledger": None}, "ledger"), ({"values": None, "no_other": False, "values_from_data": True}, "values_from_data"),
    ({"guarantee": "zcdp=0.1", "noise": "gaussian"}, "largest loss"),
    ({"guarantee": "adp=1:1e-6", "values": None, "no_other": False}, "values"),
])  # fmt: skip
def test_what_no_account_can_be_of_is_refused(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    table = pa.table({"who": ["secret-a"] * 4, "ward": ["ear"] * 4})
    usual = {"guarantee": "dp=1", "accounts": "dp=2", "ledger": tmp_path / "ledger.db"}
    asked: dict[str, Any] = {**KEPT, **usual, **change}
    with pytest.raises(dv.DivulgeError, match=word) as refused:
        dv.publish(table, dv.Count("ward"), **asked)
    assert "secret-a" not in str(refused.value)
    assert asked["ledger"] is None or not dv.Ledger(tmp_path / "ledger.db").entries()


def test_bounds_that_are_looked_for_are_refused_with_accounts(tmp_path: Path) -> None:
    table = visits(np.random.default_rng(0), 3)
    with pytest.raises(dv.DivulgeError, match="bounds"):
        run(table, tmp_path / "l.db", [(dv.Mean("days", bounds="auto"), "dp=1")], accounts="dp=2")


def test_what_costs_are_charged_is_decided_exactly() -> None:
    who, accounts = Accounts.of("dp=0.3", 2).charge([0.1, 0.1])
    for _ in range(2):
        who, accounts = accounts.charge([0.1, 0.1])  # three doubles of 0.1 are more than the double 0.3
    assert not who.any()
    for costs in ([1.0], [1.0, -1.0], [1.0, float("nan")], "ab"):
        with pytest.raises(dv.DivulgeError, match="costs"):
            accounts.charge(costs)
    assert not accounts.charge([np.inf, 0.0])[0][0]


def test_the_command_and_the_ledger_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("who,ward\na,ear\na,ear\nb,eye\n")
    Path("v.json").write_text(json.dumps({"ward": WARDS}))
    words = ["publish", "t.csv", "--count", "ward", "--guarantee", "dp=1", "--person", "who", "--rows-per-person", "2",
             "--neighbors", "added", "--accounts", "dp=1", "--values", "v.json", "--no-other",
             "--ledger", "l.db", "--output"]  # fmt: skip
    for name in ("a.csv", "b.csv"):
        done = CliRunner().invoke(app, [*words, name])
        assert done.exit_code == 0, done.output
    assert "1 of 2 people have spent" in done.stderr  # b has paid a half
    shown = CliRunner().invoke(app, ["ledger", "show", "--ledger", "l.db"])
    assert "on dp=1" in shown.stdout
    as_json = json.loads(CliRunner().invoke(app, ["ledger", "show", "--ledger", "l.db", "--json"]).stdout)
    assert [one["account"] for one in as_json["releases"]] == ["dp=1.0"] * 2
    assert as_json["spent"][0]["spent"]["ldp"] == 2.0
