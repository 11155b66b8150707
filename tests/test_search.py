"""A slice of the long search, with a new seed each time; every public number is among its cases."""

import inspect
import os
from typing import Any

import pytest
from search.cases import CASES, COVERED
from search.registry import run
from support import fresh_seed, public

import divulge as dv

NO_NUMBER = {
    "open_table": "opens a table",
    "read_channel": "reads a file",
    "read_joint": "reads a file",
    "read_prior": "reads a file",
    "write_channel": "writes a file",
    "parse": "reads a guarantee",
    "plot_alip_plane": "draws",
    "plot_implications": "draws",
    "plot_pointwise": "draws",
    "report": "tells what other functions measure",
    "statement": "tells what a release did",
    "repeated_runs": "draws runs that an audit judges",
}
"""Public functions that give no number of their own, and why."""


def seed() -> int:
    """Return the seed of this run, the same for all workers of one run."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    return int(session[:8], 16) if session and "DIVULGE_SEED" not in os.environ else fresh_seed()


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


@pytest.mark.parametrize("title", sorted(CASES))
def test_a_random_subject_agrees_with_the_oracle(title: str) -> None:
    chosen = seed()
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
