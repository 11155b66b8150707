"""Places and numbers released with noise about a distance: law, levels, circles, papers, people and refusals."""

import datetime
import json
import math
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from support import NEVER, plausible

import divulge as dv
from divulge.errors import DivulgeError
from divulge.model.metrics.geography import Box, great_circle
from divulge.releasing.drawing.placed import PlacePart
from divulge.releasing.estimating import densities
from divulge.releasing.records.ran.placed import MetricNoise, line_radii, planar_radii
from divulge.releasing.records.ran.quarters import beliefs
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements import codebook
from divulge.reporting.statements.placed import PlaceFacts
from divulge.reporting.statements.voice import Voice

PARIS = (48.7, 2.1, 49.0, 2.6)
ASKED: dict[str, Any] = {"column": ["lat", "lon"], "guarantee": "metric=1/km", "grid": "500m", "box": PARIS}


def trips(rows: int = 60) -> Any:
    """Return made-up places and fares."""
    rng = np.random.default_rng(7)
    return pa.table({"lat": rng.uniform(48.75, 48.95, rows), "lon": rng.uniform(2.2, 2.5, rows),
                     "fare": rng.uniform(5, 95, rows), "who": [i // 2 for i in range(rows)]})  # fmt: skip


def test_a_place_goes_out_as_the_middle_of_a_cell_with_all_papers(tmp_path: Path) -> None:
    done = dv.release(trips(), tmp_path / "out.csv", per_row=True, keep=(), source_name="t", **ASKED)
    read = Receipt.read(done.papers["receipt.json"])
    noise = read.mechanisms[0]
    assert isinstance(noise, MetricNoise)
    assert noise == done.mechanisms[0]
    assert (noise.rate, noise.unit, noise.step) == (F(1), "km", F(1, 2))
    across = math.hypot(*(n - 1 for n in noise.size)) * 0.5
    assert read.guarantees["ldp"] == pytest.approx(across, rel=1e-12)
    assert F(read.guarantees["ldp"]) ** 2 >= F(1, 4) * sum((n - 1) ** 2 for n in noise.size)
    out = dv.open_table(tmp_path / "out.csv")
    ((lat, lon),) = [[np.array(batch.column(name).to_pylist(), dtype=float) for name in out.schema.names]
                     for batch in out.batches()]  # fmt: skip
    box = Box.of(PARIS)
    again = box.centers(box.cells(lat, lon, noise.step), noise.step)
    assert np.allclose(again, [lat, lon], atol=1e-9)
    book = json.loads(done.papers["codebook.json"].read_text())
    assert book["columns"][0]["metric"] == {"rate": "1", "unit": "km", "step": "1/2", "region": list(PARIS)}
    for language, words in (("en", "95 of 100 within 5.09 km"), ("de", "95 von 100 höchstens 5,09 km")):
        assert words in " ".join(dv.statement(read, language).text().split())
    assert '<svg viewBox="0 0' in dv.statement(read).html()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["mechanisms"][0]["metric"].update(rate="1/2"),
        lambda d: d["mechanisms"][0]["guarantees"].update(ldp=1.0),
        lambda d: d["guarantees"].update(ldp=1.0),
        lambda d: d["mechanisms"][0]["metric"].update(region=[48.7, 2.1, 48.6, 2.6]),
        lambda d: d["mechanisms"][0]["metric"].update(step="x"),
    ],
)
def test_a_receipt_that_was_edited_is_refused(change: Any) -> None:
    data = dv.release(trips(), per_row=True, **ASKED).to_dict()
    assert Receipt.from_dict(json.loads(json.dumps(data))).guarantees
    change(data)
    with pytest.raises(Exception, match=r"must|Invalid"):
        Receipt.from_dict(json.loads(json.dumps(data)))


def test_the_law_of_a_line_is_that_of_its_matrix() -> None:
    """On a line of three cells the clamped law is known: its level is the rate, and draws have it."""
    noise = MetricNoise.of(("x",), F(1, 2), "", F(2), (0.0, 6.0))
    q = math.exp(-1)
    tail = [q / (1 + q), q**2 / (1 + q)]
    matrix = np.array([[1 - tail[0], tail[0] - tail[1], tail[1]],
                       [tail[0], 1 - 2 * tail[0], tail[0]],
                       [tail[1], tail[0] - tail[1], 1 - tail[0]]])  # fmt: skip
    assert dv.MetricPrivacy.of(matrix, dv.Metric.line(3, step=2)).epsilon == pytest.approx(0.5, rel=1e-9)
    assert noise.guarantees["ldp"] == pytest.approx(2.0)
    n = 40_000
    for x in range(3):
        found = np.bincount(PlacePart(noise).drawn(np.full(n, x))[:, 0], minlength=3).tolist()
        for law, right in ((matrix[x], True), (matrix[2 - x if x != 1 else 0], False)):
            assert all(plausible(times, n, p) for times, p in zip(found, law, strict=True)) == right


@pytest.mark.parametrize("a", [0.3, 1.0, 4.0])
def test_circles_hold_what_they_say(a: float) -> None:
    at = np.arange(-200, 201)
    away = np.hypot(at[:, None], at[None, :]).ravel()
    mass = np.exp(-a * away) / np.exp(-a * away).sum()
    for radius, share in zip(planar_radii(a), (0.5, 0.95), strict=True):
        assert mass[away <= radius + 1e-9].sum() >= share
        assert mass[away < radius - 1e-9].sum() < share
    k = np.exp(-a * np.abs(at)) / np.exp(-a * np.abs(at)).sum()
    for radius, share in zip(line_radii(a), (0.5, 0.95), strict=True):
        assert k[np.abs(at) <= radius].sum() >= share - 1e-12
        assert radius == 0 or k[np.abs(at) < radius].sum() < share


def test_true_places_lie_within_the_circles() -> None:
    rows = 4000
    noise = MetricNoise.of(("lat", "lon"), F(1), "km", F(1, 2), PARIS)
    box = Box.of(PARIS)
    rng = np.random.default_rng(1)
    lat, lon = rng.uniform(48.72, 48.98, rows), rng.uniform(2.12, 2.58, rows)
    out = dv.noisy_places(lat, lon, "1/km", grid="500m", box=PARIS)
    along, up = box.scale
    off = np.hypot((out[0] - lat) * up, (out[1] - lon) * along)
    for radius, share in zip(noise.radii, (0.5, 0.95), strict=True):
        assert (off > radius).sum() <= stats.binom.isf(NEVER, rows, 1 - share)
        assert (off <= radius * 0.6).mean() < share


def test_people_share_the_rate_and_the_ledger_adds_up(tmp_path: Path) -> None:
    asked = ASKED | {"person": "who", "rows_per_person": 2, "ledger": tmp_path / "l.sqlite", "source_name": "t"}
    first = dv.release(trips(), **asked)
    noise = first.mechanisms[0]
    assert isinstance(noise, MetricNoise)
    assert noise.rate == F(1, 2)
    assert first.guarantees["ldp"] == pytest.approx(2 * noise.guarantees["ldp"])
    second = dv.release(trips(), **asked)
    assert second.together is not None
    assert second.together["guarantees"]["ldp"] == pytest.approx(2 * first.guarantees["ldp"])
    one = dv.release(
        trips().set_column(0, "lat", [[48.8] * 60]).set_column(1, "lon", [[2.3] * 60]),
        **(asked | {"rows_per_person": None, "one_answer": True, "ledger": None, "keep": ()}),
    ).table
    pairs = list(zip(one["lat_perturbed"].to_pylist(), one["lon_perturbed"].to_pylist(), strict=True))
    assert pairs[0::2] == pairs[1::2]
    assert len(set(pairs)) > 10


def test_the_trace_of_a_person_adds_up_point_by_point() -> None:
    """Every trace, and all reports of it, of a clamped law in fractions that halves with each cell."""
    matrix = [[F(2, 3), F(1, 6), F(1, 6)], [F(1, 3), F(1, 3), F(1, 3)], [F(1, 6), F(1, 6), F(2, 3)]]
    assert all(sum(row) == 1 for row in matrix)
    for n in (2, 3):
        traces = list(product(range(3), repeat=n))
        law = {x: [math.prod(matrix[a][b] for a, b in zip(x, y, strict=True)) for y in traces] for x in traces}
        for x, z in product(traces, repeat=2):
            apart = sum(abs(a - b) for a, b in zip(x, z, strict=True))
            most = max(a / b for a, b in zip(law[x], law[z], strict=True))
            assert most == 2**apart  # reached, and so by no smaller level
        home, away, once = (0,) * n, (1,) * n, (1, *(0,) * (n - 1))
        assert max(a / b for a, b in zip(law[home], law[away], strict=True)) == 2**n
        assert max(a / b for a, b in zip(law[home], law[once], strict=True)) == 2
        sums = [[sum(abs(a - b) for a, b in zip(x, z, strict=True)) for z in traces] for x in traces]
        level = dv.MetricPrivacy.of([law[x] for x in traces], dv.Metric.of(sums)).epsilon
        assert level == pytest.approx(math.log(2), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3])
