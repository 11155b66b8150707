"""Places by the forms: circles and odds of the library, what is refused, and points that keep the promise."""

import csv
import html
import json
import math
import random
import re
import runpy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from starlette.testclient import TestClient
from support import NEVER

import divulge as dv
from divulge.app.steps import places
from divulge.model.metrics.geography import Box
from divulge.releasing.records.ran.quarters import beliefs, read_quarters

from .visits import Visit, running, visiting

ASKED = {
    "lat": "lat", "lon": "lng", "far": "1", "odds": "3", "grid": "500m", "whose": "row", "south": "48.7", "west": "2.1",
    "north": "49", "east": "2.6", "person": "", "rows": "6",
}  # fmt: skip


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(7)
    rows = ["who,lat,lng,kind"]
    rows += [f"p{i // 3},{rng.uniform(48.75, 48.95):.5f},{rng.uniform(2.2, 2.5):.5f},{rng.choice('ab')}"
             for i in range(600)]  # fmt: skip
    rows += ["p200,48.6,2.3,a", "p201,48.8,2.7,b"]
    path = tmp_path_factory.mktemp("trips") / "trips.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def client() -> Iterator[TestClient]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def refusing(trips: Path) -> Iterator[Visit]:
    """One visit for all that is refused, which leaves nothing behind."""
    with visiting(trips) as visit:
        yield visit


def begun(client: TestClient, file: Path, **more: str) -> Visit:
    visit = Visit(client)
    visit.upload(file)
    assert "Or publish places" in visit.part("columns")
    assert visit.post("places", ASKED | more).status_code == 200
    return visit


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_circles_and_odds_are_those_of_the_law(client: TestClient, trips: Path) -> None:
    """Of points on the plane with density e^(-r |z|), so many lie within s; cells add half a diagonal."""
    page = begun(client, trips).part("places/found")
    flat = math.cos(math.radians(48.85)) / math.cos(math.radians(49))  # parallels in the north are shown longer
    rate = math.log(3) / (flat + 0.5 * math.sqrt(2))
    half, most = (float(x) for x in re.findall(r"within ([\d.]+) km", words(page)))
    for share, radius in ((0.5, half), (0.95, most)):
        s = rate * (radius - 0.5 * math.sqrt(2) / 2)
        assert 1 - (1 + s) * math.exp(-s) == pytest.approx(share, abs=0.02)
    rows = re.findall(r'<tr><td class="n">([\d.]+)</td><td class="n">([\d.,]+)</td><td class="n">([\d.]+)</td>', page)
    assert len(rows) == 5
    for far, factor, after in ([float(cell.replace(",", "")) for cell in row] for row in rows):
        odds = math.exp(rate * (far * flat + 0.5 * math.sqrt(2)))
        assert odds * 0.999 <= factor <= odds * 1.01
        assert (
            far != 1 or odds <= 3.0001 < 1.0001 * odds + 0.0001
        )  # what was asked, for true places, not for their cells
        assert after == pytest.approx(100 * odds / (odds + 99), rel=0.01)
    assert "2 of 602 places lie beyond the region" in words(page)
    figure = json.loads(html.unescape(re.findall(r'data-figure="([^"]*)"', page)[0]))
    assert [len(trace["x"]) for trace in figure["data"]] == [300, 300]


def test_what_goes_out_is_what_the_page_says(client: TestClient, trips: Path, tmp_path: Path) -> None:
    visit = begun(client, trips)
    half = float(re.findall(r"within ([\d.]+) km", words(visit.part("places/found")))[0])
    assert "Publish now" in visit.post("places/chosen").text
    assert "How hard must places" in visit.get("preview").text
    assert "--guarantee metric=" in html.unescape(visit.part("asked/found"))
    files = visit.papers(tmp_path, format="csv", keep=["kind"])
    receipt = dv.Receipt.read(files["receipt.json"])
    assert receipt.mechanisms[0].rate == places.rate_for(3, 1, "500m", (48.7, 2.1, 49, 2.6))
    with files["table"].open() as stream, trips.open() as given:
        out, truth = list(csv.DictReader(stream)), list(csv.DictReader(given))
    assert list(out[0]) == ["lat_perturbed", "lng_perturbed", "kind"]
    assert [row["kind"] for row in out] == [row["kind"] for row in truth]
    moved = np.array([[float(row["lat_perturbed"]), float(row["lng_perturbed"])] for row in out[:600]])
    true = np.array([[float(row["lat"]), float(row["lng"])] for row in truth[:600]])
    north, east = ((moved - true) * 111.2 * [1, math.cos(math.radians(48.85))]).T
    near = int((np.hypot(north, east) <= half).sum())
    s = float(receipt.mechanisms[0].rate) * half  # with half a diagonal of a cell, which a circle adds
    most = 1 - (1 + s) * math.exp(-s)
    assert stats.binom.ppf(NEVER, 600, 0.5) <= near <= stats.binom.isf(NEVER, 600, most)
    assert "Files for the public" in visit.part("release/found")


