"""Published numbers: right, in their intervals as often as is said, from exact counts, and refused where wrong."""

import datetime
import decimal
import json
import math
import pickle
import re
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy import stats
from search.publications import repeated
from support import NEVER, plausible

import divulge as dv
from divulge.publishing.counting.engines import counted
from divulge.publishing.counting.tables import table_of
from divulge.publishing.noising.calibration import calibrated
from divulge.publishing.noising.estimates import drawn, estimates
from divulge.publishing.noising.noise import each, half_width, noisy
from divulge.publishing.preparing import ready
from divulge.publishing.queries import Unit
from divulge.publishing.request import Publish
from divulge.publishing.statistics import parse_numeric
from divulge.publishing.task import task

from .conftest import VALUES

ALMOST_EXACT = "dp=1e6"
"""Noise so small that numbers are nearly always exact."""

EVERYTHING = [
    dv.Count("race", "sex"), dv.Count("race"), dv.Count(), dv.Sum("age", (0, 90)), dv.Mean("age", (0, 90)),
    dv.Mean("height", (1, 2.5), by="sex", step=0.01), dv.Variance("age", (0, 90)), dv.Proportion("sex", "f"),
    dv.Proportion("sex", "f", by="race"), dv.Quantiles("age", (0, 90)), dv.Quantiles("age", (0, 90), by="sex"),
]  # fmt: skip


def one(found: Any, kind: str, **where: Any) -> dict[str, Any]:
    groups = {name: value for name, value in where.items() if name in VALUES}
    rest = {name: value for name, value in where.items() if name not in VALUES}
    rows = [row for row in found.statistics() if row["statistic"] == kind and row["by"] == groups]
    (row,) = [row for row in rows if all(row.get(name) == value for name, value in rest.items())]
    return row


def test_a_table_asked_for_in_two_orders_is_counted_once(people: Any) -> None:
    found = dv.publish(
        people, [dv.Count("race", "sex"), dv.Count("sex", "race")], guarantee=ALMOST_EXACT, values=VALUES
    )
    assert sum(row["value"] for row in found.statistics()) == 2 * len(people)


def test_without_noise_to_speak_of_the_numbers_are_those_of_the_table(people: Any) -> None:
    found = dv.publish(people, EVERYTHING, guarantee=ALMOST_EXACT, values=VALUES)
    frame = people.to_pandas()
    assert one(found, "count", race="a", sex="m")["value"] == ((frame.race == "a") & (frame.sex == "m")).sum()
    assert one(found, "count")["value"] == len(frame)
    assert one(found, "sum", column="age")["value"] == frame.age.sum()
    assert one(found, "mean", column="age")["value"] == pytest.approx(frame.age.mean())
    assert one(found, "mean", column="height", sex="f")["value"] == pytest.approx(frame.height[frame.sex == "f"].mean())
    assert one(found, "variance", column="age")["value"] == pytest.approx(frame.age.var(ddof=0), rel=1e-4)
    assert one(found, "proportion", column="sex")["value"] == pytest.approx((frame.sex == "f").mean())
    assert one(found, "proportion", race="b")["value"] == pytest.approx((frame.sex[frame.race == "b"] == "f").mean())
    for p in ("0.25", "0.5", "0.75"):
        assert one(found, "quantile", at=p)["value"] == np.quantile(frame.age, float(p), method="inverted_cdf")
    for row in found.statistics():
        empty = {"other", "no answer"} & set(row["by"].values())
        assert (row["value"] is None) == bool(empty and row["statistic"] != "count")
        assert row["value"] is None or row["low"] <= row["value"] <= row["high"]


