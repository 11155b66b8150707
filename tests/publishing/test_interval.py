"""From how far numbers may be off to the promise: the noise is held against its law, summed up digit by digit."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.publishing.noising.estimates import Drawn, estimates
from divulge.publishing.publication import described, ready, task
from divulge.publishing.request import Publish
from divulge.releasing.request import Request

ROWS = pa.table({
    "sex": ["f", "m", "f", "f"] * 50, "age": list(range(40)) * 5, "p": [i // 2 for i in range(200)],
})  # fmt: skip
VALUES = {"sex": ["f", "m"]}


def asked(statistics: list[Any], interval: Any, **how: Any) -> Any:
    given: dict[str, Any] = {"values": VALUES, **({} if "person" in how else {"per_row": True}), **how}
    return ready(task(Publish(statistics=statistics, interval=interval, **given)), ROWS, "local")


def law(family: str, scale: float, k: int) -> mp.mpf:
    return mp.e ** (-mp.mpf(abs(k)) / scale if family == "laplace" else -(mp.mpf(k) ** 2) / (2 * mp.mpf(scale) ** 2))


def within(family: str, scale: float, width: int) -> mp.mpf:
    """Return P(|K| <= width), by adding up."""
    reach = width + int(60 * scale) + 10
    return mp.fsum(law(family, scale, k) for k in range(-width, width + 1)) / mp.fsum(
        law(family, scale, k) for k in range(-reach, reach + 1)
    )


CASES: list[tuple[list[Any], Any, dict[str, Any]]] = [
    ([dv.Count("sex")], 20, {}),
    ([dv.Count("sex"), dv.Sum("age", (0, 90), by="sex")], "12,300.5", {}),
    ([dv.Count(), dv.Count("sex"), dv.Sum("age", (-10, 90), step="1/2")], [3, 7.5, "40"], {"neighbors": "added"}),
    ([dv.Count("sex"), dv.Sum("age", (0, 90))], "9,200", {"noise": "gaussian", "level": 0.8}),
    ([dv.People("sex"), dv.Count("sex")], "6", {"person": "p", "rows_per_person": 2, "level": 0.5}),
    ([dv.Count("sex"), dv.Sum("age", (0, 9))], "0.5,2", {"tell_cut": False}),
]


@pytest.mark.parametrize(("statistics", "interval", "how"), CASES)
def test_all_numbers_are_as_close_as_asked_with_the_level_and_no_closer(
    statistics: list[Any], interval: Any, how: dict[str, Any]
) -> None:
    made = asked(statistics, interval, **how)
    reaches = [Fraction(str(one)) for one in (interval.split(",") if isinstance(interval, str)
               else interval if isinstance(interval, list) else [interval])]  # fmt: skip
    reaches = reaches * (len(statistics) if len(reaches) == 1 else 1)
    wanted = [
        min(math.floor(reach / (query.step if query.kind == "values" else 1))
            for reach, parts in zip(reaches, made.plan.parts, strict=True) if place in parts)
        for place, query in enumerate(made.plan.queries)
    ]  # fmt: skip
    together = mp.mpf(1)
    for query, noise, width in zip(made.plan.queries, made.noise.noises, wanted, strict=True):
        if noise.scale:
            together *= within(noise.name, noise.scale, width) ** query.cells
    level = made.task.level
    assert level <= together <= level + 1e-8
    told = described(made, None).queries
    assert [q.get("half_width", 0) for q in told] == [
        width if noise.scale else 0 for width, noise in zip(wanted, made.noise.noises, strict=True)
    ]


def test_what_is_promised_is_the_loss_of_neighbors() -> None:
    """All pairs of records: a row moves between four cells, and takes its number with it."""
    made = asked([dv.Count("sex"), dv.Sum("age", (0, 5), by="sex")], "12,30")
    counts, sums = (noise.scale for noise in made.noise.noises)
    records = list(itertools.product(range(4), range(6)))
    worst = max(
        (2 / counts + (a + b) / sums) if g != h else abs(a - b) / sums
        for (g, a), (h, b) in itertools.product(records, records)
    )
    assert made.noise.guarantees["dp"] == pytest.approx(worst, rel=1e-9)
    assert made.noise.guarantees["dp"] >= worst * (1 - 1e-15)


def test_the_promise_is_told_and_booked_before_anything_is_drawn(tmp_path: Path, monkeypatch: Any) -> None:
    said: list[str] = []
    ledger = tmp_path / "ledger.db"
    monkeypatch.setattr("divulge.publishing.publication.drawn", lambda *given: said.append("drawn") or _drawn(*given))
    how: dict[str, Any] = {"values": VALUES, "per_row": True, "ledger": ledger, "source_name": "s"}
    done = dv.publish(ROWS, dv.Count("sex"), tmp_path / "o.csv", interval=20, warn=said.append, **how)
    place = next(i for i, sentence in enumerate(said) if "further off than 20" in sentence)
    assert f"dp {done.guarantees['dp']:.6g}"[:8] in said[place]
    assert place < said.index("drawn")
    assert json.loads((tmp_path / "o.receipt.json").read_text())["guarantees"] == done.guarantees
    with pytest.raises(dv.DivulgeError, match="budget"):
        dv.publish(ROWS, dv.Count("sex"), tmp_path / "n.csv", interval=20, budget="dp=0.5", **how)
    assert not (tmp_path / "n.csv").exists()
    german = dv.publish(ROWS, dv.Count("sex"), tmp_path / "d.csv", interval=20, language="de", values=VALUES,
                        per_row=True)  # fmt: skip
    assert german.guarantees == done.guarantees
    assert "Keine Zahl liegt weiter daneben als 20" in (tmp_path / "d.statement.txt").read_text().replace("\n", " ")


def _drawn(*given: Any) -> Any:
    from divulge.publishing.noising.estimates import drawn

    return drawn(*given)


def test_the_same_stands_in_a_command_and_in_a_file(tmp_path: Path) -> None:
    request = Publish(source="t.csv", statistics=[dv.Count("sex"), dv.Count()], interval=[20, 2.5])
    assert "--interval 20,2.5" in request.command()
    assert "--guarantee" not in request.command()
    assert Request.from_dict(request.to_dict()) == request
    assert "interval=[20, 2.5]" in request.program()
    assert "guarantee" not in request.program()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"interval": 5, "guarantee": "dp=1"}, "there are both"),
    ({}, "--interval 500"),
    ({"interval": "x"}, "finite number"),
    ({"interval": 0}, "positive"),
    ({"interval": -1}, "positive"),
    ({"interval": []}, "positive"),
    ({"interval": float("nan")}, "finite"),
    ({"interval": math.inf}, "finite"),
    ({"interval": True}, "number"),
    ({"interval": "5,5"}, "one for each statistic"),
    ({"interval": "5@0"}, "a whole number of rows after @"),
    ({"interval": "5@1.5"}, "a whole number of rows after @"),
    ({"interval": "5@-2"}, "a whole number of rows after @"),
    ({"interval": "@5"}, "finite number"),
    ({"interval": "10.000"}, "read in one way"),
    ({"interval": 1e13}, "narrower"),
    ({"interval": 5, "whole": True}, "go without"),
    ({"interval": 5, "consistent": True}, "go without"),
    ({"interval": 5, "split": "equal"}, "go without"),
    ({"interval": 5, "values": None}, "list the values"),
]


@pytest.mark.parametrize(("how", "message"), REFUSED)
def test_what_is_no_interval_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.publish(ROWS, dv.Count("sex"), **{"values": VALUES, "per_row": True, **how})


@pytest.mark.parametrize("one", [
    dv.Variance("age", (0, 90)), dv.Quantiles("age", (0, 90), probabilities=(0.5,)),
    dv.Proportion("sex", "f"),
])  # fmt: skip
def test_intervals_that_depend_on_the_rows_cannot_be_asked_for(one: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="must come with counts, sums and means"):
        dv.publish(ROWS, one, interval=5, per_row=True)


def test_what_nobody_changes_costs_nothing() -> None:
    """How many rows there are is public where one is replaced."""
    made = asked([dv.Count(), dv.Count("sex")], "1,20")
    assert made.noise.noises[0].scale == 0
    alone = asked([dv.Count("sex")], "20")
    assert made.noise.noises[1] == alone.noise.noises[0]
    assert np.isclose(made.noise.guarantees["dp"], alone.noise.guarantees["dp"], rtol=0, atol=0)


@pytest.mark.parametrize("how", [
    {"no_other": True}, {"neighbors": "added"}, {}, {"noise": "gaussian", "neighbors": "added"},
    {"neighbors": "added", "by": "sex"},
])  # fmt: skip
def test_a_mean_is_as_close_as_asked_at_every_corner_of_the_noise(how: dict[str, Any]) -> None:
    """Sums and counts at the ends of their intervals, for true numbers of many rows and of as few as were named."""
    given = {name: value for name, value in how.items() if name != "by"}
    reach, fewest = 2.5, 80
    made = asked([dv.Mean("age", (0, 60), **({"by": "sex"} if "by" in how else {}))], f"{reach}@{fewest}", **given)
    told = described(made, None).queries
    widths = [q.get("half_width", 0) if noise.scale else 0 for q, noise in zip(told, made.noise.noises, strict=True)]
    (values, *counted), shape = made.plan.queries, made.plan.queries[0].shape
    step, farthest = float(values.step), 0.0
    for n, mean, a, b in itertools.product((fewest, fewest + 1, 500), (0, 10, 59.5, 60), (-1, 1), (-1, 1)):
        total = round(n * (mean - values.middle * step) / step)
        numbers = [np.full(shape, total + a * widths[0]), *(np.full(shape, n + b * widths[1]) for _ in counted)]
        drawn_ = [Drawn(number, width, 0.0) for number, width in zip(numbers, widths, strict=True)]
        (found,) = estimates(made.plan, drawn_, None if counted else n, {"sex": shape[0]} if shape else {})
        true = total / n * step + values.middle * step
        assert (found.low <= true + 1e-9).all()
        assert (true <= found.high + 1e-9).all()
        off = np.max([abs(found.values - true), found.high - found.values, found.values - found.low])
        assert off <= reach + 1e-9
        farthest = max(farthest, float(off))
    assert farthest > 0.9 * reach


def test_what_a_mean_needs_is_shared_between_sum_and_count_where_it_costs_least() -> None:
    def cost(sums: float, counts: float) -> float:
        return 60 / 2 / sums + 1 / counts  # of a row that is added, with numbers 30 around the middle

    made = asked([dv.Mean("age", (0, 60))], "2@1000", neighbors="added")
    told = described(made, None).queries
    chosen = cost(told[0]["half_width"], told[1]["half_width"])
    others = [(2000 - 34 * rows, rows) for rows in range(1, 58)]
    assert chosen <= min(cost(*one) for one in others) * 1.02
    assert told[0]["half_width"] + 34 * told[1]["half_width"] <= 2000


def test_a_mean_without_rows_is_refused_with_the_remedy_and_with_them_it_is_told() -> None:
    with pytest.raises(dv.DivulgeError, match="write 5@100"):
        dv.publish(ROWS, dv.Mean("age", (0, 90)), interval=5, per_row=True)
    done = dv.publish(
        ROWS, [dv.Count("sex"), dv.Mean("age", (0, 90))], interval="30,9@150", per_row=True, values=VALUES
    )
    assert [note.values for note in done.notes if note.name == "note_interval_rows"] == [{"rows": "150"}]