def test_a_statement_says_what_a_whole_trace_tells(n: int) -> None:
    """The promise per km is that of a spot in all rows; a row alone has its n-th part."""
    asked = ASKED | {"guarantee": "metric=1.5/km", "person": "who", "rows_per_person": n}
    done = dv.release(trips(), keep=(), **asked)
    assert done.mechanisms[0].rate * n == F(3, 2)
    flat = math.cos(math.radians(48.85)) / math.cos(math.radians(49)) + 1e-6  # parallels in the north are shown longer
    once, all_ = (f"{math.ceil(math.exp(1.5 * flat / k) * 100) / 100:.2f}".rstrip("0") for k in (n, 1))
    text = " ".join(dv.statement(done).text().split())
    assert f"in a single row by {once} times for each 1 km from it to another cell" in text
    assert f"one that they have in all {n} by {all_} times" in text
    german = " ".join(dv.statement(done, "de").text().split())
    assert f"eine, die er in allen {n} hat, mit dem {all_.replace('.', ',')}-Fachen" in german
    small, large = done.mechanisms[0].radii_of_mean(n)
    assert (
        f"in all {n} rows, far from the edge of the region, it lies within {math.ceil(small * 100) / 100:g} km" in text
    )
    book = codebook.as_data(done, Voice("en"))["columns"][0]
    assert book["trace"] == {"rows": n, "circles_of_mean": [small, large]}
    assert small < done.mechanisms[0].radii[0]
    assert f"the mean of {n} of them" in book["means"]
    alone = dv.release(trips(), keep=(), **(asked | {"rows_per_person": 1}))
    assert "added up row by row" not in " ".join(dv.statement(alone).text().split())


