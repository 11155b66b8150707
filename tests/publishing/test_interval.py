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
from divulge.publishing.describing import described
from divulge.publishing.noising.estimates import Drawn, _choices, estimates
from divulge.publishing.noising.noise import each
from divulge.publishing.preparing import ready
from divulge.publishing.request import Publish
from divulge.publishing.task import task
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


@pytest.mark.thin
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


MEDIAN = dv.Quantiles("age", (0, 90), probabilities=(0.5,))
SHARE = dv.Proportion("sex", "f")


@pytest.mark.parametrize(("one", "interval", "message"), [
    (dv.Variance("age", (0, 90)), 5, "write 5@100"), (SHARE, "0.05", "write 0.05@100"),
    (SHARE, "1@100", "below 1 for a share"), (MEDIAN, 5, "write 5rows"), (MEDIAN, "5@100", "write 5rows"),
    (dv.Count(), "5rows", "rows are for quantiles"), (dv.Mean("age", (0, 90)), "5 rows", "rows are for quantiles"),
    (MEDIAN, "1rows", "2rows is the least"), (MEDIAN, "0rows", "positive"), (MEDIAN, "-3rows", "positive"),
    (MEDIAN, "nanrows", "finite"), (MEDIAN, "rows", "number"),
    (dv.Quantiles("age", (0, 90), probabilities=(0.5,), intervals=False), "9rows", "left away"),
])  # fmt: skip
def test_what_depends_on_the_rows_says_of_how_many(one: Any, interval: Any, message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.publish(ROWS, one, interval=interval, per_row=True)


@pytest.mark.thin
@pytest.mark.parametrize("how", [
    {"no_other": True}, {"neighbors": "added"}, {"noise": "gaussian", "neighbors": "added"},
    {"neighbors": "added", "by": "sex"},
])  # fmt: skip
@pytest.mark.parametrize("kind", ["share", "variance"])
def test_a_share_and_a_variance_are_as_close_as_asked_at_every_corner(kind: str, how: dict[str, Any]) -> None:
    """All counts and sums at the ends of their intervals, for few rows and many, of one kind, of two, and spread."""
    given = {name: value for name, value in how.items() if name != "by"}
    by = {"by": "sex"} if "by" in how else {}
    reach, fewest = (0.04, 200) if kind == "share" else (60.0, 150)
    one = dv.Proportion("p", 1, **by) if kind == "share" else dv.Variance("age", (0, 60), **by)
    made = asked([one], f"{reach}@{fewest}", **given)
    told = described(made, None).queries
    widths = [q.get("half_width", 0) if noise.scale else 0 for q, noise in zip(told, made.noise.noises, strict=True)]
    first, farthest = made.plan.queries[0], 0.0
    shape = first.shape[: len(first.by)]
    tables = [(n, k, a) for n in (fewest, fewest + 1, 900) for k in (0, 1, n // 3, n - 1, n) for a in (0, 20, 60)]
    for n, k, a in tables:  # k rows with the value, or with a; the others with none, or with 60
        if kind == "share":
            true, numbers = k / n, [np.stack([np.full(shape, k), np.full(shape, n - k)], -1)]
            numbers = [np.full(shape, k)] if first.shape == shape else numbers
        else:
            true = k * (n - k) / n**2 * (60 - a) ** 2
            x, y = a - first.middle, 60 - first.middle
            numbers = [np.full(shape, k * x + (n - k) * y), np.full(shape, k * x**2 + (n - k) * y**2),
                       *(np.full(shape, n) for _ in made.plan.queries[2:])]  # fmt: skip
        moves = [np.array(move) for move in itertools.product((-1, 1), repeat=max(len(widths), 2))]
        for move in moves:
            off = [move[: number.shape[-1]] if number.shape != shape else move[i] for i, number in enumerate(numbers)]
            drawn_ = [Drawn(number + width * way, width, 0.0)
                      for number, width, way in zip(numbers, widths, off, strict=True)]  # fmt: skip
            rows = n if (kind == "share" and first.shape == shape) or len(made.plan.queries) == 2 else None
            (found,) = estimates(made.plan, drawn_, rows, {"sex": shape[0]} if shape else {})
            assert (found.low <= true + 1e-9).all()
            assert (true <= found.high + 1e-9).all()
            far = np.max([abs(found.values - true), found.high - found.values, found.values - found.low])
            assert far <= reach + 1e-9
            farthest = max(farthest, float(far))
    assert farthest > (0.9 if kind == "share" else 0.5) * reach  # a variance is bounded by the worst of mean and square


def test_shares_of_a_variance_cost_least() -> None:
    made = asked([dv.Variance("age", (0, 60))], "60@1000", neighbors="added")
    sums, squares, counts = (query["half_width"] for query in described(made, None).queries)
    far = 30
    assert 2 * far * sums + squares + (3 * far**2 + 120) * counts <= 60 * 1000

    def cost(sums: float, squares: float, counts: float) -> float:
        return far / sums + far**2 / squares + 1 / counts

    best = cost(sums, squares, counts)
    for c, s in itertools.product(range(1, 22), range(1, 990, 3)):
        rest = 60_000 - 2 * far * s - (3 * far**2 + 120) * c
        assert rest <= 0 or best <= cost(s, rest, c) * 1.02


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_quantiles_are_as_close_in_rank_as_asked(noise: str) -> None:
    rng = np.random.default_rng(5)
    ages = np.minimum(rng.geometric(0.04, 4001) - 1, 90)
    table = pa.table({"age": ages})
    one, width, level, runs = dv.Quantiles("age", (0, 90), probabilities=(0.25, 0.5)), 120, 0.5, 120
    request = Publish(statistics=[one], interval=f"{width}rows", per_row=True, noise=noise, level=level)
    made = ready(task(request), table, "local")
    rows = np.bincount(ages, minlength=91)[None]
    upto = np.cumsum(rows[0])
    missed, farthest = 0, 0
    for _ in range(runs):
        ok = True
        for query, law_, p in zip(made.plan.queries, made.noise.noises, (0.25, 0.5), strict=True):
            low, _, high = _choices(query, law_, rows, each(level, 4))[:, 0].tolist()
            target = p * len(ages)
            ends = [max(upto[v] - rows[0, v] - target, target - upto[v], 0) for v in (low, high)]
            ok &= max(ends) <= width and upto[low] - rows[0, low] <= target <= upto[high]
            farthest = max(farthest, *ends)
        missed += not ok
    assert missed <= (1 - level) * runs
    assert farthest > width / 3  # not much more than was asked for
    done = dv.publish(table, one, interval=f"{width}rows", per_row=True, noise=noise)
    assert [note.name for note in done.notes][-1] == "note_interval_ranks"
    assert ("zcdp" in done.guarantees) == (noise == "gaussian")


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
