"""Signals that end the work: a flag that every loop looks at, an exception that wakes what waits, steps that finish.

An exception alone is not enough: one that is raised while Python cleans up (in `__del__`, in a weak reference) is lost.
"""

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INTERRUPTED = 130
"""The exit code of a shell for what SIGINT ended: 128 and the number of the signal, 2."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

ASKED: list[int] = []
"""The signals that came. Whatever error follows, such as that of an import that was cut short, is their doing."""

ALREADY: list[str] = []
"""What is done for good: no error of what follows, such as a full disk behind standard output, may hide it."""

PUBLISHED = "What was drawn is published, and to repeat the call would spend again."
DRAWN = "What was drawn counts as spent, and to repeat the call would spend again."


def tell(word: str) -> None:
    """Tell who waits for this process how far it is: "publishing", "published". Nobody waits until somebody does."""


def tell_of(temporary: Path) -> None:
    """Tell who waits what has to be taken away when this process is killed."""
    tell(f"temporary:{os.fsencode(temporary.absolute()).hex()}")


def tell_of_naming(temporary: Path, final: Path) -> None:
    """Tell who waits which file gets this name next: it is there once the name is this file's."""
    found = temporary.stat()
    tell(f"naming:{os.fsencode(final.absolute()).hex()}:{found.st_dev}:{found.st_ino}")


class Interrupted(KeyboardInterrupt):
    """An interrupt. Of the plain one, met where it runs text as `dataclasses` does, Python dies whoever catches it."""


def catch() -> None:
    """Let these signals interrupt, but for those that the caller ignores, as `nohup` does."""
    for number in _numbers():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def ignore() -> None:
    """Let none of them disturb the end."""
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)


def look() -> None:
    """Stop here when a signal came, also one whose exception was lost."""
    if ASKED:
        raise Interrupted


@contextmanager
def held() -> Generator[None]:
    """Let steps that belong together finish: a signal that comes meanwhile takes effect when they are done.

    Only the main thread hears signals; in another one there is nothing to hold.
    """
    look()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {number: signal.getsignal(number) for number in _numbers()}
    heard = [number for number, how in before.items() if how not in (None, signal.SIG_IGN)]
    try:
        for number in heard:
            signal.signal(number, lambda number, _: waiting.append(number))
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
        for number in waiting[:1]:
            os.kill(os.getpid(), number)


def _numbers() -> list[int]:
    return [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]


def _interrupt(number: int, _: Any) -> None:
    """Raise once: a second signal, such as the one that a terminal sends to all of a group, disturbs no cleaning up."""
    first = not ASKED
    ASKED.append(number)
    if first:
        sys.unraisablehook = _unsaid
        raise Interrupted


def _unsaid(_: object) -> None:
    """Say nothing of errors in objects that were cut short while they were made, and now are taken apart."""