def test_a_promise_about_a_row_says_what_people_with_several_rows_risk() -> None:
    """Beside --person too, where --per-row was said: e^(2 rate) and e^(6 rate) for each km between cells."""
    for more in ({}, {"person": "who"}):
        done = dv.release(trips(), keep=(), per_row=True, **more, **(ASKED | {"guarantee": "metric=0.5/km"}))
        text = " ".join(dv.statement(done).text().split())
        assert "about a person with 2 rows the odds may change by 2.73 times for each 1 km between two cells" in text
        assert "with 6 rows by 20.3 times" in text
        assert "mit 6 Zeilen auf das 20,3-Fache" in " ".join(dv.statement(done, "de").text().split())


def test_odds_of_true_places_count_cells_and_the_flat_map() -> None:
    """Of places anywhere in a wide region in the north, no two are told apart more than the statement says."""
    box = Box.of((59.75, 5.0, 60.25, 8.0))
    noise = MetricNoise.of(("lat", "lon"), F(1, 3), "km", F(1, 5), (59.75, 5.0, 60.25, 8.0))
    facts = PlaceFacts(noise, 1)
    rng = np.random.default_rng(3)
    lat, lon = 60.25 - rng.uniform(0, 0.01, 4000), rng.uniform(5, 8, 4000)
    cells = box.cells(lat, lon, noise.step).astype(float)
    over, flat = 0, 0
    for i in range(0, 4000, 2):
        apart = great_circle(lat[i], lon[i], lat[i + 1], lon[i + 1])
        odds = math.exp(float(noise.a) * math.hypot(*(cells[i] - cells[i + 1])))
        assert odds <= facts.odds(F(apart))
        over += odds > math.exp(apart / 3)
        flat += odds > math.exp((apart + 0.2 * math.sqrt(2)) / 3)
    assert over > 500  # the cells count
    assert flat > 500  # and so does the map


