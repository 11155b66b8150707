"""A command works in a process of its own, and who started it waits: whatever ends the work, the exit code is true.

With little memory OpenBLAS, Arrow and DuckDB end their process, with the exit code of an answer or by a signal; some
loops in C hear no signal for minutes; and a thread of a library that runs when Python ends makes 134 of any exit code.
"""

import atexit
import contextlib
import math
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from divulge import children, stopping
from divulge.errors import printable

GRACE = 10.0
"""Seconds that the work has to clean up after a signal, before it is killed; what is being published is waited for."""

_SPINS = 20.0
"""Seconds of processor after which work whose memory ends, and no longer grows, is held to wait for memory in vain."""

_ROOM = 1 << 26
"""Bytes of addresses: OpenBLAS asks for 32 MiB, again and again without end where there are fewer."""

STILL = 30.0
"""Seconds after which work whose threads all wait for each other, and that computes nothing, is held to be stuck."""

_FUTEX = {"x86_64": (202,), "aarch64": (98,)}.get(platform.machine(), ())
"""The number of futex(2), by which threads wait for each other."""

_LISTEN = 1.0
"""Seconds after which the waiting process hears what the working one tells, at the latest: a pipe holds 64 KiB."""

_DONE = 0
"""The exit code of work that is done."""
_WRONG = 2
"""The exit code of errors, as of `divulge.cli.main`, which is not imported here: that takes 0.15 s more."""
_EARLY = "the work ended before it was done: memory ran out, or a library failed."
_NOTHING = "Nothing was published."
_THERE = "It is published; the ledger counts it as spent."
_SPENT = "Nothing was published; what was drawn counts as spent in the ledger."


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
    published = _settled(words) or "published" in words
    there = _THERE if published else _SPENT if "publishing" in words else _written(words) or _NOTHING
    said = f"interrupted. {there}" if asked < math.inf else f"error: {_EARLY} {there}"
    with contextlib.suppress(OSError):
        os.write(2, f"{said}\n".encode())
    return _DONE if published else stopping.INTERRUPTED if asked < math.inf else _WRONG


class _Waits:
    """Whether the child can go no further, though it does not end.

    It asks for memory that there is not: its size stands close below the limit while it computes. Or all its threads
    wait for each other without a limit: a thread whose first allocation fails leaves the one that started it waiting
    for ever (`Thread.start` of CPython).
    """

    def __init__(self, child: int, limit: int | None) -> None:
        self._child, self._limit, self._size, self._since = child, limit, 0, 0.0
        self._spent, self._moved = -1.0, time.monotonic()

    def in_vain(self) -> bool:
        """Say so once it computed for `_SPINS` without growing, or all has stood still for `STILL`."""
        try:
            with open(f"/proc/{self._child}/statm") as pages, open(f"/proc/{self._child}/stat") as times:
                size = int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                spent = sum(map(int, times.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
            if spent != self._spent or not self._all_wait_for_each_other():
                self._spent, self._moved = spent, time.monotonic()
        except (OSError, ValueError, IndexError):  # it has ended
            return False
        if size != self._size:
            self._size, self._since = size, spent
        spins = self._limit is not None and size > self._limit - _ROOM and spent - self._since > _SPINS
        return spins or time.monotonic() - self._moved > STILL

    def _all_wait_for_each_other(self) -> bool:
        """Say whether every thread waits in futex(2), and none of them for a time."""
        for thread in os.listdir(f"/proc/{self._child}/task"):
            with open(f"/proc/{self._child}/task/{thread}/syscall") as call:
                number, *arguments = call.read().split()
            if int(number) not in _FUTEX or int(arguments[3], 16):
                return False
        return True


def _settled(words: list[str]) -> bool:
    """Take back what a child has half done, and remove its temporary files; say whether all names were given."""
    from divulge import staging

    told = [name for kind, _, name in (word.partition(":") for word in words) if kind == "temporary"]
    complete = [staging.settle(Path(os.fsdecode(bytes.fromhex(name)))) for name in told]
    return any(complete)


def _written(words: list[str]) -> str:
    """Say which files were written whole before the end, such as the mechanism that was to be printed too."""
    whole = list[str]()
    for kind, _, name in (word.partition(":") for word in words):
        if kind == "naming":
            path, *identity = name.split(":")
            final = Path(os.fsdecode(bytes.fromhex(path)))
            with contextlib.suppress(OSError):
                found = final.lstat()
                if [str(found.st_dev), str(found.st_ino)] == identity:
                    whole.append(printable(final.name))
    return f"Written whole: {', '.join(dict.fromkeys(whole))}." if whole else ""


def _words(heard: int) -> list[str]:
    """Return what the child told since the last time."""
    found = b""
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(heard, 4096):
            found += piece
    return found.decode().split()
