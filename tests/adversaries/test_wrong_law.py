"""What is told of a correlated secret whose law is only known in intervals: against linear programs and random laws."""

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support import few
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

COIN = [["3/4", "1/4"], ["1/4", "3/4"]]


def by_programs(shares: np.ndarray, low: np.ndarray, high: np.ndarray, channel: np.ndarray, sign: int) -> float:
    """Return the largest lift (sign 1) or inverse lift (-1), one Charnes-Cooper program a value and outcome.

    Variables are all laws times t, and t; what is below the fraction is 1.
    """
    k, n = low.shape
    worst = 0.0
    box = np.vstack([np.hstack([np.eye(k * n), -high.reshape(-1, 1)]), np.hstack([-np.eye(k * n), low.reshape(-1, 1)])])
    sums = np.hstack([np.kron(np.eye(k), np.ones(n)), -np.ones((k, 1))])
    for column in channel.T:
        total = np.append(np.kron(shares, column), 0.0)
        for z in range(k):
            own = np.append(np.kron(np.eye(k)[z], column), 0.0)
            top, bottom = (own, total) if sign > 0 else (total, own)
            found = linprog(-top, box, np.zeros(len(box)), np.vstack([sums, bottom]), np.append(np.zeros(k), 1.0))
            assert found.status in (0, 2, 3)
            worst = max(worst, -found.fun if found.status == 0 else np.inf if found.status == 3 else 0.0)
    return worst


@pytest.mark.parametrize("seed", range(few(30, least=5)))
def test_intervals_say_what_programs_say_and_no_random_law_says_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, n, m = (int(v) for v in rng.integers(2, 5, 3))
    shares, laws, channel = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(n), k), rng.dirichlet(np.ones(m) / 2, n)
    low = np.maximum(laws - rng.uniform(0, 0.2, (k, n)), 0)
    high = np.minimum(laws + rng.uniform(0, 0.3, (k, n)), 1)
    told = dv.adversaries.dalenius((shares, laws), channel)
    worst = {side: told.if_wrong(side, low=low, high=high) for side in ("pml", "pmc")}
    assert float(worst["pml"]) == pytest.approx(by_programs(shares, low, high, channel, 1), rel=1e-7)
    assert float(worst["pmc"]) == pytest.approx(by_programs(shares, low, high, channel, -1), rel=1e-6)
    for _ in range(50):
        way = rng.dirichlet(np.ones(n) / 2, k) - laws
        room = np.where(
            way > 0, (high - laws) / np.where(way > 0, way, 1), np.where(way < 0, (laws - low) / -way, np.inf)
        )
        said = (laws + way * np.minimum(room.min(axis=1, keepdims=True), 1)) @ channel
        lifts = said / (shares @ said)
        assert lifts.max() <= worst["pml"] * (1 + 1e-9)
        assert 1 / lifts.min() <= worst["pmc"] * (1 + 1e-9)


def test_a_factor_is_intervals_and_no_room_is_the_lift_itself() -> None:
    told = dv.adversaries.dalenius((["1/3", "2/3"], COIN), [["1/2", "1/2"], ["1/8", "7/8"]])
    laws = [[F(v) for v in row] for row in COIN]
    low, high = [[v / 2 for v in row] for row in laws], [[min(2 * v, 1) for v in row] for row in laws]
    for side in ("pml", "pmc"):
        assert told.if_wrong(side, factor=2) == told.if_wrong(side, low=low, high=high)
        assert told.if_wrong(side, factor=1) == told.if_wrong(side, radius=0)
    assert told.if_wrong(factor=1) == told.lift
    assert told.if_wrong("pmc", radius=0) == 1 / min((told.joint.channel.matrix / told.joint.outer).ravel().tolist())
    rows = np.random.default_rng(0).dirichlet(np.ones(7), 3)  # doubles that miss 1 by rounding
    assert dv.adversaries.dalenius((np.ones(3) / 3, rows), np.eye(7)).if_wrong(low=rows, high=rows) > 1


def test_an_outcome_that_may_be_ruled_out_has_no_bound() -> None:
    told = dv.adversaries.dalenius((["1/2", "1/2"], COIN), [[1, 0], [0, 1]])
    assert told.if_wrong("pmc", radius="1/4") == float("inf")
    assert told.if_wrong("pmc", radius="1/8") == 4  # 1/8 beside 7/8
    assert told.if_wrong(low=[[0, 0], [0, 0]], high=[[1, 1], [1, 1]]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "only one given"), ({"radius": 0, "factor": 1}, "only one given"),
        ({"low": [[0, 0]] * 2}, "only one given"),
        ({"radius": 2}, "radius"), ({"radius": "x"}, "radius"), ({"factor": "1/2"}, "factor"),
        ({"factor": float("nan")}, "factor"), ({"side": "ldp", "radius": 0}, "side"),
        ({"low": [[0, 0]], "high": [[1, 1]]}, "shape"),
        ({"low": [["1/2", "2/3"], [0, 0]], "high": [[1, 1], [1, 1]]}, "leave a law"),
        ({"low": [[0, 0], [0, 0]], "high": [["1/4", "1/4"], [1, 1]]}, "leave a law"),
        ({"low": [["1/2", 0], [0, 0]], "high": [["1/4", 1], [1, 1]]}, "leave a law"),
    ],
)  # fmt: skip
def test_laws_that_are_none_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.adversaries.dalenius((["1/2", "1/2"], COIN), COIN).if_wrong(**options)


def test_the_command_says_it(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dv.write_channel(dv.Channel(COIN), "c.csv")
    asked = ["attack", "c.csv", "--prior", "uniform"]
    done = CliRunner().invoke(app, [*asked, "--dalenius", "c.csv", "--off", "1/4", "--factor", "11/10"])
    assert done.stdout.splitlines()[-2:] == [
        "if the correlation is off by 1/4: belief rises at most 3/2 times, falls at most 2 times",
        "if the correlation is within a factor of 11/10: belief rises at most 14/11 times, falls at most 11/8 times",
    ]
    alone = CliRunner().invoke(app, [*asked, "--off", "1/4"])
    assert (alone.exit_code, "--dalenius CHANNEL" in alone.output) == (2, True)