@pytest.mark.parametrize("grid", ["13km", "20km"])
def test_a_model_of_a_trace_takes_the_place_of_the_sum(grid: str, tmp_path: Path) -> None:
    """All points of three rows by listing them: Bayes' rule over all traces of three cells that follow each other."""
    moves = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    states = [0, 1, 3]
    lines = ["," + ",".join(map(str, states)), *(f"{x}," + ",".join(map(str, row)) for x, row in
                                                 zip(states, moves.tolist(), strict=True))]  # fmt: skip
    (tmp_path / "moves.csv").write_text("\n".join(lines) + "\n")
    asked = ASKED | {"guarantee": "metric=0.2/km", "grid": grid, "person": "who", "rows_per_person": 2}
    done = dv.release(trips(), keep=(), chain=tmp_path / "moves.csv", **asked)
    noise = done.mechanisms[0]
    assert Receipt.from_dict(json.loads(done.to_json())) == done
    rows = noise.matrix[states]
    joint = np.einsum("a,ab,ay,bz->abyz", np.full(3, 1 / 3), moves, rows, rows)
    worst = 0.0
    for axis in (0, 1):
        held = joint.sum(axis=1 - axis)
        seen = held / held.sum(axis=(1, 2), keepdims=True)
        worst = max(worst, float((seen[:, None] / seen[None]).max()))
    said = " ".join(dv.statement(done).text().split())
    found = float(said.split("in one of the rows, by more than ")[1].split(" times")[0])
    assert worst <= found <= worst * 1.01
    assert worst < math.exp(2 * noise.guarantees["ldp"])


def test_a_model_of_a_trace_goes_with_few_cells() -> None:
    with pytest.raises(DivulgeError, match="`chain` must go with at most 25 cells; their number is 4,958"):
        dv.release(trips(), person="who", rows_per_person=2, chain=[[1.0]], **ASKED)
    line = MetricNoise.of(("x",), F(1, 2), "", F(2), (0.0, 6.0))
    assert np.allclose(line.matrix.sum(axis=1), 1)
    assert dv.MetricPrivacy.of(line.matrix, dv.Metric.line(3, step=2)).epsilon == pytest.approx(0.5, rel=1e-9)


def test_one_number_and_a_time() -> None:
    done = dv.release(trips(), column="fare", guarantee="metric=0.1", grid="1", box="0,100", per_row=True, keep=())
    assert set(np.array(done.table["fare_perturbed"]) % 1) == {0.5}
    hours = dv.release(trips(), column="fare", guarantee="metric=1/h", grid="15min", box=(0, 24), per_row=True, keep=())
    assert hours.mechanisms[0].to_dict()["metric"]["unit"] == "h"
    assert "1/h" in dv.statement(hours).text()


def test_densities_are_estimated_back() -> None:
    """Two thirds live at one spot, and one third at another, 6 km away."""
    rows = 6000
    source = pa.table({"lat": [48.85 if i % 3 else 48.904 for i in range(rows)], "lon": [2.35] * rows})
    done = dv.release(source, per_row=True, **(ASKED | {"grid": "2km"}))
    found = dv.estimate_frequencies(done.table, done, top=20)
    assert found.biased
    box = Box.of(PARIS)
    share = {}
    for name, lat in (("most", 48.85), ("others", 48.904)):
        at = np.array([math.hypot((a - lat) * box.scale[1], (b - 2.35) * box.scale[0]) for a, b in found.values])
        share[name] = found.frequency[at < 3].sum()
    assert 0.6 < share["most"] < 0.72
    assert 0.27 < share["others"] < 0.4
    with pytest.raises(DivulgeError, match="left out for places"):
        dv.estimate_frequencies(done.table, done, values=[1])


