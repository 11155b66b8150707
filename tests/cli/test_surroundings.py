"""What surrounds a command: closed and narrow streams, readers that leave, signals, folders and names of any kind."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import copies
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

COMMAND = f"{sys.executable} -m divulge"
RELEASE = "release t.csv --column x --mechanism c.csv --only-column -o out.csv"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table, a channel and a ledger of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIVULGE_LEDGER", str(tmp_path / "book.sqlite"))
    Path("t.csv").write_text("x,y\né,日\n日,é\né,é\n")
    dv.write_channel(dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["é", "日"], ["é", "日"]), "c.csv")
    return tmp_path


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell."""
    return subprocess.run(["sh", "-c", line], capture_output=True, env=os.environ | environment, timeout=300)


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)])
def test_an_answer_that_cannot_be_written_is_no_answer(closed: tuple[int, ...]) -> None:
    assert copies.run("check c.csv --guarantee ldp=2".split(), closed=closed).returncode == 2


def test_no_file_of_ours_takes_the_place_of_a_stream_that_is_closed(folder: Path) -> None:
    """A release writes its files whole, whatever is printed meanwhile; 0 says that they are there, 2 that none is."""
    assert copies.run([*RELEASE.split(), "--receipt", "r.json"], closed=(0, 1, 2)).returncode == 0
    assert Path("out.csv").read_text().splitlines()[0] == '"x_perturbed"'
    assert len(Path("out.csv").read_text().splitlines()) == 4
    assert dv.Receipt.read("r.json").describes("out.csv")
    assert len(dv.Ledger("book.sqlite").entries()) == 1


def test_a_message_that_nobody_can_read_is_not_printed_as_an_answer() -> None:
    found = copies.run(["measure", "none.csv", "--json"], closed=(2,))
    assert (found.returncode, found.stdout, found.stderr) == (2, b"", b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "ascii:strict"])
def test_json_is_json_in_any_encoding(encoding: str) -> None:
    found = copies.run(["measure", "c.csv", "--json"], encoding=encoding)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout.decode("ascii"))["outcomes"] == ["é", "日"]


def test_a_terminal_of_ascii_gets_ascii() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = shell(f"{COMMAND} measure c.csv --prior uniform", **plain)
    assert (found.returncode, found.stdout.isascii()) == (0, True)
    assert b"\\u65e5" in found.stdout
    found = shell(f"{COMMAND} measure caf\u00e9.csv", **plain)
    assert (found.returncode, found.stderr.isascii(), found.stderr.count(b"error: ")) == (2, True, 1)


def test_a_reader_that_leaves_changes_nothing() -> None:
    read, write = os.pipe()
    os.close(read)
    found = copies.run(RELEASE.split(), stdout=write)
    os.close(write)
    assert found.returncode == 0
    assert Path("out.receipt.json").exists()
    assert found.stderr.count(b"rror") == 0


def _on_a_terminal(columns: int, **environment: str) -> str:
    """Return what a command prints on a terminal this wide."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    running = copies.started(
        ["measure", "c.csv", "--prior", "uniform"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | environment,
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 1 << 16):
            shown += block
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    assert running.wait() == 0, shown
    return shown.decode()


def test_narrow_terminals_show_every_word_and_no_color_where_none_is_wanted() -> None:
    shown = _on_a_terminal(20, NO_COLOR="1")
    assert not re.search("\x1b\\[[0-9;]*[34][0-9]", shown)
    assert max(map(len, re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines())) <= 20


@pytest.mark.thin
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_release_that_is_interrupted_leaves_nothing(name: str, folder: Path) -> None:
    """In the middle of the rows."""
    program = f"""
import os, signal, sys
import divulge.releasing.output.sinks as sinks
write = sinks.CsvWriter.write
def interrupted(self, batch):
    write(self, batch)
    os.kill(os.getpid(), signal.{name})
