"""The ledger: sound sums, budgets kept before a row is drawn, and two writers that cannot both spend."""

import copy
import math
import os
import sqlite3
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import copies
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, random_channel, random_prior

import divulge as dv
from divulge.releasing.records import promised
from divulge.releasing.records.promised import Spent, together

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
SURVEY = pa.table({"answer": ["yes", "no", "no"] * 10})


def _spend(ledger: Path | dv.Ledger, **more: object) -> dv.Receipt:
    arguments = {"column": "answer", "mechanism": COIN, "ledger": ledger, "source_name": "survey"} | more
    return dv.release(SURVEY, **arguments)


def test_columns_lose_their_common_factors() -> None:
    """Columns that are multiples of each other are one direction, and a column of zeros is none."""
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 60, (4, 9)) * rng.integers(0, 7, 9)
    columns = [c for c in weights.T.tolist() if any(c)]
    wanted = {tuple(w // math.gcd(*c) for w in c) for c in columns}
    once = promised._directions(weights)
    assert list(map(tuple, once.outcomes.tolist())) == sorted(wanted)
    again = promised._directions(np.hstack([weights, 3 * weights]))
    assert once == again
    assert hash(once) == hash(again)
    assert once != promised._directions(weights[::-1])
    assert len(wanted) < 9


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_the_total_is_that_of_the_joint_channel(seed: int, releases: int) -> None:
    """Against the definition: the pml and ldp of the channel whose outcomes are all combinations."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    prior = random_prior(rng, n, exact=True)
    whole = [dv.IntegerChannel.of(random_channel(rng, n, int(rng.integers(1, 4)), zeros=0.1)) for _ in range(releases)]
    joint = whole[0].exact
    for channel in whole[1:]:
        joint = joint.alongside(channel.exact)
    found = together([Spent(("x",), channel, prior) for channel in whole], None)
    both = dv.Joint(prior, joint)
    for kind, value in {"ldp": dv.ldp(joint), "pml": dv.pml(both).max(), "pmc": dv.pmc(both).max()}.items():
        assert found[kind] == value == math.inf or value <= found[kind] <= value * (1 + 1e-14) + 1e-300


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_beyond_the_joint_channel_the_total_is_a_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    prior = random_prior(rng, n, exact=True)
    whole = [dv.IntegerChannel.of(random_channel(rng, n, 3, span=1)) for _ in range(3)]
    spent = [Spent(("x",), channel, prior) for channel in whole]
    exact = together(spent, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(promised, "MOST_CELLS", 0)
        bound = together(spent, None)
    assert all(exact[kind] <= bound[kind] for kind in exact)
    apart = [promised.promises(channel.weights, prior) for channel in whole]
    assert bound["ldp"] == pytest.approx(sum(part["ldp"] for part in apart))
    best = min(part["pml"] + sum(other["ldp"] for other in apart if other is not part) for part in apart)
    rarest = min(float(p) for p in prior.probabilities if p > 0)
    follows = -math.log(rarest + (1 - rarest) * math.exp(-bound["ldp"]))
    assert bound["pml"] == pytest.approx(min(best, bound["ldp"], follows))


def test_many_releases_of_one_column_are_counted_exactly() -> None:
    """The integers of 60 releases are beyond all doubles; the ratios of the joint channel, 3^60, are not."""
    coin = dv.IntegerChannel.of(COIN)
    prior = dv.Prior(["1/3", "2/3"], ["yes", "no"])
    found = together([Spent(("x",), coin, prior)] * 60, None)
    assert found["ldp"] == pytest.approx(60 * math.log(3), rel=1e-15)
    assert found["pml"] == pytest.approx(math.log(3) - math.log1p(2 * 3.0**-60), rel=1e-15)


def test_pml_does_not_add_up() -> None:
    """Two releases of pml log 2 with pml log 10 together: why the ledger never adds them."""
    prior = dv.Prior(["1/10", "2/5", "2/5", "1/10"])
    first = Spent(("x",), dv.IntegerChannel.of(dv.Channel([["1", "0"], ["1", "0"], ["0", "1"], ["0", "1"]])), prior)
    second = Spent(("x",), dv.IntegerChannel.of(dv.Channel([["1", "0"], ["0", "1"], ["1", "0"], ["0", "1"]])), prior)
    assert together([first], None)["pml"] == together([second], None)["pml"] == pytest.approx(math.log(2))
    assert together([first, second], None)["pml"] == pytest.approx(math.log(10))


def test_releases_of_different_columns_add_up(tmp_path: Path) -> None:
    whole = dv.IntegerChannel.of(COIN)
    prior = dv.Prior(["1/2", "1/2"], ["yes", "no"])
    found = together([Spent(("x",), whole, prior), Spent(("y",), whole, prior)], None)
    product = dv.Joint(dv.Prior.uniform(4), dv.Channel(whole.exact.product(whole.exact).matrix))
    assert found["ldp"] == pytest.approx(2 * math.log(3))
    assert dv.pml(product).max() <= found["pml"]


def test_releases_are_recorded_and_a_budget_is_kept(tmp_path: Path) -> None:
    book = tmp_path / "ledger.sqlite"
    _spend(book, budget="ldp=2.2")
    _spend(book, budget="ldp=2.2")
    with pytest.raises(dv.DivulgeError, match=r"allow ldp 3.3 in all.* nothing was drawn"):
        _spend(book, budget="ldp=2.2")
    ledger = dv.Ledger(book)
    assert [(e.source, e.columns, e.state, e.rows) for e in ledger.entries()] == [
        ("survey", ("answer",), "published", 30)
    ] * 2
    assert ledger.spent("survey", ["answer"])["ldp"] == pytest.approx(2 * math.log(3))
    assert ledger.spent("survey", ["age"]) == {}
    assert ledger.entries("another") == []
    half = dv.Prior(["1/2", "1/2"], ["yes", "no"])
    assert ledger.spent("survey", ["answer"], half)["pml"] == pytest.approx(math.log(1.8))
    with pytest.raises(dv.DivulgeError, match=r"it is 2\.2, kept since 20.*divulge ledger budget"):
        _spend(book)
    ledger.keep("survey", "pml=0.8", ["answer"])
    _spend(book, budget="pml=0.8", prior=half)
    with pytest.raises(dv.DivulgeError, match="allow pml"):
        _spend(book, budget="pml=0.6", prior=half)
    with pytest.raises(dv.DivulgeError, match="of a kind that adds up"):
        _spend(book, budget="lift=2")


def test_a_release_that_fails_spends_nothing(tmp_path: Path) -> None:
    book = tmp_path / "ledger.sqlite"
    with pytest.raises(dv.DivulgeError, match="only secrets"):
        dv.release(
            pa.table({"answer": ["yes", "maybe"]}), column="answer", mechanism=COIN, ledger=book, source_name="s"
        )
    assert dv.Ledger(book).entries() == []
    with pytest.raises(dv.DivulgeError, match="source_name"):
        dv.release(SURVEY, column="answer", mechanism=COIN, ledger=book)


def test_overlapping_columns_count(tmp_path: Path) -> None:
    book = tmp_path / "ledger.sqlite"
    table = pa.table({"a": ["yes", "no"], "b": ["no", "yes"]})
    both = {"mechanism": {"a": COIN, "b": COIN}, "ledger": book, "source_name": "s"}
    dv.release(table, column=["a", "b"], **both)
    dv.release(table, column="a", mechanism=COIN, ledger=book, source_name="s")
    assert dv.Ledger(book).spent("s", ["a"])["ldp"] == pytest.approx(3 * math.log(3))


def test_a_broken_ledger_stops_the_release(tmp_path: Path) -> None:
    book = tmp_path / "ledger.sqlite"
    book.write_bytes(b"this is no database, by any means" * 100)
    with pytest.raises(dv.DivulgeError, match="ledger"):
        _spend(book)
    with pytest.raises(dv.DivulgeError, match="ledger"):
        _spend(tmp_path / "missing" / "ledger.sqlite")
    with pytest.raises(dv.DivulgeError, match="ledger"):
        dv.Ledger("nosuchdatabase://host/name")


def _failing(ledger: dv.Ledger, turns: set[int], said: str = "could not serialize access") -> None:
    """Let the commits of these turns fail, as those of a server do when two writers meet or it is stopped."""
    count, engine = iter(range(1000)), ledger._database.engine
    engine.dialect = copy.copy(engine.dialect)  # which other ledgers share
    commit = type(engine.dialect)(dbapi=sqlite3).do_commit

    def fail(connection: sqlite3.Connection) -> None:
        if next(count) in turns:
            connection.rollback()
            raise sqlite3.OperationalError(said)
        commit(connection)

    engine.dialect.do_commit = fail


KEPT = ["sqlite:///{}", "sqlite+pysqlite:///{}", "sqlite:///file:{}?uri=true", "sqlite:///file:{}?mode=rwc&uri=true"]


@pytest.mark.parametrize("url", KEPT)
def test_a_ledger_by_url_is_a_file_of_the_call(url: str, tmp_path: Path) -> None:
    """Whatever is written would replace it, and SQLite takes away the journals that it finds beside it."""
    for name in ("out.csv", "out.receipt.json", "out.statement.html", "out.keeper.json"):
        with pytest.raises(dv.DivulgeError, match="the same file"):
            _spend(url.format(tmp_path / name), sink=tmp_path / "out.csv", force=True)
    book = url.format(tmp_path / "kept.db")
    for more in ("", "-journal", "-wal", "-shm"):
        with pytest.raises(dv.DivulgeError, match="the same file"):
            _spend(book, receipt=tmp_path / f"kept.db{more}")
    assert not list(tmp_path.iterdir())
    _spend(book)
    assert (tmp_path / "kept.db").stat().st_mode & 0o077 == 0
    with pytest.raises(dv.DivulgeError, match="the same file"):
        _spend(dv.Ledger(book), receipt=tmp_path / "kept.db", force=True)
    assert len(dv.Ledger(book).entries()) == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [("sqlite:///{}?nolock=1&uri=true", "options but"), ("sqlite:///file:{}?nolock=1&uri=true", "options but"),
     ("sqlite:///file:{}?vfs=unix-none&uri=true", "options but"), ("sqlite:///{}?timeout=abc", "options but"),
     ("sqlite:///file:{}?detect_types=3&uri=true", "options but"),
     ("sqlite+nothing:///{}", "its driver installed")],
)  # fmt: skip
def test_a_url_opens_the_file_that_it_names_with_its_locks_or_nothing(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(dv.DivulgeError, match=said):
        _spend(url.format(tmp_path / "kept.db"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", ["sqlite:///{}?uri=true&mode=rwc", "sqlite:///{}?cache=shared&uri=true", *KEPT])
def test_a_url_makes_one_private_file(url: str, tmp_path: Path) -> None:
    _spend(url.format(tmp_path / "kept.db"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.db", "kept.db.key"]
    assert not any(path.stat().st_mode & 0o077 for path in tmp_path.iterdir())
    assert len(dv.Ledger(tmp_path / "kept.db").entries()) == 1


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device"])
def test_a_key_that_is_no_file_is_named_and_not_waited_for(kind: str, tmp_path: Path) -> None:
    key = tmp_path / "kept.db.key"
    {"a pipe": lambda: os.mkfifo(key), "a folder": key.mkdir, "a device": lambda: key.symlink_to("/dev/zero")}[kind]()
    with pytest.raises(dv.DivulgeError, match=rf"the key of the ledger, kept.db.key: .*is {kind}"):
        _spend(tmp_path / "kept.db")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:q?mode=memory&uri=true"])
def test_a_ledger_that_forgets_keeps_no_budget(url: str) -> None:
    with pytest.raises(dv.DivulgeError, match="must be one that lasts; it is in memory"):
        _spend(url, budget="ldp=1.1")
    held = dv.Ledger(url)
    _spend(held, budget="ldp=1.1")
    with pytest.raises(dv.DivulgeError, match="nothing was drawn"):
        _spend(held, budget="ldp=1.1")


def test_a_ledger_that_others_may_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.db").touch(0o644)
    with dv.files.using(tell=print):
        dv.Ledger(tmp_path / "empty.db")
    assert "may be read by others" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("raised", "cause"),
    [("database is locked", "another process is writing it"), ("attempt to write a readonly database", "may not be"),
     ("database disk image is malformed", "damaged"), ("database or disk is full", "the disk is full")],
)  # fmt: skip
def test_why_a_ledger_fails_is_said(raised: str, cause: str, tmp_path: Path) -> None:
    ledger = dv.Ledger(tmp_path / "ledger.sqlite")
    _failing(ledger, set(range(1000)), raised)
    with pytest.raises(dv.DivulgeError, match=cause):
        _spend(ledger)


def test_a_writer_that_meets_another_tries_again(tmp_path: Path) -> None:
    """As with a server: it refuses one of two transactions that meet, where SQLite lets them wait in line."""
    ledger = dv.Ledger(tmp_path / "ledger.sqlite")
    ledger._database.attempts = 3
    _failing(ledger, {0, 1, 3})
    _spend(ledger, budget="ldp=1.1")
    assert [entry.state for entry in ledger.entries()] == ["published"]
    _failing(ledger, set(range(1000)))
    with pytest.raises(dv.DivulgeError, match=r"cannot be opened, read or written\. Nothing was drawn"):
        _spend(ledger, people="new")
    assert len(dv.Ledger(tmp_path / "ledger.sqlite").entries()) == 1


def test_a_ledger_that_is_lost_at_the_end_says_that_the_release_is_out(tmp_path: Path) -> None:
    ledger = dv.Ledger(tmp_path / "ledger.sqlite")
    _failing(ledger, {1})
    with pytest.raises(dv.DivulgeError, match=r"The release is published; its entry stays open"):
        _spend(ledger, sink=tmp_path / "out.parquet")
    assert dv.Receipt.read(tmp_path / "out.receipt.json").describes(tmp_path / "out.parquet")
    assert [entry.state for entry in ledger.entries()] == ["open"]


def test_who_comes_second_to_a_name_is_told_what_is_spent(tmp_path: Path) -> None:
    """Files of that name appear while rows are drawn: nothing is replaced, and the entry of the ledger stays."""
    ledger = dv.Ledger(tmp_path / "ledger.sqlite")

    def another(*_: object) -> None:
        (tmp_path / "out.codebook.json").write_text("another's")

    with pytest.raises(dv.DivulgeError, match=r"there is one already.* stays open, which counts as spent\.$"):
        _spend(ledger, sink=tmp_path / "out.parquet", progress=another)
    assert (tmp_path / "out.codebook.json").read_text() == "another's"
    assert not (tmp_path / "out.parquet").exists()
    assert [entry.state for entry in ledger.entries()] == ["open"]


def test_a_lost_ledger_does_not_hide_what_went_wrong(tmp_path: Path) -> None:
    ledger = dv.Ledger(tmp_path / "ledger.sqlite")
    _failing(ledger, {1})
    with pytest.raises(dv.DivulgeError, match=r"only secrets of the mechanism.* stays open, which counts as spent\."):
        dv.release(
            pa.table({"answer": ["maybe"]}), column="answer", mechanism=COIN, ledger=ledger, source_name="survey"
        )
    assert [entry.state for entry in ledger.entries()] == ["open"]


RACER = """
import sys
import pyarrow as pa
import divulge as dv
coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
done = 0
for _ in range(4):
    try:
        dv.release(pa.table({"answer": ["yes", "no"]}), column="answer", mechanism=coin, ledger=sys.argv[1],
                   source_name="survey", budget="ldp=3.3")
        done += 1
    except dv.DivulgeError as error:
        assert "budget" in str(error), error
print(done)
"""


def test_racing_releases_cannot_both_spend_the_rest(tmp_path: Path) -> None:
    """log 3 = 1.0986: a budget of 3.3 is enough for three releases, whoever makes them."""
    program = copies.script(RACER, tmp_path / "ledger.sqlite")
    racers = [copies.started(program, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(racer.communicate(timeout=300)[0]) for racer in racers) == 3
    assert len(dv.Ledger(tmp_path / "ledger.sqlite").entries("survey", ["answer"])) == 3


def test_releases_with_their_secrets_in_another_order_are_one_channel() -> None:
    prior = dv.Prior(["1/4", "3/4"], ["yes", "no"])
    turned = dv.IntegerChannel.of(dv.Channel(COIN.matrix[::-1], ["no", "yes"], ["yes", "no"]))
    straight = dv.IntegerChannel.of(COIN)
    first, second = Spent(("x",), straight, None), Spent(("x",), turned, prior)
    assert together([first, second], None) == together([Spent(("x",), straight, prior)] * 2, None)
    assert together([second, first], None)["pml"] == together([first, second], None)["pml"] < 2 * math.log(3)


def test_a_budget_holds_whichever_releases_are_chosen_on_the_way(tmp_path: Path) -> None:
    """All that may be chosen is held against zCDP, and a delta of its own against what is set aside."""
    ledger = dv.Ledger(tmp_path / "l.sqlite")
    goal = dv.ADP(1, 1e-6)
    ledger.keep("survey", goal, adaptive=True, aside=1e-7)
    (kept,) = ledger.budgets("survey")
    assert (kept.aside, str(kept)) == (1e-7, "adp=1:1e-06, chosen on the way, 1e-07 aside")
    gauss, pure, rare = _statistics(rho=0.01), _statistics(loss=0.05), _statistics(adp=(0.1, 4e-8))
    spent = dv.dp.Filter(goal, aside=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(40):
        which = int(rng.integers(0, 3))
        release = [dv.dp.ZcdpRelease(0.01), dv.dp.ZcdpRelease(0.05**2 / 2), dv.dp.AdpRelease(0.1, 4e-8)][which]
        entry = [gauss, pure, rare][which]
        fits = _enters(ledger, entry)
        assert fits == spent.fits(release) or abs(spent.spent - spent.bound) < 0.006
        if fits:
            spent = spent.then(release)
    assert not _enters(ledger, gauss)
    assert not _enters(ledger, rare)
    for wrong in (
        {"adaptive": "yes"},
        {"aside": 1e-7},
        {"adaptive": True, "aside": 1e-6},
        {"adaptive": True, "aside": -1},
    ):
        with pytest.raises(dv.DivulgeError):
            ledger.keep("survey", goal, **wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(dv.DivulgeError, match="aside"):
        ledger.keep("survey", "dp=1", adaptive=True, aside=1e-9)


def test_what_is_weighed_on_the_way_is_no_filter(tmp_path: Path) -> None:
    """A list that is fixed may weigh epsilons against zCDP; whoever chooses on the way would choose the weight too."""
    listed, chosen = dv.Ledger(tmp_path / "a.sqlite"), dv.Ledger(tmp_path / "b.sqlite")
    listed.keep("survey", "adp=1:1e-6")
    chosen.keep("survey", "adp=1:1e-6", adaptive=True)
    two = [_statistics(rho=0.013), _statistics(loss=0.25)]
    assert [_enters(listed, one) for one in two] == [True, True]
    assert [_enters(chosen, one) for one in two] == [True, False]


def _statistics(loss: float = math.inf, rho: float = math.inf, adp: tuple[float, float] | None = None) -> Any:
    from divulge.releasing.records.aggregate import Aggregate

    return Aggregate(("answer",), {"ldp": loss}, rho, adp=adp)


def _enters(ledger: Any, mechanism: Any) -> bool:
    receipt = SimpleNamespace(mechanisms=(mechanism,), columns=("answer",), output=None, rows=1, untouched=())
    try:
        with ledger.spending("survey", receipt) as entry:
            entry.published(receipt)
    except dv.DivulgeError as error:
        if "`budget` must allow" not in str(error):
            raise
        return False
    return True
