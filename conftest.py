"""What holds for every test and every example: no picture stays open."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _close_pictures() -> Iterator[None]:
    """Close the figures that a test or an example has drawn, as many as share a process."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
