"""What holds for every test and every example: no picture stays open, and no file is left behind."""

import fnmatch
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["sharing"]

OTHERS = {
    "the working folder": (".hypothesis", ".pytest_cache", "__pycache__", ".ruff_cache", ".coverage*"),
    "TMPDIR": ("divulge-run-server-*", "playwright*", "org.chromium.*", ".org.chromium.*"),
    "HOME": (".config", ".ipython", ".jupyter", ".pki", ".local"),
}
"""What other programs keep there for themselves, what a process has while it lives (the app's server, a browser), and
where Divulge keeps the ledger and its key."""

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
"""Before NumPy is loaded: small matrices gain nothing from a second thread, which waits for work at full speed, a third
of the processor time of what solves programs."""

for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERMINAL_WIDTH",
              "PY_COLORS", "GITHUB_ACTIONS", "TERM"):  # fmt: skip
    os.environ.pop(_name, None)
"""Before Rich and Typer are loaded: what is printed is as wide and as colored wherever the tests are started."""

sys.dont_write_bytecode = False
"""What was compiled is kept for the many processes that tests start, also where the surroundings ask for nothing kept:
compiling takes them longer than all else."""


@pytest.fixture(scope="session", autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let this process have a home and a folder for temporary files of its own; caches of libraries stay at home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
        patch.delenv("XDG_DATA_HOME", raising=False)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        patch.setattr(tempfile, "tempdir", None)
        _hear("SIGHUP", signal.SIG_DFL)
        _hear("SIGINT", signal.default_int_handler)
        yield


_FOLDERS = itertools.count()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own; pytest's looks through all that there are for a free name."""
    path = tmp_path_factory.getbasetemp() / str(next(_FOLDERS))
    path.mkdir(mode=0o700)
    return path


def _hear(name: str, how: Any) -> None:
    """Hear a signal that whoever started the tests has ignored, as nohup and shells do for what runs behind them."""
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, how)


@pytest.fixture(autouse=True)  # one for all: each costs as much as many a test
def _around(request: pytest.FixtureRequest, _own_places: None) -> Iterator[None]:
    """Let an example in a docstring begin; close the figures that were drawn; fail where a test leaves something."""
    if isinstance(request.node, pytest.DoctestItem):
        _let_begin(request.node, request)
    here = request.config.invocation_params.dir
    before = _entries(here)
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")  # as many as share a process
    if left := sorted(_entries(here) - before):
        for name, where in left:  # gone from home, it is found again where another test leaves it
            if where == "HOME":
                shutil.rmtree(Path(os.environ[where], name), ignore_errors=True)
        what = ", ".join(f"{name} in {where}" for name, where in left)
        pytest.fail(f"{request.node.nodeid} leaves {what}", pytrace=False)


def _let_begin(example: pytest.DoctestItem, request: pytest.FixtureRequest) -> None:
    """Let an example begin after `import divulge as dv`, with a new `folder` where it names one."""
    import divulge

    known: dict[str, Any] = request.getfixturevalue("doctest_namespace")
    known["dv"] = divulge
    if any("folder" in one.source for one in example.dtest.examples):
        known["folder"] = request.getfixturevalue("tmp_path")


def _entries(here: Path) -> set[tuple[str, str]]:
    """Return all that lies in each place, without what other programs keep there."""
    places = zip(OTHERS, (here, os.environ["TMPDIR"], os.environ["HOME"]), strict=True)
    found = {(name, where) for where, folder in places for name in os.listdir(folder)}
    return {(name, where) for name, where in found if not _of_others(name, where)}


@cache
def _of_others(name: str, where: str) -> bool:
    return any(fnmatch.fnmatch(name, one) for one in OTHERS[where])
