"""Rows of a person that follow one another by a public model: what all tell of one, over every list of outcomes."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge import DivulgeError
from divulge.releasing.records.receipt import Receipt

ROWS = 5
MOVES = dv.Channel([["9/10", "1/10"], ["3/10", "7/10"]], ["ill", "well"], ["ill", "well"])
VISITS = pa.table({"who": [i // ROWS for i in range(100)], "state": ["ill", "well", "well", "ill", "well"] * 20})
ASKED: dict[str, Any] = {
    "column": "state", "guarantee": "ldp=2", "person": "who", "rows_per_person": ROWS,
    "values": {"state": ["ill", "well"]}, "chain": MOVES,
}  # fmt: skip


def by_listing(rows: np.ndarray, start: np.ndarray, moves: np.ndarray) -> tuple[float, float, float]:
    """Return the largest ratio of likelihoods, lift and inverse lift of any row, over all trajectories and outcomes."""
    n, m = rows.shape
    paths = list(itertools.product(range(n), repeat=ROWS))
    prior = [start[p[0]] * np.prod([moves[a, b] for a, b in itertools.pairwise(p)]) for p in paths]
    ends = [1.0, 1.0, 1.0]
    for seen in itertools.product(range(m), repeat=ROWS):
        joint = np.array([w * np.prod([rows[x, y] for x, y in zip(p, seen, strict=True)])
                          for w, p in zip(prior, paths, strict=True)])  # fmt: skip
        for t in range(ROWS):
            here = np.array([[p[t] == x for p in paths] for x in range(n)])
            before, after = here @ np.array(prior), here @ joint
            likelihood = after / before
            lift = likelihood / joint.sum()
            found = likelihood.max() / likelihood.min(), lift.max(), 1 / lift.min()
            ends = [max(pair) for pair in zip(ends, found, strict=True)]
    return ends[0], ends[1], ends[2]


def test_what_all_rows_of_a_person_tell_of_one_is_the_most_that_any_outcomes_do() -> None:
    done = dv.release(VISITS, **ASKED)
    (only,) = done.mechanisms
    assert done.chain is not None
    matrix = only.channel.weights / 2.0**only.channel.bits
    known = [only.channel.secrets.index(one) for one in ("ill", "well")]
    found = done.chain.leakage(matrix, only.times)
    moves = np.array([[0.9, 0.1], [0.3, 0.7]])
    assert np.exp([found.ldp, found.pml, found.pmc]) == pytest.approx(
        by_listing(matrix[known], np.full(2, 0.5), moves), rel=1e-9
    )
    assert found.ldp < 1.25  # the sum over all rows is 2
    said = " ".join(dv.statement(done).text().split())
    odds = np.exp(found.ldp)
    assert f"up to {ROWS} without a gap" in said
    assert any(f"by at most {v:.3g} times" in said for v in (odds, odds + 0.005))
    assert f"bis zu {ROWS} ohne Lücke" in " ".join(dv.statement(done, "de").text().split())
    again = Receipt.from_dict(json.loads(done.to_json()))
    assert again.chain == done.chain


def test_a_prior_is_what_the_first_row_is_like_and_without_a_model_nothing_is_said(tmp_path: Path) -> None:
    prior = dv.Prior(["1/5", "4/5"], ["ill", "well"])
    MOVES.to_frame().to_csv(tmp_path / "moves.csv")
    asked = {**ASKED, "values": None, "guarantee": ["ldp=2", "pml=1"], "prior": prior, "chain": tmp_path / "moves.csv"}
    done = dv.release(VISITS, **asked)
    assert done.chain is not None
    assert done.chain.initial == ("1/5", "4/5")
    assert done.chain.transition == (("9/10", "1/10"), ("3/10", "7/10"))
    without = dv.release(VISITS, **{**ASKED, "chain": None})
    assert without.chain is None
    assert "public model" not in dv.statement(without).text()


def test_a_model_of_truth_that_is_told_says_that_it_is_told() -> None:
    asked = {**ASKED, "guarantee": (), "mechanism": dv.mechanisms.identity(["ill", "well"]), "values": None}
    done = dv.release(VISITS, **asked)
    assert done.chain is not None
    assert done.chain.leakage(np.eye(2), ROWS).ldp == np.inf
    weak = {**ASKED, "guarantee": "ldp=60", "values": None, "prior": dv.Prior.uniform(["ill", "well"])}
    assert "can tell what the answer in one row was" in " ".join(
        dv.statement(dv.release(VISITS, **weak)).text().split()
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"chain": dv.Channel(MOVES.matrix, ["ill", "dead"], ["ill", "dead"])},
            "answers that the mechanism",
        ),
        ({"chain": dv.Channel(MOVES.matrix, ["ill", "well"], ["ill", "dead"])}, "a column for each"),
        ({"chain": "nowhere.csv"}, "there is no such file"),
        ({"rows_per_person": 1}, "`chain` must come with several rows of a person"),
        ({"rows_per_person": 126}, "their square times the rows"),
        ({"protocol": "hadamard"}, "left out with protocol"),
        ({"column": ["state", "who"], "values": None}, "go with one column"),
    ],
)
def test_a_model_that_is_none_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(DivulgeError, match=message):
        dv.release(VISITS, **{**ASKED, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"places": [0, 0]}, {"places": [0, 9]}, {"initial": ["1/2", "1/3"]}, {"transition": [["1", "0"]]},
        {"transition": [["1/2", "1/2"], ["1", "x"]]}, {"transition": [["1", "0", "0"], ["0", "1", "0"]]},
        {"initial": ["1"], "transition": [["1"]]},
    ],
)  # fmt: skip
def test_a_receipt_whose_model_is_none_is_refused(changed: dict[str, Any]) -> None:
    found = json.loads(dv.release(VISITS, **ASKED).to_json())
    found["chain"] |= changed
    with pytest.raises(DivulgeError):
        Receipt.from_dict(found)