def test_unblurring_goes_both_ways_through_the_matrix() -> None:
    """On a line of cells the rounds are those of expectation maximization with the clamped matrix."""
    a, n, far = 0.7, 6, 60
    at = np.arange(-far, far + 1)
    law = np.exp(-a * np.abs(at)) / np.exp(-a * np.abs(at)).sum()
    matrix = np.zeros((n, n))
    for x in range(n):
        np.add.at(matrix[x], np.clip(x + at, 0, n - 1), law)
    counts = np.array([5.0, 0, 9, 30, 2, 14])
    q, p = counts / counts.sum(), np.full(n, 1 / n)
    for _ in range(densities.ROUNDS):
        p = p * (matrix @ (q / (p @ matrix)))
    reach = densities.unblurred(counts[None, :], a)[0]
    assert np.abs(reach - p).max() < 1e-6


@pytest.mark.parametrize(("language", "said"), [("en", "may have left some where they were"), ("de", "um nichts")])
def test_a_date_may_stay_where_it_was_and_the_statement_says_so(language: str, said: str) -> None:
    """At 2 for each day three of four dates stay; no statement says that none is the true one."""
    days = pa.array(np.arange(19_800, 20_000, dtype=np.int32), pa.date32())
    done = dv.release(pa.table({"day": days}), column="day", guarantee="metric=2/d", grid="1d",
                      box="2024-01-01,2025-01-01", per_row=True)  # fmt: skip
    assert sum(a == b for a, b in zip(days.to_pylist(), done.table[0].to_pylist(), strict=True)) > 80
    assert said in " ".join(dv.statement(done, language=language).text().split())


def test_a_request_is_read_back(tmp_path: Path) -> None:
    asked = dv.Request.of("release", "t.csv", "o.csv", column=["lat", "lon"], guarantee="metric=2/mi", grid="500m",
                          box="48.7,2.1,49,2.6")  # fmt: skip
    assert "--guarantee metric=" in asked.command()
    assert "--grid 500m --box 48.7,2.1,49,2.6" in asked.command()
    assert dv.Request.from_dict(asked.to_dict()) == asked


