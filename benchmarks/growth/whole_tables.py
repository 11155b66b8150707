"""Whole tables: assessed and coarsened, beside peers in an environment of their own."""

import atexit
import importlib.util
import os
from pathlib import Path
from typing import Any

import divulge as dv
from growth.work import FOLDER, Goal, Maker, Task, Work

PEERS = "DIVULGE_PEERS"
"""Names an interpreter that has the peers for whole tables, which do not go with our libraries; see tables.py."""
GROUPED = "one grouping by PyArrow"


def peers() -> Any:
    """Return the module of whole tables beside their peers."""
    spec = importlib.util.spec_from_file_location("whole_tables", Path(__file__).parent.with_name("tables.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assessed(_: int) -> Task:
    table = dv.datasets.adult()
    known = [name for name in table.column_names if name != "occupation"]

    def task() -> Any:
        return dv.assess(table, known, "occupation", pairs=False).measures()

    task()  # libraries are read at first use
    return task


def grouped(_: int) -> Task:
    """Return the groups of the same people, counted once by PyArrow."""
    table = dv.datasets.adult()
    known = [name for name in table.column_names if name != "occupation"]
    return lambda: table.group_by(known).aggregate([([], "count_all")])


def wrong_measures(found: Any) -> str:
    return "" if (found["k"], found["groups"]) == (1, 12_458) else f"k {found['k']}, {found['groups']} groups"


def coarsened(_: int) -> Task:
    table, ladders = dv.datasets.adult(), dv.datasets.adult_hierarchies()
    known = [name for name in table.column_names if name != "occupation"]
    chosen = {name: ladders[name] for name in known}

    def task() -> Any:
        return dv.generalize(
            table, known, "occupation", guarantees="k=5", hierarchies=chosen, loss="discernibility"
        )  # fmt: skip

    task()
    return task


def wrong_levels(found: Any) -> str:
    return "" if found.loss == 55_170_356 else f"discernibility {found.loss:.0f}"


def by_peers(*names: str) -> Maker:
    """Return what a peer for whole tables does with Adult, in a process of its own that has the table already."""

    def maker(_: int) -> Task:
        if PEERS not in os.environ:
            raise LookupError(f"{PEERS} names no interpreter that has it")
        known = [name for name in dv.datasets.adult().column_names if name != "occupation"]
        child = peers().Peers(os.environ[PEERS], known, str(FOLDER))
        atexit.register(child.close)

        def task() -> list[Any]:
            found = [child.ask(name) for name in names]
            if any("wrong" in one for one in found):
                raise LookupError("it fails")
            return found

        return task

    return maker


WORK = (
    Work("assess a whole table", "", (1,), assessed,
         {"pyCANON k and l": by_peers("pyCANON k", "pyCANON l"), GROUPED: grouped},
         (Goal(0.1, "pyCANON k and l"), Goal(6, GROUPED)), wrong_measures),
    Work("coarsen a whole table", "", (1,), coarsened, {"anjana": by_peers("anjana generalize"), GROUPED: grouped},
         (Goal(1, "anjana"), Goal(50, GROUPED)), wrong_levels),
)  # fmt: skip
