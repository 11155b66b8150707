"""Each file of tests goes to one process, and each group; what failed is said, whichever step it was."""

from types import SimpleNamespace
from typing import Any

import pytest
import sharing


def test_what_shares_a_costly_fixture_runs_in_one_process(request: pytest.FixtureRequest) -> None:
    """Without the group's name behind each test, the site and Spark would be made once in every process, unnoticed."""
    if hasattr(request.config, "workerinput"):
        shared = [item for item in request.session.items if item.get_closest_marker("xdist_group")]
        assert all("@" in item.nodeid for item in shared)


class _Config:
    """What pytest-xdist asks: how tests are shared, and among how many processes."""

    option = SimpleNamespace(loadscopereorder=False)

    def getoption(self, name: str, default: Any = None) -> Any:
        return {"dist": "loadgroup", "tx": ["2*popen"]}.get(name, default)

    getvalue = getoption


class _Process:
    """A process that is told which tests are its own."""

    shutting_down, gateway = False, SimpleNamespace(id="process")

    def __init__(self) -> None:
        self.got: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.got += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_files_and_groups_stay_together_and_what_is_done_is_forgotten() -> None:
    names = [
        "a.py::test[x::y]",
        "a.py::test_b",
        "a.py::test_c",
        "b.py::test@spark",
        "c.py::test@spark",
        "d.py::C::test",
    ]
    shared = sharing.pytest_xdist_make_scheduler(_Config(), None)  # pyright: ignore
    first, second = processes = [_Process(), _Process()]
    for process in processes:
        shared.add_node(process)
        shared.add_node_collection(process, names)
    shared.schedule()
    assert (first.got, second.got) == ([0, 1, 2], [3, 4, 5])
    for index in first.got:
        shared.mark_test_complete(first, index)
    assert not shared.assigned_work[first]
    assert first.shutting_down
    shared.mark_test_complete(second, 3)
    assert shared.remove_node(second) == names[4]


@pytest.mark.parametrize(
    ("ended", "said"),
    [("passed passed passed", "call"), ("failed passed", "setup"), ("passed failed failed", "call teardown")],
)
def test_every_failure_is_said_and_no_step_besides(ended: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = ended.split()
    steps = zip(["setup", "call", "teardown"] if len(outcomes) == 3 else ["setup", "teardown"], outcomes, strict=True)
    reports = [pytest.TestReport("a.py::test", ("a.py", 1, "test"), {"a": 1}, how, None, at) for at, how in steps]  # pyright: ignore
    monkeypatch.setattr(sharing, "runtestprotocol", lambda *_, **__: reports)
    heard: list[Any] = []
    hooks = SimpleNamespace(
        pytest_runtest_logreport=lambda report: heard.append(report), pytest_runtest_logfinish=lambda **_: None
    )
    config = SimpleNamespace(getoption=lambda *_: None, workerinput={})
    item: Any = SimpleNamespace(config=config, ihook=hooks, nodeid="a.py::test", location=("a.py", 1, "test"))
    assert sharing.pytest_runtest_protocol(item, None)
    assert " ".join(report.when for report in heard) == said
