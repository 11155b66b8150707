"""What is given to a public function is checked once, where it comes in; inside, arrays are trusted."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import divulge as dv

CONVERSIONS = ("as_joint", "as_channel", "as_prior")
"""Ways in, of `model/convert.py`: of an object they cost a look at its class."""
CHECKS = ("Prior.__init__", "Channel.__init__", "Joint.__init__")
"""Where entries and labels are looked at one by one."""
ARRAYS = ([0.25, 0.75], [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
EXACT = (["1/4", "3/4"], [["1/2", "1/4", "1/4"], ["1/8", "1/8", "3/4"]])
"""The same in fractions, which are read one by one."""
JOINT = dv.Joint(*ARRAYS)

MEASURES: dict[str, tuple[Callable[[Any], object], int]] = {
    "pml": (dv.pml, 1),
    "pmc": (dv.pmc, 1),
    "lift": (dv.lift, 1),
    "mutual_information": (dv.mutual_information, 1),
    "tail": (lambda given: dv.pml(given).tail(0.1), 1),
    "profile": (dv.profile, 1),
    "vulnerability": (lambda given: dv.leakage(given, GUESS), 2),
    "guarantee": (dv.PML(0.5).holds_for, 2),
}
"""Name -> a function, and how often it may ask what it was given."""
GUESS = dv.Gain.identity(2)


def calls(work: Callable[[], object]) -> Counter[str]:
    """Return how often each function of the room `model` is called, when all that is kept is there."""
    work()
    found: Counter[str] = Counter()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "/divulge/model/" in frame.f_code.co_filename.replace("\\", "/"):
            found[frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("name", MEASURES)
def test_a_joint_is_asked_once_and_never_checked_again(name: str) -> None:
    measure, most = MEASURES[name]
    found = calls(lambda: measure(JOINT))
    assert sum(found[way] for way in CONVERSIONS) <= most
    assert not any(found[check] for check in CHECKS)


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in ("guarantee", "vulnerability")])
@pytest.mark.parametrize("given", [ARRAYS, EXACT], ids=["doubles", "fractions"])
def test_arrays_are_checked_once(name: str, given: tuple[Any, Any]) -> None:
    measure, _ = MEASURES[name]
    found = calls(lambda: measure(given))
    assert [found[check] for check in CHECKS] == [1, 1, 1]
    assert (found["ready"], found["entries"]) == (2, 0 if given is ARRAYS else 2)


def test_a_report_checks_nothing_of_the_joint_that_it_is_about() -> None:
    seen: list[int] = []
    made = dv.report(JOINT).joint
    assert made is JOINT

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_qualname in ("Channel.__init__", "Prior.__init__"):
            given = frame.f_locals.get("matrix", frame.f_locals.get("probabilities"))
            seen.append(any(given is one for one in (JOINT.channel, JOINT.channel.matrix, JOINT.prior)))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        assert dv.report(JOINT).beliefs
    finally:
        sys.setprofile(before)
    assert sum(seen) == 0


def test_a_second_check_is_seen() -> None:
    found = calls(lambda: dv.pml(dv.Joint(dv.Prior(JOINT.prior), dv.Channel(JOINT.channel))))
    assert found["Channel.__init__"] >= 1
    assert found["Prior.__init__"] == 1
