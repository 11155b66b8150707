"""What carries out a release: this machine, or Spark."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.files.tables.source import Source
from divulge.releasing.estimating.contingency import Tally
from divulge.releasing.planning.plan import Plan
from divulge.releasing.records.fingerprint import Fingerprint, Key

Progress = Callable[[int, int | None], None]
"""Is told the rows done, and the rows in all or None."""


@dataclass(frozen=True)
class Engine:
    """How a plan is carried out: on this machine, or by Spark."""

    source: Source
    run: Callable[[Plan, Path, Progress | None, Tally | None], int]
    """Write the released rows under a temporary name, tally the secrets on the way, and return how many there are."""
    counted: Any
    """What the prior is counted from."""
    known: Callable[[Key, Sequence[str]], Fingerprint]
    """Return what the ledger knows the table by, from its key and the columns that are released."""
    reread: Callable[[Path], Any] | None = None
    """Return the published table, for an engine that needs a sink; such a one does not tally."""
    sealed: Callable[[Path], str] | None = None
    """Wait until what was written is on the disk, and return its digest; of this machine the release does both."""
    people: Any = None
    """People of `releasing.persons` with one draw for all of their rows; None where each row has its own."""
