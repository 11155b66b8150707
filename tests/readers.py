"""Readers of foreign files without what starting a process costs: copies of a server in which their libraries are.

A copy has the arguments, folder, environment, limits and streams that the process of its own has, and is the leader of
a group as that is. How the process begins is seen in a real one alone (the fixture `started_readers`).
"""

import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from divulge import children

STARTED = children.run
"""What starts a process, as outside the tests."""

_READER = "divulge.files.foreign.apart"
_MOST = 1 << 20
"""Bytes of a request: names of files and limits."""


def run(module: str, argument: str, output: Path) -> tuple[int, str]:
    """Do what `children.run` does: a reader is a copy of the server, anything else is started."""
    if module != _READER:
        return STARTED(module, argument, output)
    asked = {"argument": argument, "folder": str(output.parent), "environment": children.environment(output.parent)}
    reading, said = os.pipe()
    with socket.socket(socket.AF_UNIX) as server, output.open("xb") as out, os.fdopen(reading, "rb") as heard:
        try:
            server.connect(_server())
            socket.send_fds(server, [json.dumps(asked).encode()], [out.fileno(), said])
        finally:
            os.close(said)
        with server.makefile("r") as told:
            leader = int(told.readline())
            try:
                text = heard.read().decode(errors="replace")
                return int(told.readline()), text
            finally:
                children.end(leader)


@cache
def _server() -> str:
    """Start the server, which ends when nobody holds the other end of its input, and return its address."""
    name, (inward, _kept), (heard, outward) = f"divulge-readers-{secrets.token_hex(8)}", os.pipe(), os.pipe()
    line = [sys.executable, __file__, name]
    process = subprocess.Popen(line, stdin=inward, stdout=outward, start_new_session=True)
    process.returncode = 0  # nobody waits for it
    os.close(inward)
    os.close(outward)
    assert os.read(heard, 1), "the server of readers has not begun"
    os.close(heard)
    return f"\0{name}"


def _serve(address: str) -> None:
    from divulge.files.foreign import apart

    sys.meta_path.insert(0, apart._NoPandas())  # pyright: ignore[reportPrivateUsage]
    for library in ("pyarrow", "pyreadstat", "python_calamine"):
        import_module(library)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        os.write(1, b"\n")
        os.close(1)
        while select.select([listening, 0], [], [])[0] == [listening]:
            asking, _ = listening.accept()
            if not os.fork():
                listening.close()
                _answer(asking)
            asking.close()


def _answer(asking: socket.socket) -> None:
    """Let a copy be the reader, tell who it is and how it ended, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(asking, _MOST, 2)
    reader = os.fork()
    if not reader:
        asking.close()
        _read(json.loads(request), streams)
    for stream in streams:
        os.close(stream)
    asking.sendall(f"{reader}\n".encode())
    ended = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
    asking.sendall(f"{ended}\n".encode())
    os._exit(0)


def _read(asked: dict[str, object], streams: list[int]) -> None:
    import tempfile
    import traceback

    from divulge.files.foreign import apart

    code = 1
    try:
        os.setsid()
        for number, stream in zip((0, 1, 2), (os.open(os.devnull, os.O_RDONLY), *streams), strict=True):
            os.dup2(stream, number)
        os.closerange(3, max(streams) + 1)
        os.environ.clear()
        os.environ.update(asked["environment"])  # pyright: ignore
        os.chdir(str(asked["folder"]))
        tempfile.tempdir = None
        sys.argv = ["-c", str(asked["argument"])]
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        apart.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(f"\0{sys.argv[1]}")
