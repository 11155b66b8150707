"""Commands as processes without what a process costs: copies of this one, in which all that they load is there.

A copy has streams, a folder, an environment and signals of its own, as a command that is started has. What begins with
Python, such as its options and the order in which libraries are loaded, is seen in a real one alone.
"""

import atexit
import faulthandler
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

import divulge as dv
from divulge import __main__ as command
from divulge import stopping

_BEYOND = 4096
"""Above all numbers of open files that a process of the tests has."""


def started(
    line: Sequence[str] | Callable[[], Any],
    closed: Sequence[int] = (),
    encoding: str = "utf-8",
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> "subprocess.Popen[Any]":
    """Start `divulge` with the words of a line, or what a function does, in a copy; options as of `subprocess.Popen`.

    Streams whose numbers are in `closed` are closed.
    """
    _load()
    surroundings = dict(os.environ if env is None else env)
    become = partial(_become, line, closed, encoding, surroundings)
    with warnings.catch_warnings():  # newer Pythons warn where a library has threads, which hold nothing of ours
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen([sys.executable], preexec_fn=become, **options)


@cache
def _load() -> None:
    """Load here what releases and publications load: it takes five times as long as they do, in each copy anew."""
    import pyarrow as pa

    table = pa.table({"answer": ["no", "yes"] * 3})
    with tempfile.TemporaryDirectory() as folder:
        kept: Any = {"ledger": f"{folder}/ledger.sqlite", "source_name": "nobody", "per_row": True}
        dv.release(table, f"{folder}/released.csv", column="answer", guarantee="ldp=1", **kept)
        values = {"answer": ["no", "yes"]}
        dv.publish(table, dv.Count("answer"), f"{folder}/published.csv", guarantee="dp=1", values=values, **kept)


def run(
    line: Sequence[str] | Callable[[], Any], input: Any = None, **options: Any
) -> "subprocess.CompletedProcess[Any]":
    """Return how it ended and what it said; options as of `started`, each stream is heard that is not given."""
    usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    usual["stdin"] = subprocess.DEVNULL if input is None else subprocess.PIPE
    with started(line, **{**usual, **options}) as process:
        try:
            out, err = process.communicate(input, timeout=300)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(["divulge"], process.returncode, out, err)


def script(text: str, *arguments: Any) -> Callable[[], None]:
    """Return what `python -c` does with a text and arguments."""

    def program() -> None:
        sys.argv = ["-c", *map(str, arguments)]
        exec(compile(text, "<script>", "exec"), {"__name__": "__main__"})

    return program


def _leave_files() -> None:
    """Close what the tests have opened; a library that makes a pipe anew in each copy, as Arrow does, keeps that."""
    if not os.path.isdir("/proc/self/fd"):
        os.closerange(3, _BEYOND)
        return
    opened = set(_open_files(os.getppid()).values())
    for number, file in _open_files(os.getpid()).items():
        if number > 2 and file in opened:
            os.close(number)


def _open_files(process: int) -> dict[int, str]:
    """Return what stands behind each number of an open file, but for that by which they are listed."""
    found: dict[int, str] = {}
    for number in os.listdir(folder := f"/proc/{process}/fd"):
        with suppress(OSError):
            found[int(number)] = os.readlink(f"{folder}/{number}")
    return found


def _become(
    line: Sequence[str] | Callable[[], Any], closed: Sequence[int], encoding: str, env: Mapping[str, str]
) -> None:
    """Be the command; never return to what would start a program."""
    code = 99
    try:
        _leave_files()  # those of the tests, and the pipe on which `Popen` waits for a program
        for name in ("SIGPIPE", "SIGXFSZ"):  # as Python begins
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        faulthandler.disable()
        atexit._clear()  # pyright: ignore[reportPrivateUsage]
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None
        time.tzset()
        names, _, errors = encoding.partition(":")
        for number in closed:
            os.close(number)
        sys.stdin, sys.stdout, sys.stderr = (
            None if number in closed
            else os.fdopen(number, "w" if number else "r", encoding=names, errors=errors or None, closefd=False)
            for number in range(3)
        )  # fmt: skip
        stopping.ASKED.clear()
        stopping.ALREADY.clear()
        sys.modules["__main__"] = command
        if callable(line):
            line()
        else:
            sys.argv = ["divulge", *line]
            command.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                code = code or 120  # as of Python
        os._exit(code)
