"""Signals that end a command: from its first line on they let it clean up, and it ends with one word and one code."""

import signal
from typing import Any

INTERRUPTED = 130
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

ASKED: list[int] = []
"""The signals that came. Whatever error follows, such as that of an import that was cut short, is their doing."""


class Interrupted(KeyboardInterrupt):
    """An interrupt. Of the plain one, met where it runs text as `dataclasses` does, Python dies whoever catches it."""


def catch() -> None:
    """Let these signals interrupt, but for those that the caller ignores, as `nohup` does."""
    for name in SIGNALS:
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), _interrupt)


def ignore() -> None:
    """Let none of them disturb the end."""
    for name in SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _interrupt(number: int, _: Any) -> None:
    ASKED.append(number)
    raise Interrupted
