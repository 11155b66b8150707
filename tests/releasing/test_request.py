"""One record behind command, program and file: no option is lost on any way."""

import json
import shlex
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from support import THOROUGH, watched_powers
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import COMMANDS, app
from divulge.guarantees.catalog import KINDS
from divulge.guarantees.kinds.tables import TABLES
from divulge.late import late
from divulge.publishing.request import Publish
from divulge.releasing.column import Release
from divulge.releasing.options import read, written
from divulge.releasing.request import ACTIONS, Request

RECORDS: dict[str, type[Request]] = {action: late(path) for action, path in ACTIONS.items()}  # pyright: ignore[reportAssignmentType]

LEAST: dict[str, dict[str, Any]] = {
    "release": {"column": ("faith",), "guarantee": ("ldp=1",)},
    "publish": {"statistics": (dv.Count("faith"),), "guarantee": ("dp=1",)},
    "generalize": {"known": ("age", "sex"), "secret": ("faith",), "guarantees": ("k=5",)},
}
"""Action -> what has to be said."""

OTHERS: dict[str, Any] = {
    "source": "it's a table.csv", "sink": "out put.csv", "engine": "spark", "unit": "bits", "language": "de",
    "receipt": "r.json", "ledger": "l.sqlite", "budget": "ldp=3", "null_as": "no answer", "epsilon": 0.1,
    "mechanism": "randomized-response", "ratio": "7/3", "purpose": "record", "outcomes": "sets", "prior": "lower=1/8",
    "header": "3-4", "footer": 2, "group": ("age=10:0:90",), "one_spelling": ("town",),
    "time_limit": 7.5, "released_as": ("said",), "keep": ("age", "town"), "column": ("faith", "sex"),
    "guarantee": ("ldp=1/3", "pml=0.25"), "person": "who", "rows_per_person": 3, "neighbors": "added", "level": 0.5,
    "record_prior": "lower=0.01", "others": "independent", "noise": "gaussian", "split": "equal",
    "known": ("age", "sex, or none"), "secret": ("faith",), "guarantees": ("k=5", "t=0.25"),
    "suppress": Fraction(1, 25), "groups_per_person": 3, "rows_per_group": 2,
    "hierarchies": {"age": "my ages.csv", "sex": "sex.csv"}, "loss": "class-size",
    "levels": {"age": 1, "sex": 0}, "recoding": "local",
    "perturb": ("pml=0.25",), "within": ("pml=1", "t=0.25"),
    "protocol": "hadamard", "prefixes": "2,4,5", "grid": "500m", "box": "48.7,2.1,49,2.6", "quarters": "quarters.csv",
     "chain": "moves.csv", "distance": "words.csv",
    "values": "values.json", "statistics": (dv.Count("a,b", "c"), dv.Mean("age", (0, "0.3"), "x", step="0.1"),
                                            dv.Quantiles("age", (-5, 90), "x", probabilities=("1/3", 0.5)),
                                            dv.Proportion("said", "it's: so", "x")),
}  # fmt: skip
"""Option -> a value that is not the usual one; switches are turned on."""


def other(made: type[Request], name: str) -> Any:
    return True if made.options()[name].of is bool else OTHERS.get(name, f"the {name}")


def cases() -> list[tuple[str, str]]:
    return [(action, name) for action, made in RECORDS.items() for name in made.options()]


def request_with(action: str, name: str) -> Request:
    """Return a request with one more option, and what that one needs."""
    needed = {"epsilon": {"mechanism": "randomized-response"}, "ratio": {"mechanism": "randomized-response"},
              "one_answer": {"person": "who"}, "grid": {"box": "48.7,2.1,49,2.6", "guarantee": "metric=1/km"},
              "chain": {"person": "who", "rows_per_person": 6},
              "quarters": {"grid": "500m", "box": "48.7,2.1,49,2.6", "guarantee": "metric=1/km", "column": ("a", "b")},
              "prefixes": {"protocol": "prefix-extension"}, "distance": {"guarantee": "metric=1/step"},
              "within": {"prior": "groups=age,sex"},
              "box": {"grid": "500m", "guarantee": "metric=2/mi"}}.get(name, {})  # fmt: skip
    return RECORDS[action](**{"source": "t.csv", **LEAST[action], **needed, name: other(RECORDS[action], name)})


def from_line(line: str, monkeypatch: pytest.MonkeyPatch) -> Request:
    """Return the request that a command line makes, which is not carried out."""
    seen: list[Request] = []
    action = line.split()[1]
    monkeypatch.setattr(f"divulge.cli.doing.{action}.carry_out", lambda request, as_json: seen.append(request))
    done = CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return seen[0]


