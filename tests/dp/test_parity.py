"""What `divulge account` refuses in a list, `dv.compose` refuses in a call, and the other way round."""

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from support import THOROUGH
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.dp.accounting.records import KINDS, SAMPLED

GOOD: dict[str, Any] = {"sigma": 10, "sensitivity": 1, "scale": 10, "epsilon": 1, "n": 3, "delta": 1e-6, "rho": 0.1,
                          "alpha": 2, "rate": 0.5, "sample": 2, "population": 9,
                        "neighbors": "removed"}  # fmt: skip
BAD: tuple[Any, ...] = (-1, 0, 1.5, 2, 1e-320, 1e308, 1e18, 2**70, 10**400, float("nan"), float("inf"), float("-inf"))


def usual(kind: Any) -> dict[str, Any]:
    """Return parameters of a mechanism that are fine."""
    return {one.name: GOOD.get(one.name, 1) for one in fields(kind) if one.default is MISSING}


CASES = [
    (name, wrapped, parameter)
    for name, kind in KINDS.items()
    for wrapped in ((), *SAMPLED)
    for parameter in (wrapped or [*(one.name for one in fields(kind)), "count"])
    if not wrapped or name == "randomized-response"
] + [("randomized-response", (), "tolerance")]
"""Mechanism, how it is sampled, and the parameter that is given; what is accepted is answered, too: these are quick."""


def called(name: str, wrapped: tuple[str, ...], parameter: str, value: Any) -> str | None:
    """Return why the function refuses."""
    given: dict[str, Any] = usual(KINDS[name]) | {key: GOOD[key] for key in wrapped}
    count = value if parameter == "count" else 3
    more = {"tolerance": value} if parameter == "tolerance" else {}
    given |= {parameter: value} if parameter not in ("count", "tolerance") else {}
    inside = {key: given.pop(key) for key in wrapped}
    try:
        release = KINDS[name](**given)
        if wrapped:
            release = SAMPLED[wrapped](release, *inside.values())
        dv.compose((release, count), **more).epsilon(1e-6)
    except dv.DivulgeError as error:
        return str(error)
    return None


def asked(name: str, wrapped: tuple[str, ...], parameter: str, value: Any) -> str | None:
    """Return why the command refuses the same."""
    record = {"mechanism": name, "count": 3, **usual(KINDS[name]), **{key: GOOD[key] for key in wrapped}}
    more = ["--tolerance", str(value)] if parameter == "tolerance" else []
    record |= {} if more else {parameter: value}
    Path("l.json").write_text(json.dumps([record]))
    done = CliRunner().invoke(app, ["account", "l.json", "--delta", "1e-6", *more])
    assert done.exit_code in (0, 2), done.exception
    return done.stderr.removeprefix("error: ").rstrip("\n") if done.exit_code else None


@pytest.mark.thin
@pytest.mark.parametrize("name", KINDS)
def test_the_command_and_the_function_refuse_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = 0
    for turn, (kind, wrapped, parameter) in enumerate(CASES):
        if kind != name:
            continue
        for value in BAD if THOROUGH else BAD[turn % 2 :: 2]:  # each is asked of every other parameter
            here, there = called(kind, wrapped, parameter, value), asked(kind, wrapped, parameter, value)
            assert (here is None) == (there is None), (wrapped, parameter, value, here, there)
            refused += here is not None
    assert refused >= len(BAD) / (1 if THOROUGH else 2)


BEFORE: dict[str, tuple[Any, list[Any]]] = {
    "nothing": ((), []),
    "two ways of sampling": (
        tuple(
            SAMPLED[keys](KINDS["gaussian"](**usual(KINDS["gaussian"])), *(GOOD[key] for key in keys))
            for keys in SAMPLED
        ),
        [{"mechanism": "gaussian", **usual(KINDS["gaussian"]), **{k: GOOD[k] for k in keys}} for keys in SAMPLED],
    ),
    "no mechanism": (("gaussian",), ["gaussian"]),
    "a pair of nothing": (((),), [{}]),
}


@pytest.mark.parametrize("what", BEFORE)
def test_lists_that_are_none_are_refused_by_both(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    releases, records = BEFORE[what]
    with pytest.raises(dv.DivulgeError):
        dv.compose(*releases)
    Path("l.json").write_text(json.dumps(records))
    done = CliRunner().invoke(app, ["account", "l.json"])
    assert (done.exit_code, done.stdout) == (2, "")