@pytest.mark.parametrize("kind", ["parquet", "folder", "csv", "pandas", "polars", "pyarrow", "batch"])
def test_every_kind_of_table_gives_the_same_counts(people: Any, kind: str, tmp_path: Path) -> None:
    import polars

    if kind == "parquet":
        pq.write_table(people, tmp_path / "t.parquet", row_group_size=100)
    elif kind == "folder":
        (tmp_path / "t.folder").mkdir()
        for i in range(3):
            pq.write_table(people.slice(200 * i, 200), tmp_path / "t.folder" / f"{i}.parquet")
    elif kind == "csv":
        people.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    table = {
        "parquet": tmp_path / "t.parquet", "folder": tmp_path / "t.folder", "csv": tmp_path / "t.csv",
        "pandas": people.to_pandas(), "polars": polars.from_arrow(people), "pyarrow": people,
        "batch": people.combine_chunks().to_batches()[0],
    }[kind]  # fmt: skip
    asked = [
        dv.Count("sex"), dv.Mean("height", (1, 2.5), step=0.01, by="sex"), dv.Sum("age", (0, 50)),
        dv.Quantiles("age", (0, 90)),
    ]  # fmt: skip
    exact = {}
    for name, source in (("this", table), ("arrow", people)):
        made = ready(task(Publish(statistics=asked, guarantee="dp=1", values=VALUES)), source, "local")
        exact[name] = counted(made.table, made.plan.queries, made.values, Unit())
    for a, b in zip(exact["this"].totals, exact["arrow"].totals, strict=True):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_gives_back_a_frame_of_its_library(people: Any, library: str, tmp_path: Path) -> None:
    import pickle

    import polars

    table = {"pandas": people.to_pandas(), "polars": polars.from_arrow(people), "pyarrow": people}[library]
    found = dv.publish(table, [dv.Count("sex"), dv.Mean("age", (0, 90))], tmp_path / "o.parquet", guarantee="dp=1",
                       values=VALUES)  # fmt: skip
    assert type(found.table).__module__.partition(".")[0] == library
    assert found.arrow.equals(pq.read_table(tmp_path / "o.parquet"))
    assert len(found.table) == found.arrow.num_rows == len(found.statistics())
    assert list(found.table["value"]) == pytest.approx(found.arrow["value"].to_pylist()) or library == "pyarrow"
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != dv.publish(table, [dv.Count("sex"), dv.Mean("age", (0, 90))], guarantee="dp=1", values=VALUES)
    assert len(dv.statement(found).text()) > 500


def missed(people: Any, statistics: list[Any], guarantee: str, times: int, **how: Any) -> int:
    """Return how often intervals miss a number that nearly no noise gives; the table is counted once.

    That these are the intervals that are published is tested in `test_audited`.
    """
    asked = task(Publish(statistics=statistics, guarantee=guarantee, values=VALUES, level=0.9, **how))
    made = ready(asked, people, "local")
    exact = counted(made.table, made.plan.queries, made.values, asked.unit)
    sizes = {name: len(values) for name, values in made.values.items()}
    rows = exact.rows if asked.unit.rows_known else None
    none = calibrated(made.plan.queries, asked.unit, [dv.DP(10**7)], None, "laplace", "equal").noises
    truth = estimates(made.plan, drawn(made.plan.queries, none, exact.totals, 0.9), rows, sizes)
    out = 0
    for found in repeated(made, exact.totals, rows, times):
        out += not all(
            bool(((got.low <= want.values + 1e-9) & (want.values <= got.high + 1e-9)).all())
            for got, want in zip(found, truth, strict=True)
        )
    return out


SELDOM = stats.binom.isf(NEVER, 1000, 0.1)
"""Of 1,000 repetitions, in each of which a tenth may miss."""


@pytest.mark.thin
@pytest.mark.parametrize(
    ("statistics", "guarantee", "how"),
    [
        ([dv.Count("race", "sex"), dv.Count("sex")], "dp=1", {}),
        ([dv.Count("race", "sex")], "zcdp=0.1", {"noise": "gaussian"}),
        ([dv.Sum("age", (0, 90)), dv.Mean("age", (0, 90), by="race"), dv.Variance("age", (0, 90))], "dp=2", {}),
        ([dv.Proportion("sex", "f", by="race"), dv.Mean("age", (0, 90))], "dp=1", {"neighbors": "added"}),
        ([dv.Count("sex"), dv.Mean("age", (0, 90))], "dp=2", {"person": "who", "rows_per_person": 2}),
    ],
)
def test_intervals_hold_together_as_often_as_is_said(
    people: Any, statistics: list[Any], guarantee: str, how: Any
) -> None:
    assert missed(people, statistics, guarantee, 1000, **how) <= SELDOM


@pytest.mark.thin
@pytest.mark.parametrize("how", [{}, {"noise": "gaussian"}])
def test_intervals_of_quantiles_hold_together(people: Any, how: Any) -> None:
    guarantee = "zcdp=1" if how else "dp=4"
    times = missed(people, [dv.Quantiles("age", (0, 90))], guarantee, 300, **how)
    assert times <= stats.binom.isf(NEVER, 300, 0.1)


def test_counts_of_0_and_1_are_covered_as_the_others() -> None:
    table = pa.table({"race": ["a"] * 50 + ["b"], "sex": ["f"] * 51})
    assert missed(table, [dv.Count("race", "sex")], "dp=1", 1000) <= SELDOM


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.4, 3.0, 80.0])
def test_the_law_of_the_noise_is_the_one_that_is_drawn(family: Any, scale: float) -> None:
    from divulge.publishing.noising.families import FAMILIES

    noise = FAMILIES[family](scale)
    found = noisy(np.zeros(20_000, dtype=np.int64), noise)
    assert abs(found.mean()) < 8 * noise.deviation / math.sqrt(20_000)
    assert found.std() == pytest.approx(noise.deviation, rel=0.1)  # 8 standard errors, of the smallest noise
    for width in {0, int(scale), int(3 * scale)}:
        assert plausible(int((abs(found) > width).sum()), 20_000, noise.tail(width))


