"""Time limits count the processor's time, so that what else runs on a machine decides nothing."""

import time
from types import SimpleNamespace

import pytest

from divulge.designing import design, effort, methods


@pytest.fixture(autouse=True)
def processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=time.process_time)
    for module in (design, effort, methods):
        monkeypatch.setattr(module, "time", clock)
