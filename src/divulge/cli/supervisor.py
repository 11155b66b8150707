"""A command works in a process of its own, and who started it waits: whatever ends the work, the exit code is true.

With little memory OpenBLAS, Arrow and DuckDB end their process, with the exit code of an answer or by a signal; some
loops in C hear no signal for minutes; and a thread of a library that runs when Python ends makes 134 of any exit code.
"""

import atexit
import contextlib
import math
import os
import signal
import sys
import time
from collections.abc import Callable

from divulge import children, stopping

GRACE = 10.0
"""Seconds that the work has to clean up after a signal, before it is killed; what is being published is waited for."""

_SPINS = 20.0
"""Seconds of processor after which work whose memory ends, and no longer grows, is held to wait for memory in vain."""

_ROOM = 1 << 26
"""Bytes of addresses: OpenBLAS asks for 32 MiB, again and again without end where there are fewer."""

_LISTEN = 1.0
"""Seconds after which the waiting process hears what the working one tells, at the latest: a pipe holds 64 KiB."""

_DONE, _WRONG = 0, 2
_EARLY = "the work ended before it was done: memory ran out, or a library failed."
_NOTHING = "Nothing was published."
_THERE = "It is published; its entry in the ledger says so."
_PERHAPS = "It was just being published: look whether it is there, and at the ledger, where it counts as spent."


def supervised(work: Callable[[], None]) -> None:
    """Do the work in a child, and end with its exit code; where there is no such thing (Windows, macOS), here."""
    if sys.platform != "linux":
        work()
        return
    if children.addresses() is not None:
        os.environ.update({name: os.environ.get(name, one) for name, one in children.ONE_THREAD.items()})
    hold_numbers()
    signals = {getattr(signal, name) for name in stopping.SIGNALS}
    parent, (heard, told) = os.getpid(), os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {*signals, signal.SIGCHLD})
    child = os.fork()
    if not child:
        os.close(heard)
        children.end_with(parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*signals, signal.SIGCHLD})
        stopping.tell = lambda word: _tell(told, word)
        _end(work)
    os.close(told)
    os.set_blocking(heard, False)
    heeded = {number for number in signals if signal.getsignal(number) is not signal.SIG_IGN}
    sys.exit(_watch(child, heard, heeded))


def hold_numbers() -> None:
    """Take the numbers of standard streams that are closed: a file of ours that got one would be written into."""
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # which no output can be written to, and every message


def _end(work: Callable[[], None]) -> None:
    """Do the work, tell its exit code, and end at once: no thread of a library is waited for, none can fail."""
    code = _WRONG
    try:
        work()
        code = _DONE
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else _WRONG
    finally:
        with contextlib.suppress(BaseException):
            stopping.ignore()
            sys.stdout.flush()
            sys.stderr.flush()
            stopping.tell(f"exit {code}")
            atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        os._exit(code)


def _tell(told: int, word: str) -> None:
    with contextlib.suppress(OSError):  # who listened has ended, and this process ends with it
        os.write(told, f"{word}\n".encode())


def _watch(child: int, heard: int, heeded: set[int]) -> int:
    """Wait for the child, hand signals on to it, and return the exit code."""
    words, asked, status, waits = list[str](), math.inf, None, _Waits(child, children.addresses())
    while status is None:
        came = signal.sigtimedwait({*heeded, signal.SIGCHLD}, _LISTEN)
        words += _words(heard)
        if came is not None and came.si_signo in heeded:
            asked = min(asked, time.monotonic())
            os.kill(child, came.si_signo)
        if time.monotonic() - asked > GRACE and words[-1:] != ["publishing"]:
            os.kill(child, signal.SIGKILL)
        if waits.in_vain():
            os.kill(child, signal.SIGKILL)
        ended, found = os.waitpid(child, os.WNOHANG)
        status = found if ended else None
    words += _words(heard)
    if words[-2:-1] == ["exit"]:
        return int(words[-1])
    _take_away(words)
    there = _THERE if "published" in words else _PERHAPS if "publishing" in words else _NOTHING
    said = f"interrupted. {there}" if asked < math.inf else f"error: {_EARLY} {there}"
    with contextlib.suppress(OSError):
        os.write(2, f"{said}\n".encode())
    return _DONE if "published" in words else stopping.INTERRUPTED if asked < math.inf else _WRONG


class _Waits:
    """Whether the child asks for memory that there is not: its size stands close below the limit while it computes."""

    def __init__(self, child: int, limit: int | None) -> None:
        self._child, self._limit, self._size, self._since = child, limit, 0, 0.0

    def in_vain(self) -> bool:
        """Say so once it computed for `_SPINS` without growing. Where nothing limits addresses, never."""
        if self._limit is None:
            return False
        try:
            with open(f"/proc/{self._child}/statm") as pages, open(f"/proc/{self._child}/stat") as times:
                size = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                spent = sum(map(int, times.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):  # it has ended
            return False
        if size != self._size:
            self._size, self._since = size, spent
        return size > self._limit - _ROOM and spent - self._since > _SPINS


def _take_away(words: list[str]) -> None:
    """Remove temporary files of a child that could not do it."""
    import shutil

    for word in words:
        kind, _, name = word.partition(":")
        if kind == "temporary":
            path = os.fsdecode(bytes.fromhex(name))
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def _words(heard: int) -> list[str]:
    """Return what the child told since the last time."""
    found = b""
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(heard, 4096):
            found += piece
    return found.decode().split()