@pytest.mark.parametrize("scale", ["1", "7/2", "40"])
def test_tails_are_those_of_the_law_in_fractions(scale: str) -> None:
    from divulge.publishing.noising.families import Gaussian, Laplace

    s = float(Fraction(scale))
    a = Fraction(math.exp(-1 / s))
    total = (1 + a) / (1 - a)
    for width in (0, 1, 5, 30):
        exact = 2 * a ** (width + 1) / (1 - a) / total
        assert exact <= Laplace(s).tail(width) <= float(exact) * (1 + 1e-8)
        assert half_width(Laplace(s), float(exact) * 1.000001) == width
        gauss = Gaussian(s)
        weight = [math.exp(-k * k / (2 * s * s)) for k in range(2000)]
        truth = 2 * math.fsum(weight[width + 1 :]) / (1 + 2 * math.fsum(weight[1:]))
        assert truth <= gauss.tail(width) * (1 + 1e-12)
        assert math.erfc(width / (s * math.sqrt(2))) >= truth * (1 - 1e-12)  # the bound for wide ones
    assert each(0.95, 1) == pytest.approx(0.05, rel=1e-6)


def test_a_persons_rows_beyond_k_are_left_out_whoever_else_is_there(people: Any) -> None:
    unit = Unit("who", 1)

    def ages(table: Any) -> int:
        made = ready(task(Publish(statistics=dv.Sum("age", (0, 90)), guarantee="dp=1", person="who")), table, "local")
        return int(counted(made.table, made.plan.queries, {}, unit).totals[0])

    persons = sorted(set(people["who"].to_pylist()))
    alone = {who: ages(people.filter(pc.equal(people["who"], who))) for who in persons[:12]}
    assert ages(people.filter(pc.is_in(people["who"], pa.array(persons[:12])))) == sum(alone.values())
    shuffled = people.take(pa.array(np.random.default_rng(1).permutation(people.num_rows)))
    assert ages(shuffled) == ages(people)
    for who, age in alone.items():
        own = people.filter(pc.equal(people["who"], who))["age"].to_pylist()
        assert age in own  # one of their own rows


def refused(people: Any, statistics: Any, **how: Any) -> str:
    with pytest.raises(dv.DivulgeError) as caught:
        dv.publish(people, statistics, **({"guarantee": "dp=1", "values": VALUES} | how))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_bad_input_gets_one_message_that_names_no_value(people: Any, tmp_path: Path) -> None:
    with pytest.raises(dv.DivulgeError, match="bounds"):
        dv.Mean("age", (90, 0))
    with pytest.raises(dv.DivulgeError, match="bounds"):
        dv.Mean("age", None)
    with pytest.raises(dv.DivulgeError, match="read in one way"):
        dv.Mean("age", ("0", "15.000"))
    assert dv.Mean("age", ("0.125", "15.25"), step="0.125").bounds[0] == Fraction(1, 8)
    assert parse_numeric("mean", "pay:15.000:1.234.500", (), ",").bounds == (15_000, 1_234_500)
    assert parse_numeric("mean", "pay:15.000:20", (), ".").bounds == (15, 20)
    with pytest.raises(dv.DivulgeError, match="finite"):
        dv.Mean("age", (0, math.nan))
    assert "step" in refused(people, dv.Mean("height", (1, 2)))
    assert "2^62" in refused(pa.table({"v": [2**60] * 20}), dv.Variance("v", (0, 2**40)), values=None)
    assert "empty" in refused(people, dv.Count("race"), values={"race": []})
    assert "values-from-data" in refused(people, dv.Count("race"), values=None)
    assert "record_prior" in refused(people, dv.Count("race"), guarantee="pml=1")
    assert "log(1/p)" in refused(people, dv.Count("race"), guarantee="pml=5", record_prior="lower=0.01")
    assert "(0, 1/2]" in refused(people, dv.Count("race"), guarantee="pml=1", record_prior="lower=0.6")
    assert "laplace" in refused(people, dv.Count("race"), noise="gaussian")
    assert "for statistics" in refused(people, dv.Count("race"), guarantee="maximal-leakage=1")
    assert "'agee'" in refused(people, dv.Mean("agee", (0, 90)))
    days = pa.table({"v": pa.array([0, 1], pa.date32())})
    assert "hold numbers" in refused(days, dv.Mean("v", (0, 90), step=1))
    assert "there twice" in refused(people, [dv.Count("race"), dv.Count("race")])
    assert not list(tmp_path.iterdir())


