"""Statistics by values that nobody listed: noise names them, which is paid for, recorded first, and computed again."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import NEVER

import divulge as dv
from divulge.publishing import preparing
from divulge.publishing.counting.unknown import Threshold
from divulge.publishing.noising.composed import adp_epsilon
from divulge.publishing.preparing import ready, resolved
from divulge.publishing.queries import Unit
from divulge.publishing.request import Publish
from divulge.publishing.task import task
from divulge.releasing.output.signature import checksum

TOWNS = pa.table({"town": ["A"] * 900 + ["B"] * 600 + ["rare", None], "age": [20] * 900 + [50] * 602})
ASKED = [dv.Quantiles("age", (0, 90), "town", probabilities=("0.5",), step=10), dv.Mean("age", (0, 90), "town")]
HOW: dict[str, Any] = {"guarantee": "adp=4:1e-6", "per_row": True, "level": 1 - NEVER}


def test_groups_with_many_are_named_and_all_others_stand_together() -> None:
    how = HOW | {"guarantee": "adp=4:1e-12"}  # a rare value shows itself with half of delta
    found = dv.publish(TOWNS, [*ASKED, dv.Count("town")], noise="laplace", **how)  # Gaussian noise is searched
    rows = {(one["statistic"], one["by"]["town"]): one for one in found.statistics()}
    assert [town for kind, town in rows if kind == "count"] == ["A", "B", "other", "no answer"]
    for town, true, many in (("A", 20, 900), ("B", 50, 600)):
        for kind, value in (("quantile", true), ("mean", true), ("count", many)):
            assert rows[kind, town]["low"] <= value <= rows[kind, town]["high"]
    assert rows["count", "other"]["low"] <= 1 <= rows["count", "other"]["high"]
    assert any("not listed beforehand" in line for line in found.told)
    assert found.guarantees == {"adp": {"epsilon": 4.0, "delta": 1e-12}}


@pytest.mark.parametrize("person", [None, "who"])
def test_names_and_statistics_add_up_to_what_was_asked(person: str | None) -> None:
    """Every part from its own noise: the threshold of each column, and the laws of the rest."""
    table = TOWNS.append_column("sex", pa.array(["f", "m"] * 751)).append_column("who", pa.array(map(str, range(1502))))
    asked = [dv.Mean("age", (0, 90), by=("town", "sex"))]
    whose = {"per_row": True} if person is None else {"person": person, "rows_per_person": 2}
    made = task(Publish(statistics=asked, guarantee="adp=4:1e-6", **whose))
    found = resolved(ready(made, table, "local"))
    assert [name for name, _ in found.names] == ["town", "sex"]
    unit = Unit(person, 2 if person else 1)
    kept = [Threshold.of(one.scale, one.least, unit) for _, one in found.names]
    delta = Fraction(1e-6) - sum(Fraction(one.delta) for one in kept)
    rest = adp_epsilon(found.plan.queries, found.noise.noises, unit, float(delta))
    assert 3.99 < sum(one.epsilon for one in kept) + rest <= 4.0
    assert float(delta) >= 5e-7


def test_an_edited_receipt_is_refused(tmp_path: Path) -> None:
    dv.publish(TOWNS, ASKED, tmp_path / "t.csv", **HOW)
    path = tmp_path / "t.receipt.json"
    body = json.loads(path.read_text())
    assert dv.results.Published.read(path).guarantees == {"adp": {"epsilon": 4.0, "delta": 1e-6}}

    def edited(change: Any) -> None:
        other = json.loads(json.dumps(body))
        change(other)
        del other["checksum"]
        other["checksum"] = checksum(other)
        path.write_text(json.dumps(other))

    changes = (
        lambda one: one["queries"][0].update(scale=one["queries"][0]["scale"] * 2),
        lambda one: one["queries"][0].update(threshold=one["queries"][0]["threshold"] - 9),
        lambda one: one["queries"].pop(0),
        lambda one: one["guarantees"]["adp"].update(epsilon=3.0),
        lambda one: one["guarantees"].update(dp=4.0),
        lambda one: one["notes"].pop(next(i for i, note in enumerate(one["notes"]) if note["name"] == "note_keys")),
    )
    for change in changes:
        edited(change)
        with pytest.raises(dv.DivulgeError):
            dv.results.Published.read(path)


def test_what_naming_costs_is_recorded_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("drawn")

    monkeypatch.setattr(preparing, "named", broken)
    with pytest.raises(RuntimeError, match="drawn"):
        dv.publish(TOWNS, ASKED, ledger=tmp_path / "l.sqlite", source_name="towns", **HOW)
    monkeypatch.undo()
    with pytest.raises(dv.DivulgeError, match="budget"):
        dv.publish(TOWNS, ASKED, ledger=tmp_path / "l.sqlite", source_name="towns", budget="adp=2:1e-6", **HOW)


@pytest.mark.parametrize("how", [{"no_other": True}, {"guarantee": "dp=1"}, {"guarantee": ["adp=1:1e-6", "zcdp=1"]}])
def test_where_noise_cannot_name_them_values_must_be_listed(how: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError, match="values-from-data"):
        dv.publish(TOWNS, ASKED, **(HOW | how))
