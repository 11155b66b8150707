"""How tests are shared among processes, and what these say of them: of ten thousand tests it is half a minute."""

from typing import Any

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each group of tests to one process, as `--dist=loadgroup` does, and each file, with what it prepares."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Sharing(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if scope == nodeid else scope

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            super().mark_test_complete(node, item_index, duration)
            assigned = self.assigned_work[node]  # counted for each test: what is done is forgotten
            for scope in [scope for scope, tests in assigned.items() if all(tests.values())]:
                del assigned[scope]

    return Sharing(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Say once how a test ended, where a process of several would say at each of five steps by which names it goes."""
    verbose, durations, log = (item.config.getoption(name, None) for name in ("verbose", "durations", "xmlpath"))
    if not hasattr(item.config, "workerinput") or (verbose or 0) > 0 or durations is not None or log:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            report.keywords = {}
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
