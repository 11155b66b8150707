"""The ledger on PostgreSQL, a server of this test's own: races, writers that are killed, a server that stops."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import copies
import pyarrow as pa
import pytest

import divulge as dv

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
SURVEY = pa.table({"answer": ["yes", "no"]})


def _free() -> int:
    """Return a port that is free, below those of which the system gives one to whoever asks for any."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


class Server:
    """A PostgreSQL cluster in a folder, on a port of its own."""

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not found:
            pytest.fail("PostgreSQL must be installed for this test: apt-get install postgresql")
        self._bin, self._data = found[-1].parent, folder / "data"
        self._as = {"user": "postgres"} if os.getuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "postgres")
        self.port = _free()
        self._run("initdb", "-D", str(self._data), "-U", "keeper", "-A", "trust", "--no-sync")
        self.start()

    def database(self, name: str) -> str:
        """Return the address of a ledger of its own: the same rows in one ledger are the same people, and add up."""
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "keeper", name)
        return f"postgresql+psycopg://keeper@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._data.parent, timeout=300, **self._as)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self._data} -c fsync=off -c max_connections=40"
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._data.parent / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop the server at once, as a crash would."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "stop")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server, in a folder that another user of this machine can enter."""
    with tempfile.TemporaryDirectory(prefix="divulge-ledger-", dir="/tmp") as folder:  # that of tests is sealed
        found = Server(Path(folder))
        yield found
        found.stop()


WRITER = """
import sys
import pyarrow as pa
import divulge as dv
coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
done = 0
print("ready", flush=True)
sys.stdin.readline()
while True:
    try:
        dv.release(pa.table({"answer": ["yes", "no"]}), column="answer", mechanism=coin, ledger=sys.argv[1],
                   source_name=sys.argv[2], budget=sys.argv[3])
        done += 1
    except dv.DivulgeError as error:
        assert "nothing was drawn" in str(error), error
        break
print(done)
"""


def _writers(url: str, source: str, budget: str, count: int) -> list[subprocess.Popen[str]]:
    program = copies.script(WRITER, url, source, budget)
    found = [copies.started(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    for writer in found:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in found:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    return found


@pytest.mark.long
def test_racing_writers_spend_the_budget_and_no_more(server: Server) -> None:
    """log 3 = 1.0986: a budget of 5.5 is enough for five releases, whoever of two writers makes them."""
    url = server.database("race")
    writers = _writers(url, "race", "ldp=5.5", 2)
    assert sum(int(writer.communicate(timeout=300)[0]) for writer in writers) == 5
    entries = dv.Ledger(url).entries("race", ["answer"])
    assert [entry.state for entry in entries] == ["published"] * 5


def test_what_a_killed_writer_took_counts(server: Server) -> None:
    """log 3 = 1.0986: a budget of 5.5 is enough for five releases, whoever of the two takes them."""
    url = server.database("killed")
    writers = _writers(url, "killed", "ldp=5.5", 2)
    writers[0].kill()
    done = int(writers[1].communicate(timeout=300)[0])
    writers[0].communicate()
    entries = dv.Ledger(url).entries("killed")
    assert len(entries) == 5
    assert done <= sum(entry.state == "published" for entry in entries) <= 5


def test_a_server_that_stops_ends_in_one_message_and_keeps_what_was_spent(server: Server) -> None:
    url = server.database("stop")

    def spend() -> dv.Receipt:
        return dv.release(SURVEY, column="answer", mechanism=COIN, ledger=url, source_name="stop", budget="ldp=2.3")

    spend()
    server.stop()
    try:
        with pytest.raises(dv.DivulgeError, match=r"or written: its server does not answer\. Nothing was drawn"):
            spend()
    finally:
        server.start()
    spend()
    with pytest.raises(dv.DivulgeError, match="nothing was drawn"):
        spend()
    assert len(dv.Ledger(url).entries("stop")) == 2
    assert "keeper@" in repr(dv.Ledger(url))
