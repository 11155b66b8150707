"""Hostile command lines: one message, exit 2, nothing replaced, nothing that the terminal would obey."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
from pathlib import Path
from typing import Any

import copies
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli import main
from divulge.cli.main import app
from divulge.files import opening

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])
RELEASE = ("release", "t.csv", "--column", "x", "--mechanism", "c.csv", "--only-column")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table, a channel and a ledger of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIVULGE_LEDGER", str(tmp_path / "book.sqlite"))
    Path("t.csv").write_text("x,y\na,b\nb,a\na,a\n")
    dv.write_channel(COIN, "c.csv")
    return tmp_path


def refused(*arguments: str, **options: Any) -> str:
    """Return the one message with which a command is refused."""
    found = CliRunner().invoke(app, list(arguments), **options)
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    assert found.stderr.startswith("error: "), found.stderr
    assert found.stderr.count("\n") == 1, found.stderr
    assert found.stderr[:-1].isprintable()
    return found.stderr


# --- exit codes


@pytest.mark.parametrize(
    "error", [RecursionError(), MemoryError(), OSError(5, "Input/output error"), BrokenPipeError(32, "x"),
              ZeroDivisionError("secret"), UnicodeError("secret"), SystemExit(1), GeneratorExit()]
)  # fmt: skip
def test_no_error_has_the_exit_code_of_an_answer(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("divulge.cli.asking.check.read_channel", fail)
    found = CliRunner().invoke(app, ["check", "c.csv", "--guarantee", "ldp=1"])
    assert found.exit_code == main.WRONG == 2
    assert "secret" not in found.stderr
    assert isinstance(error, SystemExit) or found.stderr.count("error: ") == 1


def test_an_answer_keeps_its_exit_code() -> None:
    codes = [CliRunner().invoke(app, ["check", "c.csv", "--guarantee", g]).exit_code for g in ("ldp=2", "ldp=0.1")]
    assert codes == [main.DONE, main.NO]


def test_aborting_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    def abort(*_: Any) -> None:
        raise typer.Abort

    monkeypatch.setattr("divulge.cli.asking.check.read_channel", abort)
    assert CliRunner().invoke(app, ["check", "c.csv", "--guarantee", "ldp=1"]).exit_code == 130


# --- receipts


def _receipt(change: Any) -> str:
    from divulge.releasing.records import receipt

    made = dv.release(pa.table({"x": ["a", "b"]}), column="x", mechanism=COIN)
    found = json.loads(made.to_json())
    found.pop("checksum")
    change(found)
    try:
        found["checksum"] = receipt._checksum(receipt._canonical(found))
    except ValueError:
        found["checksum"] = "0"
    Path("r.json").write_text(json.dumps(found))
    return "r.json"


CHANGES: dict[str, Any] = {
    "nan": lambda r: r["guarantees"].update(ldp=float("nan")),
    "10^400": lambda r: r.update(rows=10**400),
    "a weight of 2^70": lambda r: r["mechanisms"][0].update(weights=[[2**70, 0], [0, 2**70]]),
    "a weight of nan": lambda r: r["mechanisms"][0].update(weights=[[float("nan"), 1], [1, 1]]),
    "a billion bits": lambda r: r["mechanisms"][0].update(bits=10**9),
    "no mechanisms": lambda r: r.pop("mechanisms"),
    "labels that are objects": lambda r: r["mechanisms"][0].update(secrets=[{}, {}]),
    "labels twice": lambda r: r["mechanisms"][0].update(secrets=["a", "a"]),
    "guarantees that are a list": lambda r: r.update(guarantees=[]),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_receipt_that_is_none_is_refused(case: str) -> None:
    path = _receipt(CHANGES[case])
    for command in (
        ("audit", "--data", "t.csv", "--secret", "x", "--released", "y"),
        ("estimate", "t.csv"),
        ("report",),
    ):
        refused(*command, "--receipt", path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "", "null", '{"a": 1, "a": 2}', '{"a": 1e999}'])
def test_a_document_that_is_none_is_refused(text: str) -> None:
    Path("r.json").write_text(text)
    refused("audit", "--data", "t.csv", "--secret", "x", "--released", "y", "--receipt", "r.json")
    refused("account", "r.json")
    refused("measure", "r.json")


# --- levels that nothing can be


@pytest.mark.parametrize("guarantee", ["ldp=1e308", "pml=1e308", "pmc=1e308"])
def test_levels_beyond_all_numbers_are_refused(guarantee: str) -> None:
    assert "be at most" in refused("design", "--prior", "t.csv:x", "--guarantee", guarantee)


@pytest.mark.parametrize(
    ("written", "said"),
    [("ldp=50%", "without percent signs"), ("ldp=e^1", "not the factor e^epsilon"), ("ldp=exp(1)", "1.0986 for 3"),
     ("ldp=3x", "not the factor")],
)  # fmt: skip
def test_other_ways_to_write_a_level_have_a_message(written: str, said: str) -> None:
    assert said in refused("check", "c.csv", "--guarantee", written)


def test_percent_signs_in_files_have_a_message() -> None:
    Path("p.csv").write_text("a,50%\nb,50%\n")
    assert "Hint: 30 % is 0.3." in refused("measure", "c.csv", "--prior", "p.csv")


# --- names


def test_misspelt_names_are_guessed() -> None:
    assert "Did you mean 'x'?" in refused("measure", "--data", "t.csv", "--secret", "X", "--released", "y")
    assert "Did you mean 'a'?" in refused("attack", "c.csv", "--prior", "uniform", "--outcome", "A")
    assert "Did you mean 'release'?" in refused("relase")
    assert "there is no option '--secrt'. Did you mean '--secret'? Hint: " in refused(
        "measure", "--data", "t.csv", "--secrt", "x"
    )
    assert "takes no 'two words' here; a name with spaces" in refused(
        "check", "c.csv", "--guarantee", "ldp=1", "two", "words"
    )
    Path("p.csv").write_text("A,0.5\nb,0.5\n")
    assert "Did you mean 'A'?" in refused("measure", "c.csv", "--prior", "p.csv")


def test_help_is_what_help_is_called_everywhere() -> None:
    for asked in (("help", "measure"), ("measure", "-h"), ("measure", "--help"), ("help", "ledger")):
        found = CliRunner().invoke(app, list(asked), prog_name="divulge")
        assert found.exit_code == 0, asked
        assert "Usage: divulge" in found.stdout, asked
    assert "Did you mean 'measure'?" in refused("help", "meassure")


def test_a_table_in_the_place_of_a_mechanism_is_named() -> None:
    Path("people.csv").write_text("id,sex,ill\n1,f,yes\n2,m,no\n")
    for command in (("measure",), ("check", "--guarantee", "ldp=1"), ("attack",), ("report", "--prior", "uniform")):
        assert "Hint: two columns of a table of people go in by --data" in refused(*command, "people.csv")


ESCAPE = "q\x1b[2J\u202e"


@pytest.mark.parametrize(
    "line",
    [(f"{ESCAPE}",), ("measure", f"{ESCAPE}.csv"), ("measure", "t.csv", "--unit", ESCAPE), ("measure", f"--{ESCAPE}"),
     ("measure", "--data", f"{ESCAPE}.csv", "--secret", "z", "--released", "y"), ("convert", ESCAPE),
     ("account", ESCAPE),
     ("measure", "--data", "t.csv", "--secret", ESCAPE, "--released", "y"), ("check", "c.csv", "--guarantee", ESCAPE),
     ("ledger", "show", "--ledger", f"{ESCAPE}.db"), ("estimate", "t.csv", "--receipt", ESCAPE),
     ("attack", "c.csv", "--prior", "uniform", "--outcome", ESCAPE), ("noise", ESCAPE, "--scale", "1", "--secret", "x"),
     ("report", "c.csv", "--prior", "uniform", "-o", f"{ESCAPE}.pdf"), (*RELEASE, "-o", f"none/{ESCAPE}.csv")],
)  # fmt: skip
def test_no_name_reaches_the_terminal_as_it_is(line: tuple[str, ...]) -> None:
    Path(f"{ESCAPE}.csv").write_text(f"{ESCAPE},y\na,b\n")
    refused(*line)


def test_json_turns_no_text_around() -> None:
    labels = [f"a{ESCAPE}", "b\x9b", "c\U000e0041"]
    Path("c.json").write_text(
        json.dumps({"secrets": labels, "outcomes": labels, "matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]})
    )
    found = CliRunner().invoke(app, ["measure", "c.json", "--prior", "uniform", "--json"])
    assert found.exit_code == 0
    assert found.stdout[:-1].isprintable()
    assert [row["outcome"] for row in json.loads(found.stdout)["by_outcome"]] == labels


# --- files of one call


@pytest.mark.parametrize(
    "line",
    [("-o", "out.csv", "--ledger", "out.csv"), ("-o", "out.csv", "--ledger", "t.csv"), ("-o", "t.csv", "--force"),
     ("-o", "c.csv", "--force"), ("-o", "out.csv", "--ledger", "out.receipt.json"), ("-o", "hard.csv", "--force"),
     ("-o", "link.csv", "--force"), ("-o", "out.csv", "--ledger", "later.csv"), ("-o", "/"), ("-o", ""), ("-o", "."),
     ("-o", "..", "--force"), ("-o", "loop"), ("-o", "out.csv", "--ledger", "loop"), ("-o", "pipe.csv", "--force"),
     ("-o", "out.csv", "--ledger", "pipe.csv"), ("-o", "out.csv", "--ledger", "/dev/zero"),
     ("-o", "/dev/full", "--force"),
     ("-o", "caf\udce9.csv"), ("-o", "out.csv", "--ledger", "."), ("-o", "out.csv", "--ledger", "c.csv"),
     ("-o", "out.csv", "--ledger", "nosuch://x"), ("-o", "out.csv", "--ledger", "postgresql://h:port/x")],
)  # fmt: skip
def test_nothing_is_replaced_that_a_call_names_twice(line: tuple[str, ...], folder: Path) -> None:
    os.link("t.csv", "hard.csv")
    os.symlink("c.csv", "link.csv")
    os.symlink("out.csv", "later.csv")
    os.symlink("loop", "loop")
    os.mkfifo("pipe.csv")
    before = {name: Path(name).read_bytes() for name in ("t.csv", "c.csv")}
    names = sorted(os.listdir())
    found = CliRunner().invoke(app, [*RELEASE, *line])
    assert found.exit_code == 2
    assert found.stderr.splitlines()[-1].startswith("error: ")
    assert {name: Path(name).read_bytes() for name in before} == before
    assert set(os.listdir()) - {"book.sqlite"} == set(names)
    assert stat.S_ISFIFO(os.stat("pipe.csv").st_mode)


def test_what_the_keeper_alone_may_see_is_closed_to_others() -> None:
    found = CliRunner().invoke(app, [*RELEASE, "-o", "out.csv"])
    assert found.exit_code == 0, found.output
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in Path().iterdir() if path.is_file()}
    assert modes["book.sqlite"] == 0
    assert modes["out.csv"] != 0 or os.umask(os.umask(0)) & 0o044 == 0o044
    assert all(not mode for name, mode in modes.items() if "keeper" in name)
    os.chmod("book.sqlite", 0o644)
    again = CliRunner().invoke(app, ["ledger", "show"])
    assert "may be read by others" in again.stderr


# --- ledgers


@pytest.mark.parametrize(
    "change",
    ["mechanisms = '[]'", "mechanisms = 'null'", "mechanisms = '[{}]'", "mechanisms = x'ff00'", "state = 'x'",
     "rows = 'many'", "mechanisms = replace(mechanisms, 'weights', 'Weights')", "source = x'ff'"],
)  # fmt: skip
def test_a_damaged_entry_never_counts_as_nothing_spent(change: str, folder: Path) -> None:
    spend = {"column": "x", "mechanism": COIN, "ledger": "book.sqlite", "source_name": "t"}
    table = pa.table({"x": ["a", "b"]})
    dv.release(table, **spend, budget="ldp=1.2")
    database = sqlite3.connect("book.sqlite")
    database.execute(f"update divulge_releases set {change}")
    database.commit()
    database.close()
    assert "not as it was written" in refused("ledger", "show")
    if not change.startswith("source"):
        with pytest.raises(dv.DivulgeError, match="not as it was written"):
            dv.release(table, **spend, budget="ldp=1.2")


def test_a_home_that_cannot_be_made_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIVULGE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/none")
    assert "the folder of the ledger cannot be made" in refused(*RELEASE, "-o", "out.csv")
    monkeypatch.delenv("XDG_DATA_HOME")
    Path("file").write_text("")
    monkeypatch.setenv("HOME", str(Path("file").absolute()))
    assert "the folder of the ledger cannot be made" in refused(*RELEASE, "-o", "out.csv")


# --- messages


def test_what_does_not_fit_is_said() -> None:
    found = CliRunner().invoke(app, [*RELEASE, "-o", "out.csv", "--null-as", "A"])
    assert "the label for a missing value, 'A', is none of the mechanism" in found.stderr
    assert "Did you mean 'a'?" in found.stderr
    assert "must have a name that ends in .html" in refused("report", "c.csv", "--prior", "uniform", "-o", "out.pdf")
    found = CliRunner().invoke(app, ["measure", "--data", "t.csv", "--secret", "x", "--released", "x"])
    assert "column 'x' is both --secret and --released" in found.stderr


def test_standard_input_that_does_not_come_is_waited_for_aloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 0.05)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    waiting = copies.started(["measure", "-"], **pipes)
    assert waiting.stderr is not None
    assert waiting.stderr.readline() == b"waiting for standard input.\n"
    out, _ = waiting.communicate(Path("c.csv").read_bytes(), timeout=300)
    assert waiting.returncode == 0
    assert b"pml" not in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.thin
def test_completion_is_installed_and_completes(shell: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    found = CliRunner().invoke(app, ["--install-completion", shell])
    assert found.exit_code == 0, found.output
    scripts = [path for path in folder.rglob("*") if path.is_file() and "_DIVULGE_COMPLETE" in path.read_text()]
    assert len(scripts) == 1
    words = {"bash": {"COMP_WORDS": "divulge rel", "COMP_CWORD": "1"}}.get(
        shell, {"_TYPER_COMPLETE_ARGS": "divulge rel"}
    )
    environment = (
        os.environ | words | {"_DIVULGE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    done = copies.run(copies.script("from divulge.cli.main import main; main()"), env=environment, text=True)
    assert "release" in done.stdout
    assert "--install-completion" in refused("--install-completion", "csh")


# --- one rule for names; what is written, and when


FOLDER_LINES: list[list[str]] = [
    ["measure", "{}/none.csv"], ["measure", "{}/bad.json"], ["measure", "{}/c.docx"],
    ["measure", "{}/c.csv", "--prior", "{}/none.csv"],
    ["measure", "--data", "{}/none.csv", "--secret", "x", "--released", "y"],
    ["check", "{}/bad.csv", "--guarantee", "ldp=1"],
    ["account", "{}/bad.json"], ["account", "{}/l.json", "--plot", "{}/l.docx"],
    ["ledger", "show", "--ledger", "{}/none.db"],
    ["ledger", "show", "--ledger", "{}/bad.json"], ["report", "--receipt", "{}/bad.json"],
    ["report", "--receipt", "{}/none.json"],
    ["estimate", "{}/t.csv", "--receipt", "{}/bad.json"],
    ["design", "--prior", "{}/t.csv:x", "--guarantee", "ldp=1", "-o", "{}/none/d.csv"],
    ["publish", "{}/t.csv", "--guarantee", "dp=1", "--count", "x", "--values", "{}/bad.json"],
    ["publish", "{}/t.csv", "--guarantee", "dp=1", "--count", "x", "--values-from-data", "-o", "{}/none/o.csv"],
    ["release", "{}/t.csv", "--column", "x", "--mechanism", "{}/bad.csv", "-o", "{}/o.csv"],
    ["release", "{}/t.csv", "--column", "x", "--mechanism", "{}/c.csv", "-o", "{}/pipe"],
    ["release", "{}/t.csv", "--column", "x", "--mechanism", "{}/c.csv", "-o", "{}/loop/o.csv"],
    ["report", "{}/c.csv", "--prior", "uniform", "-o", "{}/t.csv/o.html"],
    ["attack", "{}/c.csv", "--gain", "{}/none.csv"],
]  # fmt: skip


@pytest.mark.parametrize("line", FOLDER_LINES, ids=" ".join)
def test_messages_name_files_without_their_folders(line: list[str], folder: Path) -> None:
    Path("bad.json").write_text("{")
    Path("bad.csv").write_text("x,a\n")
    Path("l.json").write_text('[{"mechanism": "laplace", "scale": 9, "sensitivity": 1}]')
    os.mkfifo("pipe")
    os.symlink("loop", "loop")
    assert str(folder) not in refused(*(part.format(folder) for part in line))


@pytest.mark.parametrize(
    "line",
    [("account", "l.json", "--plot", "l.json"), ("report", "--receipt", "r.html", "-o", "r.html", "--force"),
     ("design", "--prior", "p.png", "--guarantee", "pml", "--frontier", "1,2", "--plot", "p.png"),
     ("noise", "laplace", "--scale", "1", "--secret", "t.csv:x", "--plot", "t.csv"),
     ("publish", "t.csv", "--guarantee", "dp=1", "--count", "x", "--values", "v.json", "-o", "v.json", "--force"),
     ("release", "t.csv", "--column", "x", "--prior", "p.png", "--guarantee", "ldp=1", "--preview",
      "--picture", "p.png"),
     ("publish", "t.csv", "--guarantee", "dp=1", "--count", "x", "--values-from-data", "-o", "o.csv",
      "--receipt", "o.csv")],
    ids=" ".join,
)  # fmt: skip
def test_no_command_writes_what_it_reads(line: tuple[str, ...]) -> None:
    for name in ("l.json", "r.html", "p.png", "v.json"):
        Path(name).write_text("{}")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert "be another file than" in refused(*line)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_the_help_of_every_command_lists_what_is_read() -> None:
    from divulge.files.formats import CHANNELS, TABLES, listed

    def read(command: str) -> str:
        return " ".join(CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300"}).stdout.split())

    for command in ("release", "publish", "estimate", "audit", "measure", "report"):
        assert listed(TABLES) in read(command)
    for command in ("measure", "check", "attack", "compare", "report", "design"):
        assert listed(CHANNELS) in read(command)


@pytest.mark.parametrize("read_it", [dv.statement, dv.results.Published.read])
def test_receipts_are_not_waited_for(read_it: Any) -> None:
    os.mkfifo("pipe.json")
    os.symlink("/dev/zero", "zero.json")
    for name in ("pipe.json", "zero.json", "."):
        with pytest.raises(dv.InputFileError):
            read_it(name)
    assert "must be a file" in refused("report", "--receipt", "pipe.json")


@pytest.mark.thin
@pytest.mark.parametrize("broken", range(6))
def test_what_is_replaced_stays_when_one_of_the_files_cannot_be(broken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from divulge.releasing.output import sinks

    assert CliRunner().invoke(app, [*RELEASE, "-o", "out.csv"]).exit_code == 0
    before = {path.name: path.read_bytes() for path in Path().glob("out.*")}
    publish, left = sinks.publish, [broken]

    def failing(*given: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        publish(*given)

    monkeypatch.setattr(sinks, "publish", failing)
    assert "cannot be written: No space left" in CliRunner().invoke(app, [*RELEASE, "-o", "out.csv", "--force"]).stderr
    assert {path.name: path.read_bytes() for path in Path().glob("out.*")} == before
    assert not list(Path().glob(".*partial"))


def test_a_folder_is_not_replaced_by_a_file_nor_a_file_by_a_folder() -> None:
    Path("empty").mkdir()
    Path("file").write_text("kept")
    assert "is a folder" in CliRunner().invoke(app, [*RELEASE, "-o", "o.csv", "--receipt", "empty", "--force"]).stderr
    assert "is a file" in CliRunner().invoke(app, [*RELEASE, "-o", "file", "--force"]).stderr
    assert Path("empty").is_dir()
    assert Path("file").read_text() == "kept"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_command_that_is_ended_says_so(name: str) -> None:
    waiting = copies.started(["measure", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stderr is not None
    try:
        waiting.stderr.readline()  # it waits for standard input, which stays open: its end may come before the signal
        waiting.send_signal(getattr(signal, name))
        assert waiting.wait(300) == 130
    finally:
        waiting.kill()
        _, said = waiting.communicate(timeout=300)
    assert said.splitlines()[-1] in ("interrupted", "interrupted. Nothing was published.")  # by the work, or for it
    assert "Traceback" not in said


@pytest.mark.parametrize("escape", [False, True])
def test_formulas_go_out_behind_an_apostrophe_in_python_too(escape: bool) -> None:
    table = pa.table({"x": ["a", "b"], "y": ["=cmd()", "-1"]})
    with pytest.warns(UserWarning, match="formulas for a spreadsheet"):
        dv.release(table, "o.csv", column="x", mechanism=COIN, escape_formulas=escape)
    assert ("'=cmd()" in Path("o.csv").read_text()) == escape
    values = {"y": ["=cmd()", "-1"]}
    with pytest.warns(UserWarning, match="formulas for a spreadsheet"):
        dv.publish(table, dv.Count("y"), "p.csv", guarantee="dp=1", values=values, escape_formulas=escape)
    assert ("'=cmd()" in Path("p.csv").read_text()) == escape


@pytest.mark.parametrize("value", [None, True, 1, "x", [], {}, [[]], {"a": 1}])
@pytest.mark.parametrize("part", ["columns", "guarantees", "prior", "prior_source", "rounded", "secrets", "outcomes",
                                  "bits", "weights", "prior_set"])  # fmt: skip
@pytest.mark.thin
def test_an_entry_with_a_part_of_another_kind_is_refused_or_kept(part: str, value: Any) -> None:
    """Never a traceback: the ledger is not as it was written, or the part may be so."""
    dv.release(pa.table({"x": ["a", "b"]}), column="x", mechanism=COIN, ledger="book.sqlite", source_name="t")
    database = sqlite3.connect("book.sqlite")
    (text,) = database.execute("select mechanisms from divulge_releases").fetchone()
    found = json.loads(text)
    found[0][part] = value
    database.execute("update divulge_releases set mechanisms = ?", [json.dumps(found)])
    database.commit()
    database.close()
    done = CliRunner().invoke(app, ["ledger", "show"])
    assert done.exit_code in (0, 2)
    assert "unforeseen" not in done.stderr
    assert done.exit_code == 2 or (part, value) in [
        ("prior", None),
        ("prior_source", "x"),
        ("rounded", True),
        ("prior_set", {}),
    ]


@pytest.mark.parametrize("place", ["/", ".", "..", "", "a" * 5000])
def test_a_table_beside_which_no_receipt_can_lie(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["estimate", place])
    assert result.exit_code == 2
    assert "error: " in result.stderr


@pytest.mark.parametrize(
    "content", ["x,y\nSecretCell,1\n", '{"x": "SecretCell"}', '["SecretCell"]', '[{"x": "SecretCell"}]']
)
def test_a_table_in_the_place_of_a_list_of_releases_shows_no_cell(content: str) -> None:
    Path("l.json" if content[0] in "{[" else "l.csv").write_text(content)
    assert "SecretCell" not in refused("account", "l.json" if content[0] in "{[" else "l.csv")


@pytest.mark.parametrize("command", ["release", "publish"])
def test_no_paper_holds_what_does_not_print(command: str, folder: Path) -> None:
    """Signs that turn the direction of text, or steer a terminal, in values and in names of columns."""
    odd = "a\u202eb\x1b[2J\u200b"
    pq.write_table(pa.table({odd: [odd, "x"] * 20}), "odd.parquet")
    Path("v.json").write_text(json.dumps({odd: [odd, "x"]}))
    asked = {"release": ["--column", odd, "--guarantee", "ldp=1"],
             "publish": ["--count", odd, "--values", "v.json", "--guarantee", "dp=1"]}[command]  # fmt: skip
    found = CliRunner().invoke(app, [command, "odd.parquet", *asked, "-o", "fresh.parquet", "--no-ledger"])
    assert found.exit_code == 0, found.output
    papers = [path for path in Path().glob("fresh.*") if path.suffix != ".parquet"]
    assert len(papers) >= 3
    for path in papers:
        text = path.read_text()
        assert not {c for c in text if not c.isprintable()} - {"\n", "\xa0", "\u202f"}, path.name


def test_files_and_folders_that_are_not_what_was_meant() -> None:
    Path("people.csv").write_text("sex,ill\nf,yes\nm,no\nf,yes\nm,no\n")
    Path("folder").mkdir()
    asked = ("--column", "ill", "--guarantee", "ldp=1", "--no-ledger", "-o")

    def told(*arguments: str) -> str:
        found = CliRunner().invoke(app, list(arguments))
        assert found.exit_code == 2, found.output
        return found.stderr

    assert "there is no such file. Did you mean 'people.csv'?" in told("release", "peple.csv", *asked, "out.csv")
    assert "there is no such file. Did you mean 'people.csv'?" in told("check", "peple.csv", "--guarantee", "ldp=1")
    assert "must be in a folder that exists; there is no 'nowhere'" in told(
        "release", "people.csv", *asked, "nowhere/o.csv"
    )
    assert "such as folder/released.csv" in told("release", "people.csv", *asked, "folder")
    assert "Several are named one by one" in told(
        "release", "people.csv", "--column", "sex,ill", "--guarantee", "ldp=1", "--preview"
    )
    assert "there is no people.receipt.json beside the table" in told("estimate", "people.csv")