sinks.CsvWriter.write = interrupted
from divulge.cli.main import main
main()
"""
    found = copies.run(copies.script(program, *RELEASE.split()))
    assert (found.returncode, found.stdout) == (130, b""), found.stderr
    assert found.stderr.endswith(b"interrupted\n")
    assert sorted(os.listdir()) == ["book.sqlite", "book.sqlite.key", "c.csv", "t.csv"]
    assert dv.Ledger("book.sqlite").entries() == []


LOADED = ("divulge.cli.main", "typer", "divulge.cli.asking.noise", "numpy", "divulge.noise.mechanism", "scipy.stats")


@pytest.mark.thin
@pytest.mark.parametrize("how", ["kill", "in a text that is run", "told as another error"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_while_libraries_are_loaded_ends_the_command_like_a_later_one(name: str, how: str) -> None:
    """Python alone makes of it 1, 2, a traceback or death by a signal, by where it meets it."""
    kill = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    sent = {
        "kill": kill,
        "in a text that is run": f"exec({kill!r})",
        "told as another error": f"""
        try:
            exec({kill!r})
        except KeyboardInterrupt:
            raise ImportError("cut short") from None""",
    }[how]
    for module in LOADED if (name, how) == ("SIGINT", "kill") else LOADED[1:3]:
        script = f"""
import sys
class Finder:
    def find_spec(self, name, *rest):
        if name != {module!r}:
            return None
        sys.meta_path.remove(self)
        {sent}
sys.meta_path.insert(0, Finder())
sys.argv = ["divulge", *"noise laplace --scale 1 --secret normal(0,1) --clip -3,3".split()]
from divulge.__main__ import main
main()
"""
        found = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=300)
        assert (found.returncode, found.stdout) == (130, b""), (module, found.stderr)
        assert found.stderr == b"interrupted\n", module


def test_a_signal_that_the_caller_ignores_is_ignored() -> None:
    """As `nohup` asks for SIGHUP."""
    script = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from divulge import stopping
stopping.catch()
os.kill(os.getpid(), signal.SIGHUP)
sys.argv = ["divulge", "--version"]
from divulge.__main__ import main
main()
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=300)
    assert (found.returncode, found.stderr) == (0, b"")


def refused(*line: str) -> str:
    """Return the one message with which a command is refused."""
    found = CliRunner().invoke(app, list(line))
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    return found.stderr


def test_every_folder_has_a_name() -> None:
    assert "the folder of TABLE, '/'." in refused(*RELEASE.split()[:-1], "/")


def test_a_name_that_is_too_long_is_refused_before_anything_is_spent() -> None:
    assert "cannot be written: File name too long" in refused(*RELEASE.split()[:-1], "x" * 245 + ".csv")
    assert not Path("book.sqlite").exists() or not dv.Ledger("book.sqlite").entries()


def test_a_name_with_line_ends_forges_no_line() -> None:
    found = CliRunner().invoke(app, [*RELEASE.split()[:-1], "o\nguarantee: ldp 0.csv"])
    assert found.exit_code == 0, found.output
    assert [line for line in found.output.splitlines() if line.startswith("guarantee")][1:] == []
    assert "o\\nguarantee: ldp 0.csv" in found.output


def test_a_value_with_line_ends_forges_no_line() -> None:
    rows: list[dict[str, Any]] = [{"x": "a\nclaim: kept", "y": "b"}, {"x": "c", "y": "d\nclaim: kept"}] * 300
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), "l.parquet")
    found = CliRunner().invoke(
        app, ["audit", "--data", "l.parquet", "--secret", "x", "--released", "y", "--claim", "ldp=1"]
    )
    assert found.exit_code == 1, found.output
    assert not [line for line in found.output.splitlines() if line.startswith("claim: kept")]


def test_a_folder_that_is_gone_is_said(folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert "error: " in refused("measure", "../c.csv")


def test_what_the_environment_lacks_is_not_needed() -> None:
    lacking = {name: value for name, value in os.environ.items() if name != "HOME"}
    found = copies.run(RELEASE.split(), env=lacking | {"TMPDIR": "/none", "TZ": "nonsense"})
    assert found.returncode == 0, found.stderr


@pytest.mark.thin
@pytest.mark.parametrize("zone", [":/dev/zero", "../../etc/passwd", "a" * 300], ids=["device", "up", "long"])
def test_a_zone_that_is_none_is_no_defect(zone: str) -> None:
    found = copies.run(RELEASE.split(), env=os.environ | {"TZ": zone})
    assert found.returncode in (0, 2)
    assert b"unforeseen" not in found.stderr
    assert found.returncode == 0 or b"environment" in found.stderr