def test_all_points_of_a_person_share_the_promise(client: TestClient, trips: Path) -> None:
    visit = begun(client, trips, whose="some", person="who", rows="3")
    assert "all 3 points of a person" in words(visit.part("places/found"))


QUARTERS = "center; 48,85; 2,35; 9 000\neast\t48.86\t2.41\t900\nfarm; 48.72; 2.14; 12"
"""As people type it, in two languages."""


def test_what_a_point_says_of_quarters_stands_on_the_page(
    client: TestClient, trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = begun(client, trips, quarters=QUARTERS, whose="some", person="who", rows="3")
    page = visit.part("places/found")
    known = [["center", 48.85, 2.35, 9000], ["east", 48.86, 2.41, 900], ["farm", 48.72, 2.14, 12]]
    rate = places.rate_for(3, 1, "500m", (48.7, 2.1, 49, 2.6))
    before, after = beliefs(read_quarters(known), Box.of((48.7, 2.1, 49, 2.6)), Fraction(1, 2), float(rate))
    rows = re.findall(r'<th scope="row">(\w+)</th><td class="n">([\d.,]+)</td><td class="n">([\d.,]+)</td>', page)
    assert sorted(name for name, _, _ in rows) == ["center", "east", "farm"]
    rows = [(name, *(number.replace(",", "") for number in numbers)) for name, *numbers in rows]
    for name, lives, seen in rows:
        i = [one[0] for one in known].index(name)
        assert 1000 * before[i] <= float(lives) <= 1000 * before[i] * 1.01
        assert 1000 * after[i] <= float(seen) <= 1000 * after[i] * 1.01
    farm = next(float(seen) / float(lives) for name, lives, seen in rows if name == "farm")
    assert all(float(seen) / float(lives) <= farm for _, lives, seen in rows)
    mean = float(re.findall(r"lies within ([\d.]+) km of it in half", words(page))[0])
    assert mean < float(re.findall(r"within ([\d.]+) km of the point", words(page))[0])
    visit.post("places/chosen")
    assert "--quarters quarters.csv" in html.unescape(visit.part("asked/found"))
    files = visit.papers(tmp_path, format="csv")
    own = dv.Receipt.read(files["receipt.json"])
    assert [one.to_list() for one in own.mechanisms[0].quarters] == known
    assert "most surely" in " ".join(dv.statement(own).text().split())
    (tmp_path / "trips.csv").write_bytes(trips.read_bytes())
    (tmp_path / "quarters.csv").write_bytes(visit.get("paper/quarters.csv").content)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(files["script"]))
    assert dv.Receipt.read(tmp_path / "places_perturbed.receipt.json").mechanisms[0] == own.mechanisms[0]


@pytest.mark.parametrize("wrong", [
    {"quarters": "center; 48.85; 2.35"}, {"quarters": "center; x; 2.35; 1"}, {"quarters": "; 48.85; 2.35; 1"},
    {"quarters": "center; 48.85; 2.35; many"}, {"quarters": "center; 48.85; 200; 1"},
    {"lat": "lng"}, {"lat": "kind"}, {"south": "x"}, {"south": ""}, {"east": "999"}, {"odds": "1"}, {"odds": "nan"},
    {"grid": "5 parsecs"}, {"grid": "0m"}, {"grid": "100"}, {"south": "50", "north": "49"},
    {"west": "-170", "east": "170"}, {"quarters": "a; 48.85; 2.35; 0"}, {"quarters": "a; 48.8; 2.3; -1"},
    {"quarters": "a; 48.85; 2.35; 1\na; 48.86; 2.35; 1"},
    {"far": "0"}, {"whose": ""}, {"whose": "some", "person": "lat"}, {"whose": "some", "person": "who", "rows": "x"},
])  # fmt: skip
def test_what_cannot_be_is_refused_on_the_page(refusing: Visit, wrong: dict[str, str]) -> None:
    assert refusing.post("places", ASKED | wrong).status_code == 400
    assert refusing.get("places/found").status_code == 409


def test_what_the_library_refuses_is_told(client: TestClient, trips: Path, tmp_path: Path) -> None:
    visit = begun(client, trips, grid="0.001m")
    assert "take larger cells" in words(visit.part("places/found"))
    assert visit.post("places/chosen").status_code == 409
    path = tmp_path / "one.csv"
    path.write_text("lat,kind\n1,a\n2,b\n")
    visit = Visit(client)
    visit.upload(path)
    assert visit.get("places").status_code == 409
