"""Long work beside the pages: one process a job, with progress, a result or a message, and an end when asked."""

import contextlib
import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from divulge import children, stopping
from divulge.errors import DivulgeError

MOST = max(2, min(os.cpu_count() or 1, 8))
"""So many jobs work at a time, each with memory of its own; others wait for their turn."""

PATIENCE = 3.0
"""Seconds that a job has to clean up when it is stopped, before it is killed."""

_LONGEST = 107 - len("/divulge-run-server-XXXXXXXX/pymp-XXXXXXXX/listener-XXXXXXXX")
"""Bytes that the path of a folder may have, for a socket in it to have at most 107, the most on Linux."""

_LAST = -200
"""After multiprocessing has removed its own folder, at -100."""

_LOCK = threading.Lock()
_TURNS = threading.BoundedSemaphore(MOST)

_STOPPED = "Stopped. Nothing was published; a release that had begun counts as spent."
_STOPPED_LATE = "Stopped, but it was published already, and is in the ledger."
_LOST = "The work ended before it was done; nothing was published. The file may be damaged, or memory ran out."
_SPENT = "The work ended while files got their names. What was drawn counts as spent."
_DONE = "It was published already, and counts as spent; the work ended before its files could be shown."

LOADED = (
    "divulge.app.outlook", "divulge.app.work", "divulge.auditing.audit", "divulge.tables.assess",
    "divulge.releasing.preview",
    "divulge.publishing.publish", "divulge.releasing.release", "divulge.reporting.release",
    "divulge.reporting.statements.statement", "divulge.reporting.publish", "divulge.reporting.generalize",
    "divulge.reporting.reports.promises", "divulge.reporting.page", "divulge.reporting.text",
    "pyarrow.compute", "pyarrow.csv", "pyarrow.ipc", "pyarrow.parquet",
    "duckdb", "flint", "highspy", "scipy.optimize", "scipy.stats", "opendp.measurements",
    "sqlalchemy.dialects.sqlite.pysqlite", "cryptography.hazmat.primitives.ciphers.aead", "babel.dates",
    "babel.numbers", "divulge.reporting.spoken", "divulge.guarantees.deciding.attacks",
    "pandas", "pyarrow.pandas_compat",  # for which Arrow asks when it is given an array
)  # fmt: skip
"""What jobs find loaded: some of it would take each of them half a second. What is not installed is passed over."""


def _context() -> Any:
    """Return the way to start processes: from a server that has the library loaded, where the system has that."""
    if sys.platform == "win32" or sys.platform == "darwin":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(LOADED))
    return context


CONTEXT = _context()


def get_ready() -> None:
    """Start the server that processes come from, so that it loads while the first page is read."""
    if CONTEXT.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        with _LOCK, children.isolated():
            _make_room_for_sockets()
            ensure_running()


@cache
def _make_room_for_sockets() -> None:
    """Let sockets lie in a private folder with a short path, also where that for temporary files has a long one."""
    from multiprocessing.util import Finalize, get_temp_dir

    known = (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm")
    short = [Path(one) for one in known if one and len(os.fsencode(one)) <= _LONGEST and os.access(one, os.W_OK)]
    kept = ExitStack()
    Finalize(None, kept.close, exitpriority=_LAST)
    folder = kept.enter_context(children.private_folder("server", *short[:1]))
    children.let_go(folder)
    usual, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        get_temp_dir()  # which is made once
    finally:
        tempfile.tempdir = usual


@dataclass
class Job:
    """Work that was started: `done` of `whole` while it runs, then `result`, or `error` to show.

    `stage` is how far a publication is: "publishing", "published".
    """

    function: Callable[..., Any]
    arguments: dict[str, Any]
    done: int = 0
    whole: int | None = None
    result: Any = None
    error: str | None = None
    stage: str = ""
    over: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def start(cls, function: Callable[..., Any], arguments: dict[str, Any]) -> "Job":
        """Return the job, running."""
        job = cls(function, arguments)
        threading.Thread(target=job._run, daemon=True).start()
        return job

    @property
    def share(self) -> float | None:
        """The share that is done, None when nobody knows."""
        return min(1.0, self.done / self.whole) if self.whole else None

    def wait(self, seconds: float) -> bool:
        """Wait a little; return whether the job is over."""
        return self.over.wait(seconds)

    def cancel(self) -> None:
        """End the work, wherever it is."""
        if not self.over.is_set():
            self.error = _STOPPED
            self._stop.set()

    def _run(self) -> None:
        """Wait for a turn, work in a process with a private folder, and take everything away that it leaves."""
        while not _TURNS.acquire(timeout=0.1):
            if self._stop.is_set():
                self.over.set()
                return
        try:
            with children.private_folder("job") as folder:
                self._worked(str(folder))
        except Exception:  # no more processes, or no room for one
            self.error = self.error or _LOST
        finally:
            _TURNS.release()
            self._stop.set()
            self.over.set()

    def _worked(self, folder: str) -> None:
        near, far = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=_work, args=(far, folder, self.function, self.arguments), daemon=True)
        with _isolated():
            process.start()
        far.close()
        threading.Thread(target=self._end, args=(process,), daemon=True).start()
        self._listen(near, process)

    def _end(self, process: Any) -> None:
        """Stop the process when asked to, and kill it when it does not heed that."""
        self._stop.wait()
        for how, seconds in ((process.terminate, PATIENCE), (process.kill, PATIENCE)):
            if self.over.is_set():
                return
            how()
            self.over.wait(seconds)

    def _listen(self, near: Connection, process: Any) -> None:
        try:
            while True:
                kind, value = near.recv()
                if kind == "progress":
                    self.done, self.whole = value
                elif kind == "stage":
                    self.stage = value
                else:
                    self.result, self.error = (value, None) if kind == "result" else (self.result, value)
                    break
        except (EOFError, OSError):
            ways = {"publishing": _SPENT, "published": _STOPPED_LATE if self.error else _DONE}
            self.error = ways.get(self.stage, self.error or _LOST)
        finally:
            near.close()
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()


def _isolated() -> contextlib.AbstractContextManager[None]:
    """Return what a process is started in: the server that starts it is isolated already, where there is one."""
    get_ready()
    return contextlib.nullcontext() if CONTEXT.get_start_method() == "forkserver" else children.isolated()


def _work(far: Connection, folder: str, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Run in the process: send progress, then the result or a message that shows no value of the data."""
    children.end_with(os.getppid())
    stopping.catch()
    tempfile.tempdir = folder

    def progress(done: int, whole: int | None) -> None:
        far.send(("progress", (done, whole)))

    def reached(word: str) -> None:
        if word in ("publishing", "published"):
            far.send(("stage", word))

    stopping.tell = reached
    try:
        far.send(("result", function(progress=progress, **arguments)))
    except BaseException as error:
        far.send(("error", _why(error, stopping.PUBLISHED in stopping.ALREADY)))
    finally:
        far.close()


def _why(error: BaseException, published: bool) -> str:
    """Return what is said of work that failed; whatever fails after a publication, that took place."""
    if isinstance(error, KeyboardInterrupt):
        return _STOPPED_LATE if published else _STOPPED
    if published:
        return _DONE
    if isinstance(error, DivulgeError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this file."
    return f"This could not be done ({type(error).__name__}). Nothing was published."
