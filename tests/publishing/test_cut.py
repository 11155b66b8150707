"""How many numbers were cut to their bounds: counted by the definition, with noise that is paid for."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from support import NEVER

import divulge as dv
from divulge.publishing.noising.estimates import drawn
from divulge.publishing.preparing import ready
from divulge.publishing.publication import finished
from divulge.publishing.request import Publish
from divulge.publishing.task import task

SALARIES = pa.table({"salary": [-3, 0, 10, 90, 91, 200, None, 50], "who": list("aabbccdd")})
HOW: dict[str, Any] = {"guarantee": "dp=1e6", "tell_cut": True}


@pytest.mark.parametrize(("whose", "cut"), [({"per_row": True}, 3), ({"person": "who", "rows_per_person": 2}, 3)])
def test_numbers_beyond_the_bounds_are_counted(whose: dict[str, Any], cut: int) -> None:
    salaries = SALARIES["salary"].to_pylist()
    assert cut == sum(x is not None and not 0 <= x <= 90 for x in salaries)
    asked = [dv.Mean("salary", (0, 90)), dv.Sum("salary", (0, 90)), dv.Quantiles("salary", (0, 90))]
    found = [one for one in dv.publish(SALARIES, asked, **HOW, **whose).statistics() if one["statistic"] == "cut"]
    assert [(one["column"], one["value"]) for one in found] == [("salary", cut)]  # once, for all three


def test_its_noise_is_paid_for_and_holds_the_number(tmp_path: Path) -> None:
    asked = dv.Mean("salary", (0, 90))
    done = dv.publish(SALARIES, asked, tmp_path / "t.csv", guarantee="dp=1", tell_cut=True, per_row=True)
    shares = {one["kind"]: one["loss"] for one in done.queries}
    assert shares["cut"] > 0
    assert sum(shares.values()) == pytest.approx(1.0)
    assert next(1 / one["scale"] for one in done.queries if one["kind"] == "cut") == pytest.approx(shares["cut"])
    assert dv.results.Published.read(tmp_path / "t.receipt.json").guarantees == done.guarantees
    assert any("How many lie beyond is published" in line for line in done.told)
    made = ready(task(Publish(
        statistics=asked, guarantee="dp=1", tell_cut=True, per_row=True, level=0.8)), SALARIES, "local")  # fmt: skip
    place = next(i for i, query in enumerate(made.plan.queries) if query.kind == "cut")
    totals = [np.full(query.shape, 3) for query in made.plan.queries]
    held = 0
    for _ in range(400):
        last = finished(made, drawn(made.plan.queries, made.noise.noises, totals, 0.8), 8)[-1]
        held += bool(np.all((last.low <= 3) & (last.high >= 3)))
    assert 400 - held <= stats.binom.isf(NEVER, 400, 1 - 0.8)
    assert place == len(made.plan.queries) - 1


def test_without_bounds_nothing_is_cut() -> None:
    with pytest.raises(dv.DivulgeError, match="`tell_cut` must come with a statistic that has bounds"):
        dv.publish(SALARIES, dv.Count(), guarantee="dp=1", tell_cut=True, per_row=True)


def test_rows_with_a_number_are_counted_with_the_noise_of_their_mean(tmp_path: Path) -> None:
    table = pa.table({"sex": list("ffffmmmm"), "pay": [1, None, 3, 4, None, None, 7, 8], "age": [20] * 8})
    asked = [dv.Mean("pay", (0, 9), by="sex"), dv.Variance("pay", (0, 9), by="sex"), dv.Sum("pay", (0, 9))]
    how: dict[str, Any] = {"values": {"sex": ["f", "m", "x"]}, "per_row": True}
    with pytest.raises(dv.DivulgeError, match="missing ones are left out"):
        dv.publish(table, dv.Mean("pay", (0, 9)), guarantee="dp=1", tell_numbers=True, fill={"pay": 0}, per_row=True)
    exact = dv.publish(table, asked, guarantee="dp=1e6", tell_numbers=True, **how).statistics()
    rows = {tuple(one["by"].values()): one["value"] for one in exact if one["statistic"] == "numbers"}
    assert rows == {("f",): 3, ("m",): 2, ("x",): 0, ("other",): 0, ("no answer",): 0, (): 5}
    told = dv.publish(table, asked[0], tmp_path / "t.csv", guarantee="dp=1", tell_numbers=True, **how)
    assert [one["serves"] for one in told.queries] == [["mean"], ["mean", "numbers"]]
    assert dv.results.Published.read(tmp_path / "t.receipt.json").told == told.told
    assert any("How many rows have one is published" in line for line in told.told)
    quantile = dv.publish(table, dv.Quantiles("pay", (0, 9)), guarantee="dp=1e6", tell_numbers=True, per_row=True)
    assert quantile.statistics()[-1]["value"] == 5