@pytest.mark.parametrize(("action", "name"), cases())
def test_no_option_is_lost_in_a_file_a_command_or_a_program(
    action: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("faith,said\n")  # which column of a proportion is meant may stand in the table
    asked = request_with(action, name)
    assert name in asked.given
    asked.save("request.json")
    assert Request.read("request.json") == asked
    json.loads(Path("request.json").read_text())
    full = asked if asked.sink else replace(asked, sink=Path("o.csv"))
    typed = from_line(full.command(), monkeypatch)
    same = {field.name: getattr(full, field.name) for field in fields(full)}
    for field, value in same.items():
        found = getattr(typed, field)
        assert _comparable(found) == _comparable(value), f"{field}: {full.command()}"
    calls: list[Request] = []
    monkeypatch.setattr(dv, action, lambda *given, **options: calls.append(_called(action, given, options)))
    exec(compile(asked.program(), "program", "exec"), {})  # what a reader copies from the page
    assert calls == [asked]


def _called(action: str, given: tuple[Any, ...], options: dict[str, Any]) -> Request:
    order = ("source", "sink")
    return Request.of(action, **dict(zip(order, given, strict=False)), **options)


def _comparable(value: Any) -> Any:
    """Return an option as it is typed: numbers and paths as text."""
    if isinstance(value, (list, tuple)):
        return [_comparable(one) for one in value]
    return str(value) if isinstance(value, (float, int, Path)) and not isinstance(value, bool) else value


def test_every_record_has_a_door_and_its_command() -> None:
    for action, made in RECORDS.items():
        assert made.action == action
        assert callable(late(made.door))
        assert action in COMMANDS
        assert callable(getattr(dv, action))


def test_options_have_help_and_every_field_is_an_option() -> None:
    for made in RECORDS.values():
        assert {field.name for field in fields(made)} == set(made.options())
        for name, option in made.options().items():
            assert len(option.help) > 8, name


OBJECTS = {
    "guarantee": (dv.LDP(Fraction(1, 3)), dv.PML("1/7")),
    "mechanism": dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", 3], ["yes", 3]),
    "prior": dv.Prior(["1/4", "3/4"], ["yes", 3]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_go_through_a_file_and_come_back_exactly(name: str, tmp_path: Path) -> None:
    asked = Release(**({"column": "faith", "guarantee": "ldp=1"} | {name: OBJECTS[name]}))
    asked.save(tmp_path / "r.json")
    assert Request.read(tmp_path / "r.json") == asked


def test_sets_of_priors_go_through_a_file() -> None:
    for one in (dv.measures.LowerBounded(["a", "b"], Fraction(1, 8)), dv.measures.L1Ball(OBJECTS["prior"], 0.25)):
        assert read(json.loads(json.dumps(written(one, "prior")))) == one


@pytest.mark.parametrize(
    "kind", [kind for kind, made in KINDS.items() if made not in TABLES and "metric" not in made.index]
)
def test_a_guarantee_is_written_as_it_is_read(kind: str) -> None:
    made = KINDS[kind]
    levels = dict.fromkeys(("omega", "order", "degree", "ratio", "alpha", "k", "l"), Fraction(7, 3)) | {"f": "kl"}
    one = made(**{name: levels.get(name, Fraction(1, 3)) for name in made.parameters()})
    (text,) = written((one,), "guarantee")
    assert dv.guarantees.parse(text) == one


def test_a_request_carried_out_from_a_file_writes_the_same_but_for_the_draws(tmp_path: Path) -> None:
    table = pa.table({"answer": ["yes", "no"] * 40, "age": list(range(80))})
    csv.write_csv(table, tmp_path / "t.csv")
    coin = dv.Channel([["1", "0"], ["0", "1"]], ["yes", "no"], ["yes", "no"])  # which draws nothing
    asked = Release(source=tmp_path / "t.csv", sink=tmp_path / "a.csv", column="answer", mechanism=coin, keep=["age"])
    asked.save(tmp_path / "r.json")
    dv.run(tmp_path / "r.json")
    dv.run(replace(asked, sink=tmp_path / "b.csv"))
    dv.release(tmp_path / "t.csv", tmp_path / "c.csv", column="answer", mechanism=coin, keep=["age"])
    done = CliRunner().invoke(app, ["run", str(tmp_path / "r.json"), "-o", str(tmp_path / "d.csv"), "--json"])
    assert done.exit_code == 0, done.output
    assert len({(tmp_path / f"{one}.csv").read_bytes() for one in "abcd"}) == 1
    kept = json.loads((tmp_path / "a.keeper.json").read_text())["request"]
    assert Request.from_dict(kept) == Request.read(tmp_path / "r.json")


def test_a_table_in_memory_is_no_part_of_a_request(tmp_path: Path) -> None:
    table = pa.table({"answer": ["yes", "no"] * 40})
    asked = Request.of("release", table, column="answer", guarantee="ldp=1")
    assert asked.source is None
    assert dv.run(asked, table).rows == 80
    with pytest.raises(dv.DivulgeError, match="names no table"):
        dv.run(asked)
    dv.release(table, tmp_path / "o.csv", column="answer", guarantee="ldp=1", prior=pd.Series({"yes": 0.5, "no": 0.5}))
    kept = json.loads((tmp_path / "o.keeper.json").read_text())["request"]
    assert kept["prior"] == "a Series"


@pytest.mark.parametrize("text", [
    "[]", "{}", '{"format": "divulge request 9", "action": "release"}', '{"format": "divulge request 1"}',
    '{"format": "divulge request 1", "action": "drop"}', '{"format": "divulge request 1", "action": "release"}',
    '{"format": "divulge request 1", "action": "release", "column": "x", "guarantee": "ldp=1", "colum": "y"}',
    '{"format": "divulge request 1", "action": "release", "column": {"a": 1}, "guarantee": "ldp=1"}',
    '{"format": "divulge request 1", "action": "release", "column": "x", "guarantee": 3}',
    '{"format": "divulge request 1", "action": "publish", "statistics": [{"kind": "mode"}], "guarantee": "dp=1"}',
    '{"format": "divulge request 1", "action": "publish", "statistics": [{"kind": "mean"}], "guarantee": "dp=1"}',
])  # fmt: skip
def test_what_is_no_request_is_refused_in_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(dv.DivulgeError):
        dv.run(tmp_path / "r.json")
    done = CliRunner().invoke(app, ["run", str(tmp_path / "r.json")])
    assert done.exit_code == 2
    assert "error" in done.output


def test_an_unknown_option_says_which_is_meant() -> None:
    with pytest.raises(TypeError, match="Did you mean 'guarantee'"):
        dv.release(pa.table({"x": [1]}), column="x", guarante="ldp=1")


def test_a_statistic_without_its_like_on_a_command_line_asks_for_a_file() -> None:
    asked = Publish(source="t.csv", guarantee="dp=1",
                    statistics=[dv.Mean("age", (0, 90), "x"), dv.Mean("age", (0, 90))])  # fmt: skip
    with pytest.raises(dv.DivulgeError, match="save-request"):
        asked.command()
    assert MISSING not in asked.given.values()


def test_the_schema_of_a_request_has_every_option() -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "request.json").read_text())
    names = {name for made in RECORDS.values() for name in made.options()}
    assert set(schema["properties"]) == names | {"format", "version", "action"}
    assert set(schema["properties"]["action"]["enum"]) == set(RECORDS)


def test_a_promise_with_distances_is_no_promise_of_a_release() -> None:
    """Its mechanism alone goes through the door."""
    grid = dv.Metric.grid(3, 1)
    with pytest.raises(dv.DivulgeError, match="without distances"):
        Release(column="cell", guarantee=dv.MetricPrivacy(1, grid))
    table = pa.table({"cell": [0, 1, 2] * 20})
    receipt = dv.release(table, column="cell", mechanism=dv.mechanisms.planar_geometric(grid, 1))
    assert receipt.rows == 60
    dv.assess(table.append_column("out", table["cell"]), known=["out"], secret="cell").holds(
        [dv.MetricPrivacy(1, grid)]
    )


WRONG = [None, "", "\0", "1e999999999", -1, 10**400, 1.5, True, [], [None], ["\0"], {}, {"a": None},
         {"secrets": ["a"], "probabilities": ["1e999999999"]}, {"secrets": ["a"], "least": "1e999999999"},
         {"center": {"a": 1}, "radius": "1e999999999"}]  # fmt: skip


@pytest.mark.parametrize("action", RECORDS)
def test_an_option_of_another_kind_is_read_or_refused_in_words(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option in turn, by a quarter of what is wrong; no text of it is written out as a power of ten."""
    written_out = watched_powers(monkeypatch)
    asked = RECORDS[action](**LEAST[action]).to_dict()
    for turn, name in enumerate(RECORDS[action].options()):
        for value in WRONG if THOROUGH else WRONG[turn % 4 :: 4]:
            with suppress(dv.DivulgeError):
                Request.from_dict(asked | {name: value})
            assert not written_out, (name, value)


@pytest.mark.parametrize(
    "wrong",
    [{"archive": 1}, {"delimiter": 3}, {"delimiter": "\0"}, {"encoding": ["x"]}, {"limits": 1.5}, {"sheet": 0},
     {"time_limit": 10**400}, {"footer": 1.5}, {"force": "yes"}, {"keep": [1]}, {"receipt": {}}],
)  # fmt: skip
def test_a_request_that_was_edited_is_refused_by_its_option(
    wrong: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("faith\n" + "a\nb\n" * 9)
    asked = Release(source="t.csv", sink="out.csv", **LEAST["release"], per_row=True).to_dict()
    Path("r.json").write_text(json.dumps(asked | wrong))
    found = CliRunner().invoke(app, ["run", "r.json"])
    (name,) = wrong
    assert (found.exit_code, f"`{name}` must be" in found.stderr) == (2, True), found.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "t.csv"]