def test_bounds_that_the_data_belie_are_not_told(people: Any) -> None:
    inside = dv.publish(people, dv.Mean("age", (0, 90)), guarantee="dp=1")
    beyond = dv.publish(people, dv.Mean("age", (20, 30)), guarantee="dp=1")
    said = [" ".join(found.told).replace("0 to 90", "").replace("20 to 30", "") for found in (inside, beyond)]
    assert said[0] == said[1]


def test_missing_values_count_as_a_value_when_asked(people: Any) -> None:
    table = pa.table({"race": ["a", None, "b", None]})
    found = dv.publish(table, dv.Count("race"), guarantee=ALMOST_EXACT, values={"race": ["a", "b", "?"]}, null_as="?")
    assert [row["value"] for row in found.statistics()] == [1, 1, 2, 0]
    occurring = dv.publish(table, dv.Count("race"), guarantee=ALMOST_EXACT, values_from_data=True, null_as="?")
    assert {row["by"]["race"]: row["value"] for row in occurring.statistics()} == {"?": 2, "a": 1, "b": 1}
    assert any("NOT protected" in line for line in occurring.told)


def test_numbers_of_other_types_are_compared_as_text(people: Any) -> None:
    table = pa.table({"code": pa.array([1, 2, 2], pa.int8()), "day": pa.array([0, 0, 1], pa.date32())})
    found = dv.publish(table, [dv.Count("code"), dv.Count("day")], guarantee=ALMOST_EXACT,
                       values={"code": [1, "2"], "day": ["1970-01-01", "1970-01-02"]})  # fmt: skip
    assert [row["value"] for row in found.statistics()] == [1, 2, 0, 0, 2, 1, 0, 0]


ODD_VALUES = {
    "truth": ([True, False, True], True, 2 / 3),
    "numbers": ([1.0, 2.5, 1.0], 1, 2 / 3),
    "days": ([datetime.date(2020, 1, 1)] * 3, datetime.date(2020, 1, 1), 1.0),
    "quotes": (["a'b", "c\\d", 'e"f'], "a'b", 1 / 3),
    "slashes": (["a'b", "c\\d", 'e"f'], "c\\d", 1 / 3),
    "no such number": ([1.0, 2.5, 1.0], "3", 0.0),
}


@pytest.mark.parametrize("name", ODD_VALUES)
@pytest.mark.parametrize("where", ["memory", "parquet"])
def test_a_share_is_of_the_value_whatever_its_type(name: str, where: str, tmp_path: Path) -> None:
    column, value, share = ODD_VALUES[name]
    table: Any = pa.table({'odd "name" {x}': column})
    if where == "parquet":
        pq.write_table(table, tmp_path / "it's.parquet")
        table = tmp_path / "it's.parquet"
    found = dv.publish(table, dv.Proportion('odd "name" {x}', value), guarantee=ALMOST_EXACT)
    assert found.statistics()[0]["value"] == pytest.approx(share)


def test_numbers_beyond_64_bits_are_clamped_like_others() -> None:
    table = pa.table({"v": pa.array([2**64 - 1, 5], pa.uint64())})
    assert dv.publish(table, dv.Sum("v", (0, 9)), guarantee=ALMOST_EXACT).statistics()[0]["value"] == 14


@pytest.mark.parametrize("level", ["0", "inf", "1e-320", "1e300"])
@pytest.mark.parametrize("kind", ["dp={}", "zcdp={}", "adp={}:1e-6"])
def test_levels_that_no_noise_keeps_are_refused(people: Any, kind: str, level: str) -> None:
    assert "from 1e-09 to 1e+09" in refused(people, dv.Count("race"), guarantee=kind.format(level))


