"""Bounds that are chosen with noise: from which counts, what that costs, and that nothing else tells them; and missing
numbers that count as a number."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from support import NEVER, few

import divulge as dv
from divulge.errors import DivulgeError
from divulge.publishing.counting import bounds
from divulge.publishing.counting.bounds import EDGES, drawn_bounds, ends_of, histogram
from divulge.publishing.describing import described
from divulge.publishing.noising.composed import adp_epsilon
from divulge.publishing.noising.families import FAMILIES, Laplace
from divulge.publishing.noising.noise import each, half_width, noisy
from divulge.publishing.preparing import ready, resolved
from divulge.publishing.queries import Unit
from divulge.publishing.request import Publish
from divulge.publishing.task import task

VALUES = {"sex": ["f", "m"]}


def people(rows: int = 4000, seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    pay = np.exp(rng.normal(8, 0.5, rows)).astype(int)
    return pa.table({
        "sex": rng.choice(["f", "m"], rows), "pay": pa.array(pay, mask=rng.random(rows) < 0.2),
        "heat": np.round(rng.normal(0, 4, rows), 1), "who": [f"p{i // 2}" for i in range(rows)],
    })  # fmt: skip


def made_for(table: Any, statistics: Any, **how: Any) -> Any:
    request = Publish(statistics=statistics, per_row="person" not in how, **({"values": VALUES} | how))
    return ready(task(request), table, "local")


def bin_of(v: int) -> int:
    """Return the bin of a whole number of steps, by looking at all."""
    if v < 0:
        return min((i for i, edge in enumerate(EDGES) if edge >= v), default=0) - (v not in EDGES)
    return next(i for i, edge in enumerate(EDGES) if edge >= v)


@pytest.mark.parametrize("step", [1, "0.1"])
def test_every_number_is_in_its_bin(step: Any) -> None:
    numbers = [0, 1, 2, 3, 5, 6, 10, 11, 99, 100, 101, 123456789, -1, -2, -3, -10, -11, 7e11, -1e300, 5e11, -0.0]
    column = pa.array([*map(float, numbers), None, math.nan, math.inf], pa.float64())
    made = made_for(pa.table({"v": column}), [dv.Sum("v", "auto", step=step)], guarantee="dp=1")
    counts = histogram(made.table, made.bounds[0], Unit())
    expected = np.zeros(len(EDGES), dtype=int)
    for number in [*numbers, math.inf]:
        steps = Fraction(str(max(min(number, 1e12), -1e12))) / Fraction(str(step))
        expected[bin_of(min(max(int(steps), EDGES[0]), EDGES[-1]))] += 1
    assert counts.tolist() == expected.tolist()


def test_of_a_person_no_more_rows_than_said_are_in_bins() -> None:
    rows = pa.table({"v": [1, 5, 5, 1000, 7, 7, 7, 7], "who": ["a"] * 4 + ["b"] * 4})
    made = made_for(rows, [dv.Sum("v", "auto")], guarantee="dp=1", person="who", rows_per_person=2)
    (one,) = made.bounds
    counts = histogram(made.table, one, made.task.unit)
    assert counts.sum() == 4
    assert counts[bin_of(7)] == 2 + (counts[bin_of(5)] + counts[bin_of(1)] + counts[bin_of(1000)] < 2)
    assert one.epsilon == 0.25
    assert one.noise.scale == 2 * 2 / 0.25  # each of two rows moves from one bin to another


def test_an_empty_bin_seldom_passes_and_full_ones_do() -> None:
    law = Laplace(16.0)
    width, rng = half_width(law, each(0.99, len(EDGES))), few(2000)
    truth = np.zeros(len(EDGES), dtype=np.int64)
    truth[[EDGES.index(50), EDGES.index(100)]] = 3 * width, 5 * width
    found = [ends_of(noisy(truth, law), width) for _ in range(rng)]
    assert sum(one != (20, 100) for one in found) <= stats.binom.isf(NEVER, rng, 0.01)
    assert half_width(law, each(0.9, len(EDGES))) < width  # a lower count would let more pass
    nothing = ends_of(np.zeros(len(EDGES)), width)
    assert nothing[0] < nothing[1]


OPTIONS: dict[str, dict[str, Any]] = {
    "dp": {"guarantee": "dp=1"}, "added": {"guarantee": "dp=1", "neighbors": "added"},
    "persons": {"guarantee": "dp=2", "person": "who", "rows_per_person": 2},
    "zcdp": {"guarantee": "zcdp=0.1"}, "zcdp, laplace": {"guarantee": "zcdp=0.1", "noise": "laplace"},
    "rdp": {"guarantee": "rdp=4:0.5"}, "adp": {"guarantee": "adp=1:1e-6"},
    "pml": {"guarantee": "pml=0.7", "record_prior": "lower=0.1"}, "two": {"guarantee": ["zcdp=0.1", "rdp=4:0.3"]},
    "pml, added": {"guarantee": "pml=0.7", "record_prior": "lower=0.1", "neighbors": "added"},
}  # fmt: skip
ASKED = [dv.Mean("pay", "auto", by="sex"), dv.Sum("heat", "auto", step="0.1"), dv.Count("sex")]


@pytest.mark.thin
@pytest.mark.parametrize("option", OPTIONS)
def test_the_promise_is_that_of_the_histograms_and_of_all_that_follows(option: str, tmp_path: Path) -> None:
    how = OPTIONS[option]
    unit = Unit("who", 2) if "person" in how else Unit(neighbors=how.get("neighbors", "replaced"))
    before = made_for(people(), ASKED, **how)
    reserved = described(before, None).aggregate
    found = resolved(before)
    kept = described(found, None)
    pairs = [*found.drawn_before, *zip(found.plan.queries, found.noise.noises, strict=True)]
    loss = sum(q.changes(unit)[0] / noise.scale if noise.bounded else math.inf for q, noise in pairs)
    rho = sum(
        q.changes(unit)[1] / (2 * noise.scale**2) if not noise.bounded
        else (q.changes(unit)[0] / noise.scale) ** 2 / 2 for q, noise in pairs
    )  # fmt: skip
    promised = kept.guarantees
    if "dp" in promised:
        assert promised["dp"] == pytest.approx(loss, rel=1e-12)
    if "zcdp" in promised:
        assert promised["zcdp"] == pytest.approx(rho, rel=1e-9)
    if "rdp" in promised:
        assert promised["rdp"]["epsilon"] >= min(rho * promised["rdp"]["alpha"], loss) * (1 - 1e-9)
    if option == "adp":
        chosen = sum(2 / noise.scale for _, noise in found.drawn_before)
        rest = adp_epsilon(found.plan.queries, found.noise.noises, unit, 1e-6)
        assert chosen == pytest.approx(0.25)
        assert 1 - 1e-3 < chosen + rest <= 1 + 1e-12
        assert kept.aggregate.adp == reserved.adp == (1.0, 1e-6)
    if option == "pml":
        assert promised["pml"] == pytest.approx(-math.log(0.1 + 0.9 * math.exp(-loss)), rel=1e-9)
        assert 0.6999 < promised["pml"] <= 0.7
    assert kept.aggregate.guarantees["ldp"] <= reserved.guarantees["ldp"]  # the ledger was told before
    assert kept.aggregate.rho <= reserved.rho
    if kept.aggregate.guarantees["ldp"] < math.inf and unit.neighbors == "replaced":
        assert reserved.guarantees["ldp"] <= kept.aggregate.guarantees["ldp"] * (1 + 1e-12)
    dv.publish(people(), ASKED, tmp_path / "o.csv", values=VALUES, per_row="person" not in how, **how)
    assert dv.results.Published.read(tmp_path / "o.receipt.json").guarantees.keys() == promised.keys()


def test_what_is_promised_before_bounds_are_drawn_depends_on_no_row() -> None:
    other = people().set_column(1, "pay", pa.array([10**9] * 4000))
    for how in OPTIONS.values():
        here, there = (described(made_for(table, ASKED, **how), None) for table in (people(), other))
        assert here.queries == there.queries
        assert here.aggregate == there.aggregate
        assert here.notes == there.notes
        assert not any(note.name == "note_cut" for note in here.notes)  # nobody knows them yet


def test_bounds_hold_nearly_all_numbers_and_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_SURELY", 1 - NEVER)  # an empty bin, far off, seldom passes
    table = people(20_000)
    how: dict[str, Any] = {"guarantee": "dp=8", "values": VALUES, "per_row": True, "level": 1 - NEVER}
    found = dv.publish(table, ASKED, tmp_path / "o.csv", **how)
    pay = np.array([one for one in table["pay"].to_pylist() if one is not None])
    ((low, high),) = {tuple(one["bounds"]) for one in found.queries if one["column"] == "pay" and "bounds" in one}
    assert ((pay < low) | (pay > high)).mean() < 0.02
    assert high <= 5 * pay.max()
    said = " ".join((tmp_path / "o.statement.txt").read_text().split())
    assert "The bounds of “heat” and “pay” were not known beforehand" in said
    assert f"Numbers of “pay” were cut to {low:,.0f} to {high:,.0f}" in said
    german = " ".join(dv.statement(tmp_path / "o.receipt.json", "de").text().split())
    assert "standen nicht vorher fest" in german
    mean = next(one for one in found.statistics() if one["statistic"] == "mean" and one["by"]["sex"] == "f")
    true = np.clip([p for p, s in zip(table["pay"].to_pylist(), table["sex"].to_pylist(), strict=True)
                    if s == "f" and p is not None], low, high).mean()  # fmt: skip
    assert mean["low"] <= true <= mean["high"]


@pytest.mark.parametrize("part", ["scale", "loss", "note"])
def test_a_receipt_whose_histogram_does_not_fit_is_refused(part: str, tmp_path: Path) -> None:
    from divulge.releasing.output.signature import checksum

    dv.publish(people(), ASKED, tmp_path / "o.csv", guarantee="dp=1", values=VALUES, per_row=True)
    body = json.loads((tmp_path / "o.receipt.json").read_text())
    body.pop("checksum")
    if part == "note":
        body["notes"] = [note for note in body["notes"] if note["name"] != "note_chosen"]
    else:
        next(one for one in body["queries"] if one["kind"] == "bins")[part] *= 2
    (tmp_path / "o.receipt.json").write_text(json.dumps({**body, "checksum": checksum(body)}))
    with pytest.raises(DivulgeError):
        dv.results.Published.read(tmp_path / "o.receipt.json")


@pytest.mark.parametrize(
    ("statistics", "how", "said"),
    [
        ([dv.Mean("pay", "auto"), dv.Sum("pay", (0, 10))], {}, "be auto, with one step"),
        ([dv.Mean("pay", "auto"), dv.Sum("pay", "auto", step=10)], {}, "be auto, with one step"),
        ([dv.Mean("pay", "auto")], {"guarantee": ["adp=1:1e-6", "zcdp=1"]}, "be the only one"),
        ([dv.Sum("pay", "auto")], {"guarantee": (), "interval": 50}, "with an interval"),
        ([dv.Sum("heat", "auto")], {}, "step"),
        ([dv.Count("sex")], {"fill": "pay:1"}, "columns of numbers that are asked for"),
        ([dv.Mean("pay", (0, 9))], {"fill": "pay:0.5"}, "whole multiple of the step"),
        ([dv.Mean("pay", (0, 9))], {"fill": "pay"}, "COLUMN:NUMBER"),
        ([dv.Mean("pay", (0, 9))], {"fill": ["pay:1", "pay:2"]}, "once for a column"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(statistics: Any, how: Any, said: str) -> None:
    with pytest.raises(DivulgeError, match=said):
        made_for(people(), statistics, **({"guarantee": "dp=1"} | how))


def test_quantiles_need_bounds() -> None:
    with pytest.raises(DivulgeError, match="surely wide"):
        dv.Quantiles("pay", "auto")


def test_a_missing_number_counts_as_what_was_said(tmp_path: Path) -> None:
    table = people(400)
    asked = [dv.Mean("pay", (0, 50_000)), dv.Sum("pay", (0, 50_000)), dv.Variance("pay", (0, 50_000), by="sex"),
             dv.Quantiles("pay", (0, 20_000), probabilities=(0.5,), step=100)]  # fmt: skip
    said: list[str] = []
    found = dv.publish(table, asked, tmp_path / "o.csv", guarantee="dp=1e7", values=VALUES, no_other=True, per_row=True,
                       fill={"pay": 1000}, warn=said.append)  # fmt: skip
    filled = np.array([1000 if one is None else one for one in table["pay"].to_pylist()])
    sexes = np.array(table["sex"].to_pylist())
    numbers = [one["value"] for one in found.statistics()]
    assert numbers[0] == pytest.approx(filled.mean(), abs=1e-3)
    assert numbers[1] == pytest.approx(filled.sum(), abs=1)
    assert numbers[2:4] == pytest.approx([filled[sexes == s].var() for s in "fm"], rel=1e-4)
    assert numbers[4] == pytest.approx(np.quantile(np.round(filled, -2), 0.5, method="inverted_cdf"), abs=100)
    missing = table["pay"].null_count
    assert f"for the keeper alone: {missing} rows without a number in column 'pay': counts as 1000." in said
    text = " ".join((tmp_path / "o.statement.txt").read_text().split())
    assert "A row without a number of “pay” counts as if it had 1,000" in text
    assert "left out of sums" not in text
    assert dv.results.Published.read(tmp_path / "o.receipt.json").queries[0]["fill"] == 1000
    assert {one["kind"] for one in found.queries if not one["by"]} == {"values", "ranks"}  # rows are public, all count


def test_filling_saves_the_noise_on_how_many_have_a_number() -> None:
    with_gaps, without = (
        made_for(people(), [dv.Mean("pay", (0, 50_000))], guarantee="dp=1", **how).noise.noises
        for how in ({}, {"fill": "pay:0"})
    )
    assert len(with_gaps) == 2
    assert len(without) == 1
    assert without[0].scale < with_gaps[0].scale


def test_every_neighbor_changes_the_histogram_by_what_is_said() -> None:
    rows = [None, 0, 3, 70, -5]
    for neighbors in ("replaced", "added"):
        unit = Unit(neighbors=neighbors)
        made = made_for(pa.table({"v": pa.array([7], pa.int64())}), [dv.Sum("v", "auto")], guarantee="dp=1",
                        neighbors=neighbors)  # fmt: skip
        (one,) = made.bounds
        l1, l2 = one.query.changes(unit)
        tables = [pa.table({"v": pa.array([7, v], pa.int64())}) for v in rows]
        tables += [pa.table({"v": pa.array([7], pa.int64())})] if neighbors == "added" else []
        counts = [histogram(ready(made.task, table, "local").table, one, unit) for table in tables]
        pairs = itertools.combinations(counts, 2) if neighbors == "replaced" else [(c, counts[-1]) for c in counts]
        moved = [abs(a - b) for a, b in pairs]
        assert max(int(m.sum()) for m in moved) == l1
        assert max(int((m**2).sum()) for m in moved) == l2


def test_bounds_are_drawn_anew_each_time() -> None:
    made = made_for(pa.table({"v": [3] * 20 + [9] * 20}), [dv.Sum("v", "auto")], guarantee="dp=0.5")
    first = drawn_bounds(made.table, made.bounds[0], Unit()).ends
    assert any(drawn_bounds(made.table, made.bounds[0], Unit()).ends != first for _ in range(60))


def test_the_command_reads_auto_and_fill(tmp_path: Path) -> None:
    request = Publish(source="t.csv", statistics=[dv.Mean("a:b", "auto", step="0.5")], guarantee="dp=1", fill="a:b:2")
    assert "--mean a:b:auto:1/2" in request.command()
    assert "--fill a:b:2" in request.command()
    assert Publish.from_dict(request.to_dict()) == request
    mapped = Publish(source="t.csv", statistics=[dv.Mean("a:b", "auto", step="0.5")], guarantee="dp=1", fill={"a:b": 2})
    assert mapped == request
    assert set(FAMILIES) == {"laplace", "gaussian"}
