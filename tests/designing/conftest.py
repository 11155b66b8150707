"""Time limits count looks at the clock, so that no machine and nothing else that runs on it decides anything."""

import itertools

import pytest

from divulge import clock
from divulge.designing.master.restricted_master import Master

LOOK = 0.005
"""What a look at the clock costs, in seconds: on a machine of 2020 between one look and the next it is about that."""


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = itertools.count()
    solve = Master.solve
    monkeypatch.setattr(clock, "now", lambda: LOOK * next(seen))
    monkeypatch.setattr(Master, "solve", lambda self, *_: solve(self))