def test_what_is_written_holds_no_exact_number_but_for_the_keeper(people: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    found = dv.publish(
        people, dv.Count("race", "sex"), out, guarantee="pml=1", record_prior="lower=0.01", values=VALUES
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "out.csv",
        "out.codebook.json",
        "out.codebook.md",
        "out.receipt.json",
        "out.statement.html",
        "out.statement.txt",
        "out.keeper.json",
    }
    keeper = tmp_path / "out.keeper.json"
    assert stat.S_IMODE(keeper.stat().st_mode) == 0o600
    exact = json.loads(keeper.read_text())["exact"][0]["numbers"]
    for public in names - {"out.keeper.json", "out.csv"}:
        numbers = set(re.findall(r"(?<![\w.])\d+(?![\w.])", (tmp_path / public).read_text()))  # not parts of checksums
        assert not numbers & {str(number) for row in exact for number in row if number > 99}
    again = dv.results.Published.read(tmp_path / "out.receipt.json")
    assert again.guarantees == found.guarantees
    assert again.describes(out)
    with pytest.raises(dv.DivulgeError, match="there is one already"):
        dv.publish(people, dv.Count("race"), out, guarantee="dp=1", values=VALUES)
    edited = (tmp_path / "out.receipt.json").read_text().replace('"level": 0.95', '"level": 0.99')
    (tmp_path / "edited.json").write_text(edited)
    with pytest.raises(dv.DivulgeError, match="checksum"):
        dv.results.Published.read(tmp_path / "edited.json")


@pytest.mark.parametrize("split", ["need", "mean-squared", "relative", "equal", [1, 2, 2]])
def test_a_split_keeps_the_promise(people: Any, split: Any) -> None:
    found = dv.publish(
        people, [dv.Count("race", "sex"), dv.Mean("age", (0, 90))], guarantee="dp=1", values=VALUES, split=split
    )
    assert 1 - 1e-9 < found.guarantees["dp"] <= 1
    assert sum(query["loss"] for query in found.queries) == pytest.approx(1)


def test_counts_can_be_made_non_negative_whole_and_consistent(people: Any) -> None:
    asked = [dv.Count("race", "sex"), dv.Count("race"), dv.Count("sex")]
    found = dv.publish(people, asked, guarantee="dp=0.3", values=VALUES, non_negative=True, whole=True, consistent=True,
                       no_other=True)  # fmt: skip
    rows = found.statistics()
    joint = {(r["by"]["race"], r["by"]["sex"]): r["value"] for r in rows if len(r["by"]) == 2}
    assert all(isinstance(v, int) and v >= 0 for v in joint.values())
    assert sum(joint.values()) == people.num_rows
    for r in rows:
        if len(r["by"]) == 1:
            assert r["value"] == sum(v for key, v in joint.items() if set(r["by"].values()) <= set(key))
        assert r["low"] <= r["value"] <= r["high"]
    assert len(found.told) == len(dv.publish(people, asked, guarantee="dp=0.3", values=VALUES, no_other=True).told) + 3


@pytest.mark.parametrize(("asked", "neighbors", "said"), [(1, "added", 0), (1, "replaced", 1), (2, "added", 1)])
def test_that_counts_were_moved_is_said_where_totals_can_disagree(
    people: Any, asked: int, neighbors: Any, said: int
) -> None:
    """One table of people who come and go has no total that it could be moved to."""
    counts = [dv.Count("race"), dv.Count("sex")][:asked]
    how: dict[str, Any] = {"guarantee": "dp=0.3", "values": VALUES, "neighbors": neighbors, "per_row": True}
    found = dv.publish(people, counts, **how, consistent=True)
    assert sum("were moved" in line for line in found.told) == said
    whole = [abs(row["value"] - round(row["value"])) < 1e-9 for row in found.statistics()]
    assert said or all(whole)  # as the noise left them


def test_consistent_counts_are_the_nearest(people: Any) -> None:
    """Held against the projection written as a quadratic program in cvxpy."""
    import cvxpy

    from divulge.publishing.noising.margins import projected

    rng = np.random.default_rng(2)
    noisy_counts = [rng.normal(5, 6, (3, 4)), rng.normal(20, 3, 3), rng.normal(15, 2, 4)]
    deviations = [6.0, 3.0, 2.0]
    got = projected(noisy_counts, [("u", "v"), ("u",), ("v",)], deviations, {"u": 3, "v": 4}, None, True, False)
    z = cvxpy.Variable((3, 4), nonneg=True)
    parts = [z, cvxpy.sum(z, axis=1), cvxpy.sum(z, axis=0)]
    loss = sum(cvxpy.sum_squares(p - y) / d**2 for p, y, d in zip(parts, noisy_counts, deviations, strict=True))
    cvxpy.Problem(cvxpy.Minimize(loss)).solve()
    assert got[0] == pytest.approx(z.value, abs=1e-3)


def _totals(
    table: Any, asked: Any, person: str | None = None, engine: Any = "local", null_as: Any = None, **values: list[str]
) -> list[Any]:
    """Return the exact numbers that a publication adds noise to."""
    made = ready(
        task(Publish(statistics=asked, guarantee="dp=1", values=values, person=person, null_as=null_as)), table, engine
    )
    unit = Unit(person, 1)
    return [part.tolist() for part in counted(made.table, made.plan.queries, made.values, unit, null_as).totals]


@pytest.fixture
def fixture_of(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_path_is_one_file_and_its_columns(engine: Any, fixture_of: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """To an engine, signs in a path can be a pattern and folders called NAME=VALUE a column."""
    if engine == "spark":
        fixture_of("spark")
    monkeypatch.chdir(tmp_path)
    names = ["s*.parquet", "s[ab].parquet", "s?.parquet", "{a,sa}.parquet", "a b'ü%20.parquet", "g=z/t.parquet", "g=z"]
    for name, rows in [*((name, 10) for name in names[:-1]), ("sa.parquet", 500), ("a.parquet", 500)]:
        Path(name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"g": ["x"] * rows}), name)
    for name in names:
        assert _totals(name, dv.Count("g"), engine=engine, g=["x", "z"]) == [[10, 0, 0, 0]], name


def test_columns_whose_names_differ_in_case_are_two(tmp_path: Path) -> None:
    rows = {"a": ["x"] * 90 + ["y"] * 10, "A": ["x"] * 20 + ["y"] * 80, "p": [*range(50)] * 2, "P": [0] * 100}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    xy, asked = ["x", "y"], [dv.Count("A"), dv.Count("a"), dv.Count("a", "A")]
    for given in (pa.table(rows), tmp_path / "t.parquet"):
        assert _totals(given, asked, a=xy, A=xy)[:2] == [[20, 80, 0, 0], [90, 10, 0, 0]]
        assert sum(_totals(given, dv.Count("a"), person="P", a=xy)[0]) == 1


def test_a_number_that_is_none_is_left_out_whatever_the_file_says_of_itself(tmp_path: Path) -> None:
    values = [1.0, float("nan"), 2.0, None]
    table = pa.table({"v": values})
    required = pa.table(
        [pa.array([1.0, float("nan"), 2.0, 2.0])], schema=pa.schema([pa.field("v", pa.float64(), False)])
    )
    pq.write_table(required, tmp_path / "t.parquet")
    asked = [dv.Mean("v", (0, 3), step=1), dv.Quantiles("v", (0, 3), step=1), dv.Proportion("v", 1)]
    assert [np.sum(part) for part in _totals(table, asked)] == [1 + 2 - 2, 2, *[2] * 3, 1]
    assert [np.sum(part) for part in _totals(tmp_path / "t.parquet", asked)] == [1 + 2 + 2 - 3, 3, *[3] * 3, 1]


def test_names_that_queries_use_are_columns_like_others() -> None:
    names = ("divulge_place", "column0", "g0", "rows", "given", 'a"b', "ranked")
    table = pa.table({name: ["x"] * 3 for name in names} | {"p": [1, 2, 2]})
    for name in names:
        assert _totals(table, dv.Count(name), person="p", **{name: ["x"]}) == [[2, 0, 0]]


WHOLE, REAL, TRUTH, TEXT = [1, 2, 1], [1.0, 2.0, 1.0], [True, False, True], ["1", "2", "1"]


@pytest.mark.parametrize(
    ("column", "value", "rows"),
    [(WHOLE, "1", 2), (WHOLE, "1.0", 2), (WHOLE, 1.0, 2), (WHOLE, "01", 2), (REAL, "1", 2), (REAL, "1e0", 2),
     (REAL, 3, 0), (TRUTH, "True", 2), (TRUTH, False, 1), (TEXT, 1, 2), (TEXT, "1.0", 0)],
)  # fmt: skip
def test_a_value_is_found_as_its_column_holds_it(column: list[Any], value: Any, rows: int) -> None:
    assert _totals(pa.table({"c": column}), dv.Proportion("c", value))[0] == rows


GAPS = {"s": ["x", None, "y", None] * 5, "n": [1, None, 2, None] * 5, "r": ["a", "b"] * 10}


def test_the_share_of_missing_values_is_that_of_their_label() -> None:
    asked = [dv.Proportion("s", "?"), dv.Proportion("n", "?"), dv.Proportion("s", "x"), dv.Count("s"),
             dv.Proportion("s", "?", by="r")]  # fmt: skip
    made = ready(
        task(Publish(statistics=asked, guarantee="dp=1", values={"s": ["x", "y", "?"], "r": ["a", "b"]}, null_as="?")),
        pa.table(GAPS),
        "local",
    )
    totals = counted(made.table, made.plan.queries, made.values, Unit(), "?").totals
    assert [part.tolist() for part in totals][:4] == [10, 10, 5, [5, 5, 10, 0]]
    assert np.asarray(totals[4]).tolist() == [[0, 10], [10, 0], [0, 0], [0, 0]]


def test_missing_values_share_the_cell_of_a_value_that_is_called_so() -> None:
    asked = [dv.Count("s"), dv.Proportion("s", "x")]
    assert _totals(pa.table(GAPS), asked, null_as="x", s=["x", "y"]) == [[15, 5, 0], 15]


MOMENTS = pa.array([datetime.datetime(2020, 1, 1, 12), datetime.datetime(2021, 1, 1)] * 5)


@pytest.mark.parametrize(
    ("column", "value", "rows"),
    [(pa.array([0.1, 0.2] * 5, pa.float32()), 0.1, 5), (pa.array([0.1, 0.2] * 5, pa.float32()), "1e-1", 5),
     (MOMENTS, "2020-01-01T12:00:00", 5), (MOMENTS, "2020-01-01 12:00", 5), (MOMENTS, "2021-01-01", 5),
     (MOMENTS.cast(pa.timestamp("us", "UTC")), "2020-01-01T13:00:00+01:00", 5),
     (MOMENTS.cast(pa.date32(), safe=False), "20200101", 5)],
)  # fmt: skip
def test_short_floats_and_moments_are_found_however_they_are_written(column: pa.Array, value: Any, rows: int) -> None:
    assert _totals(pa.table({"c": column}), dv.Proportion("c", value))[0] == rows


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [(MOMENTS, "noon", "date or time"), (MOMENTS, "2020-01-01T12:00:00Z", "date or time"),
     (WHOLE, "True", "whole number"), (WHOLE, 1.5, "whole number"), (WHOLE, "1e999999999", "whole number"),
     (WHOLE, "1e-999999999", "whole number"),
     (REAL, "1e999999999", "number"),
     (REAL, "x", "number"), (REAL, "nan", "number"), (TRUTH, 1, "truth value")],
)  # fmt: skip
def test_a_value_that_a_column_cannot_hold_is_refused(column: list[Any], value: Any, kind: str) -> None:
    with pytest.raises(dv.DivulgeError, match=f"`value` must be a {kind}, as all of column 'c'"):
        dv.publish(pa.table({"c": column}), dv.Proportion("c", value), guarantee="dp=1")


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning")
def test_spark_gives_the_same_counts(people: Any, spark: Any, tmp_path: Path) -> None:
    pq.write_table(people, tmp_path / "t.parquet")
    asked = [dv.Count("race", "sex"), dv.Mean("height", (1, 2.5), by="sex", step=0.01), dv.Sum("age", (0, 50)),
             dv.Quantiles("age", (0, 90)), dv.Proportion("sex", "f"), dv.Variance("age", (0, 90))]  # fmt: skip
    exact = []
    for engine in ("local", "spark"):
        for person, k in ((None, 1), ("who", 1)):
            asking = task(Publish(statistics=asked, guarantee="dp=1", values=VALUES, person=person, rows_per_person=k))
            made = ready(asking, tmp_path / "t.parquet", engine)
            exact.append(
                [t.tolist() for t in counted(made.table, made.plan.queries, made.values, Unit(person, k)).totals]
            )
    assert exact[0] == exact[2]
    assert exact[1] == exact[3]
    assert table_of(people).kind("height") == "real"


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning")
def test_the_rows_of_a_person_that_count_are_the_same_on_every_engine(spark: Any, tmp_path: Path) -> None:
    """Engines write 1e20 in ways of their own: what decides which rows count goes by the bits of a double."""
    rng = np.random.default_rng(5)
    sizes = np.append(
        rng.standard_normal(594) * 10.0 ** rng.integers(-12, 25, 594), [0.0, -0.0, np.nan, 1e20, 1e-7, 1.5]
    )
    who = pa.array((np.arange(600) // 6).astype(float) * 1e19)
    pq.write_table(pa.table({"who": who, "size": sizes, "group": np.arange(600) % 4}), tmp_path / "t.parquet")
    asked = [dv.Sum("size", (-1000, 1000), step="1/4"), dv.Proportion("group", 1)]
    for bounds in ({}, {"groups_per_person": 2, "rows_per_group": 1}):
        by = [dv.Count("group")] if bounds else []
        asking = task(Publish(statistics=[*asked, *by], guarantee="dp=1", person="who", rows_per_person=2,
                              values={"group": [0, 1, 2, 3]} if bounds else {}, **bounds))  # fmt: skip
        found = []
        for engine in ("local", "spark"):
            made = ready(asking, tmp_path / "t.parquet", engine)
            totals = counted(made.table, made.plan.queries, made.values, asking.unit).totals
            found.append([total.tolist() for total in totals])
        here, there = found
        assert here == there


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning")
def test_spark_means_the_same_values(spark: Any, tmp_path: Path) -> None:
    """Shares, counts and sums of every type, under settings of the session that change what SQL means."""
    zone, half = datetime.UTC, datetime.datetime(2020, 7, 1, 12, 0, 0, 500_000)
    long, more = (decimal.Decimal(f"12345678901234567890123456789.0{i}") for i in (1, 2))
    columns = {
        "then": pa.array([half.replace(tzinfo=zone), None], pa.timestamp("us", tz="Asia/Tokyo")),
        "clock": pa.array([half, None], pa.timestamp("us")),
        "price": pa.array([long, more], pa.decimal128(38, 2)),
        "whole": pa.array([2**63 + 5, 2**63 + 6], pa.uint64()),
        "short": pa.array([0.1, 0.2], pa.float32()),
        "text": ["a'b\\c", None],
        "a.b`c": [True, False],
        "divulge_place": ["x", "y"],
    }
    table = pa.table({name: pa.concat_arrays([pa.array(part)] * 25) for name, part in columns.items()})
    table = table.append_column("p", pa.array([i // 2 for i in range(50)]))
    table = table.append_column("size", pa.array([1e300, -math.inf] * 25))
    pq.write_table(table, tmp_path / "t.parquet")
    values = [str(half.replace(tzinfo=zone)), str(half), str(long), str(2**63 + 5), "0.1", "a'b\\c", "true", "x"]
    asked = [dv.Proportion(name, value) for name, value in zip(columns, values, strict=True)]
    ordered = [*asked, dv.Sum("size", (-3, 5), by="then", step="1/4"), dv.Count("clock")]
    odd = "spark.sql.parser.escapedStringLiterals"
    for setting in ("false", "true"):
        spark.conf.set(odd, setting)
        try:
            for person in (None, "p"):
                there, here = (
                    _totals(tmp_path / "t.parquet", ordered, person, engine, null_as="none",
                            then=[values[0], "none"], clock=[values[1], "none"])
                    for engine in ("spark", "local")
                )  # fmt: skip
                if person is None:
                    assert there == here == [*[25] * 8, [25 * 20, 25 * -12, 0], [25, 25, 0]]
                else:
                    assert [np.sum(part) for part in there[:8]] == [25] * 8
        finally:
            spark.conf.unset(odd)
    assert spark.catalog.listTables() == []


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal256(60, 2)])
def test_decimals_of_many_digits_are_told_apart(kind: Any) -> None:
    long, more, most = (decimal.Decimal(f"12345678901234567890123456789.0{i}") for i in (1, 2, 3))
    table = pa.table({"v": pa.array([long, more, most, long], kind)})
    assert dv.contingency(table, "v").to_dict() == {long: 2, more: 1, most: 1}
    for value, rows in ((long, 2), (most, 1), (f"{long}0", 2), ("1.005", 0), ("1e999999999", 0)):
        assert _totals(table, dv.Proportion("v", value)) == [rows], value
    assert _totals(table, dv.Count("v"), v=[str(long), str(more), str(most)]) == [[2, 1, 1, 0, 0]]


def test_a_result_is_a_value(people: Any) -> None:
    found = dv.publish(people, dv.Count("race"), guarantee="dp=1", values=VALUES)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert hash(again) == hash(found)
    assert found != dv.publish(people, dv.Count("sex"), guarantee="dp=1", values=VALUES)
    assert len(repr(found)) < 1500


def test_the_prior_of_a_record_comes_from_a_file_or_a_mapping(people: Any, tmp_path: Path) -> None:
    records = {("a", "f"): "3/10", ("a", "m"): "1/10", ("b", "f"): "2/10", ("b", "m"): "2/10", ("c", "f"): "1/10",
               ("c", "m"): "1/10"}  # fmt: skip
    lines = "".join(f"{race},{sex},{p}\n" for (race, sex), p in records.items())
    (tmp_path / "records.csv").write_text("race,sex,probability\n" + lines)
    (tmp_path / "sex.csv").write_text("sex,probability\nf,0.7\nm,0.3\n")
    asked = [dv.Count("race", "sex"), dv.Count("sex")]
    how = {"guarantee": "pml=0.9", "values": VALUES}
    whole = dv.publish(people, asked, record_prior=tmp_path / "records.csv", **how)
    assert whole.guarantees == dv.publish(people, asked, record_prior=records, **how).guarantees
    least = dv.publish(people, asked, record_prior="lower=1/10", **how)
    assert whole.queries[0]["scale"] < least.queries[0]["scale"]  # overlapping tables tell less than their losses allow
    one_column = dv.publish(people, asked, record_prior=tmp_path / "sex.csv", **how)
    assert one_column.prior == {"least": 0.3, "secret": "column 'sex'", "columns": ["sex"]}
    with pytest.raises(dv.DivulgeError, match="columns that group"):
        dv.publish(people, dv.Count("sex"), record_prior=tmp_path / "records.csv", **how)


def test_numbers_that_sql_does_not_know_are_counted() -> None:
    halves = pa.table({"x": pa.array(np.array([1.5, 2.0, 1.5], np.float16))})
    done = dv.publish(halves, dv.Count("x"), guarantee="dp=50", values_from_data=True)
    assert done.table.column("x").to_pylist() == ["1.5", "2"]
    assert done.table.column("value").to_pylist() == [2, 1]
    wide = pa.table({"x": pa.array([1, 2, 1]).cast(pa.decimal256(40, 0))})
    done = dv.publish(wide, dv.Count("x"), guarantee="dp=50", values_from_data=True)
    assert (done.table.column("x").to_pylist(), done.table.column("value").to_pylist()) == (["1", "2"], [2, 1])