BAD: list[tuple[dict[str, Any], str]] = [
    ({"box": None}, "be given with grid"),
    ({"grid": None}, "be given with box"),
    ({"grid": "500"}, "with its unit"),
    ({"grid": "1h"}, "with its unit"),
    ({"grid": "0m"}, "with its unit"),
    ({"guarantee": "metric=1"}, "be about lengths"),
    ({"guarantee": "metric=1/h"}, "be about lengths"),
    ({"guarantee": "metric=0/km"}, "above 0"),
    ({"guarantee": "metric=-1/km"}, "must"),
    ({"guarantee": "metric=nan/km"}, "must"),
    ({"guarantee": "ldp=1"}, "be one of distances"),
    ({"guarantee": ["metric=1/km", "ldp=1"]}, "be one of distances"),
    ({"box": (49, 2.1, 48.7, 2.6)}, "south below north"),
    ({"box": "48.7,2.1"}, "south below north"),
    ({"box": (0, 0, 60, 60)}, "flat map"),
    ({"grid": "1m", "guarantee": "metric=0.0001/km"}, "side times epsilon"),
    ({"column": ["lat", "lon", "fare"]}, "latitude and longitude, or one number"),
    ({"column": "fare"}, "LOW,HIGH"),
    ({"protocol": "auto"}, "`protocol` must be left out with a grid"),
    ({"grid": None, "box": None}, "without distances where no cells"),
    ({"mechanism": "identity"}, "left out"),
    ({"prior": "uniform"}, "left out"),
    ({"column": ["lon", "who"]}, "Nothing was published"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_what_does_not_go_with_distances_is_refused(wrong: dict[str, Any], said: str) -> None:
    source = trips().set_column(3, "who", [["x"] * 60])
    with pytest.raises(DivulgeError, match=said):
        dv.release(source, **(ASKED | {"per_row": True} | wrong))


@pytest.mark.parametrize("lat", [90.5, -91.0, math.nan, math.inf])
def test_a_place_that_is_none_is_counted_and_not_named(lat: float) -> None:
    source = pa.table({"lat": [48.8, lat], "lon": [2.3, 2.4]})
    with pytest.raises(DivulgeError, match="Nothing was published") as caught:
        dv.release(source, per_row=True, **ASKED)
    assert str(lat) not in str(caught.value).replace("nan", str(lat)) or math.isnan(lat)
    with pytest.raises(DivulgeError, match="missing"):
        dv.release(pa.table({"lat": [48.8, None], "lon": [2.3, 2.4]}), per_row=True, **ASKED)


QUARTERS = [
    ["center", 48.85, 2.35, 900],
    ["east", 48.86, 2.41, 90],
    ["north", 48.95, 2.36, 9],
    ["farm", 48.72, 2.14, 1],
]


def test_what_a_point_says_of_quarters_is_the_most_that_any_cell_does(tmp_path: Path) -> None:
    """Against Bayes' rule at every cell of the region and beyond, with the weights of the noise."""
    lines = [",".join(map(str, one)) for one in [("quarter", "lat", "lon", "people"), *QUARTERS]]
    (tmp_path / "quarters.csv").write_text("\n".join(lines) + "\n")
    done = dv.release(trips(), per_row=True, quarters=tmp_path / "quarters.csv", **ASKED)
    noise = done.mechanisms[0]
    assert Receipt.from_dict(json.loads(done.to_json())).mechanisms[0] == noise
    names = [one[0] for one in QUARTERS]
    assert [one.name for one in noise.quarters] == names
    cells = noise.box.cells([one[1] for one in QUARTERS], [one[2] for one in QUARTERS], noise.step)
    shares = np.array([one[3] for one in QUARTERS]) / 1000
    x, y = (axis.ravel() for axis in np.meshgrid(*(np.arange(-20, n + 20) for n in noise.size)))
    weights = shares * np.exp(-0.5 * np.hypot(x[:, None] - cells[:, 0], y[:, None] - cells[:, 1]))
    most = (weights / weights.sum(axis=1, keepdims=True)).max(axis=0)
    before, after = beliefs(noise.quarters, noise.box, noise.step, 1.0)
    assert before == pytest.approx(shares)
    assert after == pytest.approx(most, rel=1e-12)
    said = " ".join(dv.statement(done).text().split())
    assert names[int(np.argmax(after))] in said.split("most surely:")[1].split()[:20]
    assert "Viertel" in dv.statement(done, "de").text()


@pytest.mark.parametrize(
    ("quarters", "message"),
    [
        ([["a", 91, 0, 1]], "degrees on the globe"),
        ([["a", 48.8, 2.3, -1]], "people from 0 on"),
        ([["a", 48.8, 2.3, math.nan]], "people from 0 on"),
        ([["a", 48.8, 2.3, 0]], "have people in one at least"),
        ([["a", 48.8, 2.3, 1], ["a", 48.9, 2.3, 1]], "a name of its own each"),
        ([["a", 48.8]], "number 1"),
    ],
)
def test_quarters_that_are_none_are_refused(quarters: Any, message: str) -> None:
    with pytest.raises(DivulgeError, match=message):
        dv.release(trips(), per_row=True, quarters=quarters, **ASKED)


def test_quarters_come_with_places() -> None:
    with pytest.raises(DivulgeError, match="`quarters` must come with latitude and longitude"):
        dv.release(
            trips(), per_row=True, column="fare", guarantee="metric=0.1", grid="1", box="0,200", quarters="q.csv"
        )
    with pytest.raises(DivulgeError, match="`box` must be given with grid"):
        dv.release(trips(), per_row=True, column=["lat", "lon"], guarantee="metric=1/km", quarters="q.csv")


def days(*texts: str) -> Any:
    return pa.table({"day": list(texts), "who": list(range(len(texts)))})


DAYS: dict[str, Any] = {"column": "day", "guarantee": "metric=0.1/d", "grid": "1d", "box": "2024-01-01,2025-01-01"}


@pytest.mark.parametrize("kind", [str, datetime.date.fromisoformat, datetime.datetime.fromisoformat])
def test_dates_go_out_as_dates(kind: Any) -> None:
    """Hardly any noise leaves them where they were; what lies outside goes to the ends."""
    texts = ["2024-03-01", "2024-02-29", "2023-05-05", "2026-01-01", "2024-12-31"]
    source = pa.table({"day": [kind(text) for text in texts]})
    done = dv.release(source, per_row=True, **(DAYS | {"guarantee": "metric=1000/d"}))
    ends = [datetime.date.fromisoformat(text) for text in (*texts[:2], "2024-01-01", "2024-12-31", texts[4])]
    assert done.table["day_perturbed"].to_pylist() == ends
    assert done.mechanisms[0].size == (366,)


def test_times_go_out_as_times_and_are_estimated_back(tmp_path: Path) -> None:
    texts = ["2024-06-01 09:20", "2024-06-01 09:50"] * 200
    asked = DAYS | {"guarantee": "metric=1/h", "grid": "15min", "box": ("2024-06-01", "2024-06-02")}
    done = dv.release(days(*texts), tmp_path / "out.csv", per_row=True, keep=(), source_name="t", **asked)
    read = Receipt.read(done.papers["receipt.json"])
    assert read.mechanisms[0] == done.mechanisms[0]
    assert read.mechanisms[0].to_dict()["metric"]["calendar"] == "time"
    found = dv.estimate_frequencies(tmp_path / "out.csv", read)
    assert found.values[0].minute % 15 == 7
    near = sum(share for moment, share in zip(found.values, found.frequency.tolist(), strict=True)
               if 8 <= moment.hour <= 10)  # fmt: skip
    assert near > 0.8
    text = " ".join(dv.statement(read).text().split())
    assert "between two cells of true times change by more than 2.72 times for each 1 h between their middles" in text
    assert "cells of 0.25 h, which were laid over the region from 2024-06-01 00:00:00 to 2024-06-02 00:00:00" in text


def test_a_statement_about_dates_counts_in_days() -> None:
    done = dv.release(days("2024-03-01", "2024-02-29"), keep=(), person="who", rows_per_person=2, **DAYS)
    text = " ".join(dv.statement(done).text().split())
    assert "change by more than 1.11 times for each 1 d between their middles" in text
    assert "between two true ones that are 1 d apart may have changed by 1.5 times" in text  # e^0.4, two days of cells
    assert "from 2024-01-01 to 2025-01-01" in text
    assert "je 1 d zwischen ihren Mitten" in " ".join(dv.statement(done, "de").text().split())
    data = json.loads(done.to_json())
    data["mechanisms"][0]["metric"]["region"] = [0.0, 1e200]
    with pytest.raises(DivulgeError, match="must"):
        Receipt.from_dict(data)


def test_the_time_of_day_may_be_written_with_a_colon() -> None:
    source = pa.table({"hour": ["13:45", "9.5", "00:00"]})
    done = dv.release(source, column="hour", guarantee="metric=1000/h", grid="15min", box=(0, 24), per_row=True)
    assert done.table["hour_perturbed"].to_pylist() == [13.875, 9.625, 0.125]


def test_densities_of_one_number_are_estimated_back() -> None:
    source = pa.table({"fare": [20.5] * 3000 + [80.5] * 1000})
    done = dv.release(source, column="fare", guarantee="metric=1", grid="1", box="0,100", per_row=True)
    found = dv.estimate_frequencies(done.table, done)
    share = sum(p for x, p in zip(found.values, found.frequency.tolist(), strict=True) if 15 < x < 26)
    assert share == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"guarantee": "metric=1/year", "grid": "1year"}, "go with a rate per h or d"),
        ({"box": "2025-01-01,2024-01-01"}, "and a later one"),
        ({"box": "2024-01-01,tomorrow"}, "LOW,HIGH"),
        ({"grid": "1"}, "in h of the guarantee"),
        ({"grid": "1s"}, "at most 1,000,000 cells"),
        ({"column": "who"}, "Nothing was published"),
    ],
)
def test_what_is_no_date_is_refused(wrong: dict[str, Any], said: str) -> None:
    source = pa.table({"day": ["2024-01-01"], "who": ["x"]})
    with pytest.raises(DivulgeError, match=said):
        dv.release(source, per_row=True, **(DAYS | wrong))


def test_numbers_that_doubles_cannot_tell_apart_are_refused() -> None:
    """Of numbers near 10^15 doubles know eighths: cells of a thousandth would be told apart by rounding alone."""
    asked: dict[str, Any] = {"column": "fare", "guarantee": "metric=1", "grid": "0.001", "per_row": True}
    with pytest.raises(DivulgeError, match="a billion times what doubles tell apart"):
        dv.release(trips(), box=(1e15, 1e15 + 100), **asked)
    assert dv.release(trips(), box=(0, 100), **asked).rows == 60
