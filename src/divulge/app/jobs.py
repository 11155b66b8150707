"""Long work beside the pages: one process a job, with progress, a result or a message, and an end when asked."""

import multiprocessing
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from divulge.errors import DivulgeError

_LOST = "The work ended before it was done; nothing was published. The file may be damaged, or memory ran out."


LOADED = (
    "divulge.app.work", "divulge.auditing.audit", "divulge.auditing.exposure", "divulge.releasing.preview",
    "divulge.publishing.publish", "divulge.releasing.release", "divulge.reporting.release",
    "divulge.reporting.statements.statement",
    "pyarrow.compute", "pyarrow.csv", "pyarrow.ipc", "pyarrow.parquet",
    "duckdb", "flint", "highspy", "scipy.optimize", "scipy.stats",
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

        ensure_running()


@dataclass
class Job:
    """Work that was started: `done` of `whole` while it runs, then `result`, or `error` to show."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    done: int = 0
    whole: int | None = None
    result: Any = None
    error: str | None = None
    over: threading.Event = field(default_factory=threading.Event)
    _process: Any = None

    @classmethod
    def start(cls, function: Callable[..., Any], arguments: dict[str, Any]) -> "Job":
        """Return the job, running."""
        job = cls(function, arguments)
        near, far = CONTEXT.Pipe(duplex=False)
        job._process = CONTEXT.Process(target=_work, args=(far, function, arguments), daemon=True)
        job._process.start()
        far.close()
        threading.Thread(target=job._listen, args=(near,), daemon=True).start()
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
            self.error = "Stopped. Nothing was published; a release that had begun counts as spent."
            self._process.terminate()

    def _listen(self, near: Connection) -> None:
        try:
            while not self.over.is_set():
                kind, value = near.recv()
                if kind == "progress":
                    self.done, self.whole = value
                elif kind == "result":
                    self.result = value
                    self.over.set()
                else:
                    self.error = value
                    self.over.set()
        except (EOFError, OSError):
            self.error = self.error or _LOST
        finally:
            near.close()
            self._process.join(5)
            if self._process.is_alive():
                self._process.kill()
            self.over.set()


def _work(far: Connection, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Run in the process: send progress, then the result or a message that shows no value of the data."""

    def progress(done: int, whole: int | None) -> None:
        far.send(("progress", (done, whole)))

    try:
        far.send(("result", function(progress=progress, **arguments)))
    except DivulgeError as error:
        far.send(("error", str(error)))
    except MemoryError:
        far.send(("error", "There is not enough memory for this file."))
    except Exception as error:
        far.send(("error", f"This could not be done ({type(error).__name__}). Nothing was published."))
    finally:
        far.close()
