"""What places, reports and whole tables come to before the click: held against what is drawn, and all on record."""

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.app.outlook import outlook
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.request import Request

TOWNS = 300


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    town = rng.choice(["x", "y"], TOWNS)
    found = pa.table({
        "lat": np.where(town == "x", 0.001, rng.uniform(0, 0.035, TOWNS)), "lon": rng.uniform(0, 0.035, TOWNS) / 9,
        "town": town, "word": [f"w{i}" for i in np.where(town == "x", 0, rng.integers(0, 8, TOWNS))],
    })  # fmt: skip
    pq.write_table(found, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def shown(asked: Request, table: Path, **more: Any) -> dict[str, Any]:
    return outlook(lambda *_: None, str(table), asked, 0.0, "", **more)


def asking(table: Path, ledger: Path, action: str = "release", **options: Any) -> Request:
    return Request.of(action, str(table), "out.csv", ledger=str(ledger), source_name="t", per_row=True, **options)


def largest_ratio(noise: MetricNoise, far: float) -> float:
    """Return the largest ratio of what two cells give a point, of all that hold places so far apart."""
    law, (across, _) = noise.matrix, noise.size
    places = [divmod(i, across) for i in range(len(law))]
    step = float(noise.step)
    near = [  # the nearest places of two cells, in km
        (i, j) for i, (u, a) in enumerate(places) for j, (v, b) in enumerate(places)
        if math.hypot(*(max(abs(one) - 1, 0) * step for one in (u - v, a - b))) <= far
    ]  # fmt: skip
    return max(float((law[i] / law[j]).max()) for i, j in near)


def test_places_with_all_on_record(table: Path, tmp_path: Path) -> None:
    """Points of two releases change odds by no more than is shown, and by more than one alone allows."""
    ledger, region = tmp_path / "l.sqlite", "0,0,0.036,0.036"
    places: dict[str, Any] = {"column": ["lat", "lon"], "grid": "1km", "box": region}
    asked = asking(table, ledger, guarantee="metric=0.5/km", keep=["town"], **places)
    first = shown(asked, table, far="1")
    assert (first["releases"], first["all"]) == (1, pytest.approx(first["odds"]))
    done = [dv.release(table, column=["lat", "lon"], grid="1km", box=region, guarantee=f"metric={rate}/km",
                       ledger=ledger, source_name="t", keep=(), per_row=True) for rate in ("0.25", "0.5")]  # fmt: skip
    found = shown(asked, table, far="1")
    assert found["releases"] == 3
    laws: list[Any] = [one.mechanisms[0] for one in done]
    ratios = [largest_ratio(one, 1.0) for one in laws]
    assert ratios[1] <= found["odds"] == pytest.approx(math.exp(0.5 * (1 + math.sqrt(2))), rel=1e-3)
    assert math.prod([*ratios, ratios[1]]) <= found["all"] == pytest.approx(found["odds"] ** 2.5, rel=1e-6)
    box = laws[0].box
    rows = pq.read_table(table).to_pylist()
    cells = [tuple(one) for one in box.cells([r["lat"] for r in rows], [r["lon"] for r in rows], Fraction(1)).tolist()]
    alike = Counter(cell for cell, row in zip(cells, rows, strict=True) if row["town"] == "x")
    assert found["share"] == pytest.approx(max(alike.values()) / sum(alike.values()))


def test_what_else_went_out_counts_for_places(table: Path, tmp_path: Path) -> None:
    """A release of a latitude by a matrix tells of the place at any distance."""
    ledger = tmp_path / "l.sqlite"
    asked = asking(table, ledger, guarantee="metric=0.5/km", keep=[], column=["lat", "lon"], grid="1km",
                   box="0,0,0.036,0.036")  # fmt: skip
    dv.release(table, column="lat", protocol="auto", guarantee="ldp=2", ledger=ledger, source_name="t", keep=(),
               per_row=True)  # fmt: skip
    found = shown(asked, table)
    assert found["releases"] == 2
    assert found["all"] == pytest.approx(found["odds"] * math.exp(2), rel=1e-6)


def test_reports_with_all_on_record_and_beside_columns(table: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    listed = [f"w{i}" for i in range(8)]
    asked = asking(table, ledger, column="word", protocol="randomized-response", guarantee="ldp=1", values=listed,
                   keep=["town"])  # fmt: skip
    for _ in range(2):
        dv.release(table, column="word", protocol="randomized-response", guarantee="ldp=1", values=listed, keep=(),
                   ledger=ledger, source_name="t", per_row=True)  # fmt: skip
    found = shown(asked, table)

    def held(before: float, times: int) -> float:  # three reports that all say the answer, by the law of the protocol
        own, other = (x / (math.e + 8) for x in (math.e, 1.0))  # of eight answers and "other"
        return before * own**times / (before * own**times + (1 - before) * other**times)

    assert found["releases"] == 3
    assert found["reported"] == pytest.approx(held(0.01, 1), rel=1e-6)
    assert held(0.01, 3) <= found["all"] + 1e-12
    assert found["all"] == pytest.approx(held(0.01, 3), rel=1e-6)
    rows = pq.read_table(table).to_pylist()
    whole, some = (Counter(row["word"] for row in rows if row["town"] in towns) for towns in ("xy", "y"))
    share = {word: max(count / sum(some.values()), word == "w0") for word, count in some.items()}  # all of town x: w0
    most = max(share, key=lambda word: share[word] / whole[word])
    assert found["raised"] == most
    assert found["beside"] == pytest.approx((share[most], held(share[most], 3)), rel=1e-6)
    assert (found["surest"], found["alone"]) == (1.0, 0)


def test_groups_beside_other_releases_have_no_bound(table: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    asked = asking(table, ledger, "generalize", known=["town"], secret="word", guarantees="k=5")
    found = shown(asked, table)
    rows = pq.read_table(table).to_pylist()
    assert (found["groups"], found["releases"]) == (min(Counter(row["town"] for row in rows).values()), 1)
    assert found["certainty"] == 1.0
    whole = sum(row["word"] == found["value"] for row in rows) / TOWNS
    assert found["risen"][0] == pytest.approx(whole)
    dv.generalize(table, "town", "word", tmp_path / "coarse.csv", guarantees="k=5", ledger=ledger, per_row=True,
                  source_name="t")  # fmt: skip
    assert shown(asked, table)["releases"] == 2
    assert len(dv.Ledger(ledger).entries()) == 1  # looking leaves nothing there
