"""What a visitor is at: a folder of their own, the choices made so far, the work under way. Gone when forgotten."""

import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from divulge import children
from divulge.app.jobs import Job

MOST = 64
"""So many sessions at once; those without a file make room first, and of these the one left alone longest."""
MOST_BYTES = 8 << 30
"""So much all sessions keep at once, uploaded or made."""
IDLE = 8 * 3600.0
"""After so many seconds without a request a session is forgotten."""

OWN = ("coarse", "places", "many", "protect")
"""Ways with a page of their own, from the choice to the preview."""


@dataclass
class Session:
    """One visit. `choices` holds what the forms said, `jobs` the latest work of each name, `language` that of pages."""

    key: str
    folder: Path
    touched: float
    choices: dict[str, Any] = field(default_factory=dict[str, Any])
    jobs: dict[str, Job] = field(default_factory=dict[str, Job])
    language: str = "en"
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def empty(self) -> bool:
        """Whether there is no file yet, uploaded or made."""
        return not any(self.folder.iterdir())

    def has_room(self, more: int) -> bool:
        """Say whether so many bytes can be kept beside what all sessions keep."""
        sizes = (path.lstat().st_size for path in self.folder.parent.rglob("*") if not path.is_dir())
        return sum(sizes) + more <= MOST_BYTES

    def job(self, name: str, function: Callable[..., Any], /, **arguments: Any) -> Job:
        """Return the work of this name with these arguments; work with other arguments is ended and started anew."""
        with self.lock:
            known = self.jobs.get(name)
            if known is not None and known.function is function and known.arguments == arguments:
                return known
            if known is not None:
                known.cancel()
            self.jobs[name] = Job.start(function, arguments)
            return self.jobs[name]

    def stop(self, name: str) -> None:
        """End the work of a name, with all its parts: those of "ways" are called "ways:record" and so on."""
        with self.lock:
            for known, job in self.jobs.items():
                if known.partition(":")[0] == name:
                    job.cancel()

    def forget(self, *names: str) -> None:
        """Drop work, so that the same question is asked anew."""
        with self.lock:
            for name in names:
                if known := self.jobs.pop(name, None):
                    known.cancel()

    def close(self) -> None:
        """End all work and remove the folder."""
        self.forget(*self.jobs)
        shutil.rmtree(self.folder, ignore_errors=True)


class Sessions:
    """All visits, in one private folder that goes when the app ends."""

    def __init__(self) -> None:
        self._kept = ExitStack()
        self.root = self._kept.enter_context(children.private_folder("app"))
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def new(self) -> Session:
        """Return a new session, known by a name that nobody can guess."""
        key = secrets.token_urlsafe(18)
        folder = self.root / key
        folder.mkdir(mode=0o700)
        with self._lock:
            self._tidy()
            self._open[key] = Session(key, folder, time.monotonic())
            return self._open[key]

    def get(self, key: str) -> Session | None:
        """Return a session that is still open."""
        with self._lock:
            found = self._open.get(key)
            if found is not None:
                found.touched = time.monotonic()
            return found

    def drop(self, key: str) -> None:
        """Forget a session."""
        with self._lock:
            found = self._open.pop(key, None)
        if found:
            found.close()

    def close(self) -> None:
        """Forget all."""
        for key in list(self._open):
            self.drop(key)
        self._kept.close()

    def _tidy(self) -> None:
        now = time.monotonic()
        stale = [s for s in self._open.values() if now - s.touched > IDLE]
        rest = sorted((s for s in self._open.values() if s not in stale), key=lambda s: (not s.empty, s.touched))
        stale += rest[: max(0, len(rest) - MOST + 1)]
        for one in stale:
            del self._open[one.key]
            one.close()
