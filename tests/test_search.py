"""A slice of the long search, in `make search` with new seeds; every public number is among its cases."""

import ast
import copy
import inspect
import random
from typing import Any

import pytest
from search.cases import CASES, COVERED
from search.coverage import FORMS, NO_CLASS, NO_NUMBER, excused, members, unheld
from search.mutants import Change
from search.registry import run
from support import THOROUGH, fresh_seed, public

import divulge as dv


def test_every_public_number_is_searched() -> None:
    functions = {name for name, thing in public().items() if inspect.isfunction(thing)}
    kinds = {
        name
        for name, thing in public().items()
        if inspect.isclass(thing) and issubclass(thing, dv.Guarantee) and thing is not dv.Guarantee
    }
    left = sorted((functions | kinds) - set(COVERED) - set(NO_NUMBER))
    assert not left, f"no case of tests/search holds {left} against an oracle"
    assert set(NO_NUMBER) <= functions


def test_every_number_of_a_public_class_is_searched() -> None:
    """A member that is a number is used by a case of its class, or `search.coverage` says why it needs none."""
    left = set(unheld(public()))
    assert not left - excused(), f"no case of tests/search uses {sorted(left - excused())}"
    assert not excused() - left, f"are used by a case, or are gone: {sorted(excused() - left)}"
    assert set(NO_CLASS) <= set(public())
    assert not set().union(*FORMS.values()) & {"value", "lower", "upper", "epsilon", "delta", "max", "mean"}


def test_a_member_that_no_case_uses_is_found() -> None:
    class Told(dv.results.Capacity):
        @property
        def surprise(self) -> float:
            return self.value

    Told.__module__ = "divulge.told"
    assert "surprise" in members(Told)
    assert "Capacity.surprise" in set(unheld({"Capacity": Told}))


SLOW = (
    "all_of_a_composition", "answers_on_few_values", "attackers", "curves", "envelopes_of_noise",
    "laws_of_methods_and_options", "memberships", "standins", "suprema_over_priors", "time_that_was_asked_for",
    "trade_off_of_noise", "what_is_on_record",
)  # fmt: skip
"""Cases of a third of a second and more, of which a slice has three."""


def of_this_run() -> list[str]:
    """Return all cases, but of the slow ones three by the seed; `make search` runs each again and again."""
    left = random.Random(fresh_seed()).sample(SLOW, 0 if THOROUGH else len(SLOW) - 3)
    return sorted(set(CASES) - set(left))


def test_every_slow_case_is_one() -> None:
    assert set(SLOW) <= set(CASES)


@pytest.mark.parametrize("title", of_this_run())
def test_a_random_subject_agrees_with_the_oracle(title: str) -> None:
    chosen = fresh_seed()
    try:
        run(title, chosen)
    except Exception as error:
        pytest.fail(f"python -m search --case {title} --seed {chosen} --once: {type(error).__name__}: {error}")


def test_the_search_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    right = dv.dp.kl_privacy

    def wrong(subject: Any, *arguments: Any) -> Any:
        found = right(subject, *arguments)
        return dv.dp.Worst(found.value * (1 + 1e-8), found.pair)

    monkeypatch.setattr(dv.dp, "kl_privacy", wrong)
    with pytest.raises(AssertionError, match="kl_privacy"):
        run("pairs_of_rows", 1)


def test_a_change_of_code_turns_one_place_of_a_function() -> None:
    """What `python -m search.mutants` attacks the tests with."""
    code = ast.parse(
        "A = 1 < 2\nclass B:\n    c: int = 3\n    def d(self, e):\n        return e + 4 if not e else min(e, 5)"
    )
    (places := Change()).visit(code)
    assert [name for name, _ in places.places] == ["B.d"] * 6
    mutants = [ast.unparse(Change(at).visit(copy.deepcopy(code))).rpartition("return ")[2] for at in range(6)]
    asked = {"e + 4 if not not e else min(e, 5)", "e - 4 if not e else min(e, 5)", "e + 4 if e else min(e, 5)"}
    asked |= {"e + 5 if not e else min(e, 5)", "e + 4 if not e else max(e, 5)", "e + 4 if not e else min(e, 6)"}
    assert set(mutants) == asked
