"""A whole table by the forms: the best levels, levels that are moved, what is refused, and files that are true."""

import csv
import html
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import divulge as dv

from .visits import Visit, running


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(5)
    rows = ["age,town,sex,illness,who"]
    for i in range(600):
        illness = rng.choices(["none", "asthma", "<b>rare</b>"], [70, 25, 5])[0]
        rows.append(f"{rng.randint(18, 89)},{rng.choice(['01067', '01069', '04103', '04105'])},{rng.choice('fm')},"
                    f"{illness},p{i}")  # fmt: skip
    path = tmp_path_factory.mktemp("clinic") / "clinic.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def client() -> Iterator[TestClient]:
    with running() as found:
        yield found


def begun(client: TestClient, file: Path, **more: object) -> Visit:
    visit = Visit(client)
    visit.upload(file)
    asked = {"secret": "illness", "public": ["age", "town", "sex"], "whose": "row"} | more
    assert visit.post("secret", asked).status_code == 200
    return visit


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def cells(page: str) -> dict[str, list[str]]:
    """Return what stands beside each name of a row."""
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", page, re.DOTALL)
    return {html.unescape(name): [words(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", rest, re.DOTALL)]
            for name, rest in rows}  # fmt: skip


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def options(**more: object) -> dict[str, object]:
    return {"known": ["age", "town", "sex"], "secret": "illness", "guarantees": ["k=5"], "per_row": True} | more


def test_the_levels_are_the_best_and_the_numbers_those_of_the_library(client: TestClient, clinic: Path) -> None:
    visit = begun(client, clinic)
    assert "Find the finest levels" in visit.get("coarse").text
    page = visit.part("coarse/found")
    found = dv.generalize(clinic, **options())
    before = dv.assess(clinic, found.assessment.known, "illness")
    assert "none that keeps it is finer" in page
    told = cells(page)
    assert {name: int(told[name][1].split()[0]) for name in found.levels} == found.levels
    assert told["rows of the smallest group"] == [str(before.k), str(found.assessment.k)]
    assert told["groups"] == [str(before.groups), str(found.assessment.groups)]
    assert told["rows that stand alone with their known values"][0] == str(before.uniques * before.rows)
    assert "<b>rare" not in page
    figure = json.loads(html.unescape(re.findall(r'data-figure="([^"]*)"', page)[0]))
    sizes = Counter(tuple(row) for row in zip(*(found.rows.column(n).to_pylist() for n in found.levels), strict=True))
    small = sum(size for size in sizes.values() if size < 10)
    assert figure["data"][1]["y"][2] == pytest.approx(100 * small / 600)


def test_what_is_asked_is_kept_and_what_cannot_be_is_said(client: TestClient, clinic: Path) -> None:
    visit = begun(client, clinic)
    asked = {"k": "12", "times": "2,5", "answers": "2", "suppress": "4", "rows": "6"}
    assert visit.post("coarse", asked).status_code == 200
    told = cells(visit.part("coarse/found"))
    found = dv.generalize(clinic, **options(guarantees=["k=12", "beta=3/2", "distinct-l=2"], suppress="1/25"))
    assert {name: int(told[name][1].split()[0]) for name in found.levels} == found.levels
    assert int(told["rows that lose all known columns"][1]) == found.suppressed
    assert visit.post("coarse", asked | {"k": "601", "suppress": "0"}).status_code == 200
    assert "No level keeps what is asked" in visit.part("coarse/found")
    assert visit.post("coarse/chosen").status_code == 409
    for wrong in ({"k": "-1"}, {"k": "x"}, {"times": "0.5"}, {"answers": "1.5"}, {"suppress": "100"}):
        assert visit.post("coarse", asked | wrong).status_code == 400, wrong


def test_levels_that_are_moved_are_those_that_go_out(client: TestClient, clinic: Path, tmp_path: Path) -> None:
    visit = begun(client, clinic)
    visit.part("coarse/found")
    assert visit.post("coarse/levels", {"level:age": "0", "level:town": "0", "level:sex": "0"}).status_code == 200
    page = visit.part("coarse/found")
    assert "does not keep what is asked" in page
    assert "Take these levels" not in page
    own = {"age": 4, "town": 1, "sex": 0}
    visit.post("coarse/levels", {f"level:{name}": str(level) for name, level in own.items()})
    page = visit.part("coarse/found")
    assert "At these levels the table keeps" in page
    assert visit.post("coarse/levels", {"level:age": "99", "level:town": "0", "level:sex": "0"}).status_code == 200
    assert "at most" in words(visit.part("coarse/found"))
    assert visit.post("coarse/levels", {"level:age": "1"}).status_code == 400
    visit.post("coarse/levels", {f"level:{name}": str(level) for name, level in own.items()})
    visit.part("coarse/found")
    assert "Publish now" in visit.post("coarse/chosen").text
    assert "--levels age=4" in html.unescape(visit.part("asked/found"))
    files = visit.papers(tmp_path)
    receipt = json.loads(files["receipt.json"].read_text())
    assert receipt["levels"] == own


def test_who_reads_the_files_learns_what_the_page_says(client: TestClient, clinic: Path, tmp_path: Path) -> None:
    """An attacker with the table that went out, and the known columns of everybody, against the numbers of the page."""
    visit = begun(client, clinic)
    told = cells(visit.part("coarse/found"))
    assert "Publish now" in visit.post("coarse/chosen").text
    assert "coarser.csv" in visit.part("asked/found")
    files = visit.papers(tmp_path)
    rows = read(files["table"])
    assert list(rows[0]) == ["age", "town", "sex", "illness"]
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        groups.setdefault((row["age"], row["town"], row["sex"]), Counter())[row["illness"]] += 1
    assert min(group.total() for group in groups.values()) == int(told["rows of the smallest group"][1]) >= 5
    sure = max(Fraction(max(group.values()), group.total()) for group in groups.values())
    shown = float(told["largest share of an answer in a group, in 100"][1])
    assert 100 * sure <= shown <= 100 * sure * 1.01
    everybody = Counter(row["illness"] for row in rows)
    lift = max(
        Fraction(n * 600, group.total() * everybody[one]) for group in groups.values() for one, n in group.items()
    )
    assert lift <= float(told["times as frequent as in the whole table, at most"][1]) <= lift * 1.01
    assert everybody == Counter(row["illness"] for row in read(clinic))
    assert "not differentially private" in files["statement.txt"].read_text(encoding="utf-8")
    assert {"keeper.json", "script", "codebook.json"} <= files.keys()


def test_each_group_as_fine_as_it_can_be(client: TestClient, clinic: Path, tmp_path: Path) -> None:
    visit = begun(client, clinic)
    assert visit.post("coarse", {"k": "5", "local": "1", "suppress": "4"}).status_code == 400
    assert visit.post("coarse", {"k": "5", "local": "1"}).status_code == 200
    page = visit.part("coarse/found")
    found = dv.generalize(clinic, **options(recoding="local"))
    assert found.local is not None
    told = cells(page)
    shown = {name: told[name][0].partition(" /")[0].partition(" – ") for name in found.levels}
    assert {name: int(one[0]) for name, one in shown.items()} == found.local.finest
    assert {name: int(one[2] or one[0]) for name, one in shown.items()} == found.levels
    assert told["groups"][1] == str(found.assessment.groups)
    assert 'type="range"' not in page
    (saved,) = re.findall(r"saves more than ([\d.]+) in 100", page)
    assert 100 * found.local.gap <= float(saved) <= 101 * found.local.gap
    assert visit.post("coarse/levels", {"level:age": "1"}).status_code == 409
    assert "Publish now" in visit.post("coarse/chosen").text
    assert "--recoding local" in html.unescape(visit.part("asked/found"))
    files = visit.papers(tmp_path)
    assert Counter(row["illness"] for row in read(files["table"])) == Counter(row["illness"] for row in read(clinic))
    sizes = Counter((row["age"], row["town"], row["sex"]) for row in read(files["table"]))
    assert min(sizes.values()) == found.assessment.k >= 5
    assert "by group" in " ".join(files["statement.txt"].read_text(encoding="utf-8").split())


@pytest.mark.parametrize("local", ["", "1"])
def test_answers_are_drawn_for_all_groups_at_once(client: TestClient, clinic: Path, tmp_path: Path, local: str) -> None:
    """An attacker with the files that went out, and the shares of answers in each group, against what the page says."""
    visit = begun(client, clinic)
    for wrong in ("1", "0.5", "many"):
        assert visit.post("coarse", {"k": "5", "drawn": wrong}).status_code == 400, wrong
    assert visit.post("coarse", {"k": "5", "drawn": "1,5", "local": local}).status_code == 200
    told = cells(visit.part("coarse/found"))
    assert "makes no answer more than 1.5 times as likely" in visit.post("coarse/chosen").text
    asked = html.unescape(visit.part("asked/found"))
    assert "--perturb pml=0.405465" in asked
    files = visit.papers(tmp_path)
    rows = read(files["table"])
    assert list(rows[0]) == ["age", "town", "sex", "illness_perturbed"]
    (ran,) = json.loads(files["receipt.json"].read_text())["mechanisms"]
    c = {(s, y): Fraction(w, 2 ** ran["bits"]) for s, row in zip(ran["secrets"], ran["weights"], strict=True)
         for y, w in zip(ran["outcomes"], row, strict=True)}  # fmt: skip
    how = {"recoding": "local"} if local else {}
    true = dv.generalize(clinic, **options(**how)).rows.to_pylist()
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for row in true:
        groups.setdefault((row["age"], row["town"], row["sex"]), Counter())[row["illness"]] += 1
    assert Counter((row["age"], row["town"], row["sex"]) for row in rows) == {g: n.total() for g, n in groups.items()}
    whole = sum(groups.values(), Counter())
    beside, both = Fraction(0), Fraction(0)
    for inside in groups.values():
        for y in ran["outcomes"]:
            mean = sum(n * c[s, y] for s, n in inside.items()) / inside.total()
            for s, n in inside.items():
                beside = max(beside, c[s, y] / mean)
                both = max(both, Fraction(n * 600, inside.total() * whole[s]) * c[s, y] / mean)
    assert 1.2 < beside <= 1.5
    shown = float(told["the same, by group and drawn answer together"][1])
    assert both <= shown <= both * Fraction("1.01")
    assert f"more than {shown:g} times as likely as in the whole table" in words(asked)
    stays = sum(n * c[s, s] for s, n in whole.items()) / 600
    assert float(told["rows whose drawn answer is the true one, about, in 100"][1]) == pytest.approx(100 * stays, abs=1)
    said = " ".join(files["statement.txt"].read_text(encoding="utf-8").split())
    assert "no true answer more than 1.5 times as likely" in said
    assert "not differentially private" not in said


def test_people_with_several_rows_are_counted_once(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    rng = random.Random(1)
    who = [(f"p{i}", rng.choice("fm"), rng.randint(20, 60), rng.choice(["yes", "no"])) for i in range(100)]
    path.write_text("who,sex,age,illness\n" + "".join(f"{p},{s},{a},{x}\n" * 3 for p, s, a, x in who))
    visit = begun(client, path, public=["who", "sex", "age"], whose="some", person="who", rows="3")
    told = cells(visit.part("coarse/found"))
    assert int(told["rows of the smallest group"][1]) >= 15
    assert "who" not in told
    visit = begun(client, path, public=["sex", "age"], whose="one", person="who")
    assert visit.post("coarse", {"k": "5", "rows": "2"}).status_code == 200
    assert "rows that a person has" in words(visit.part("coarse/found"))
    assert visit.post("coarse", {"k": "5", "rows": "3"}).status_code == 200
    assert int(cells(visit.part("coarse/found"))["rows of the smallest group"][1]) >= 15


def test_steps_that_are_not_ready_are_refused(client: TestClient, clinic: Path) -> None:
    visit = Visit(client)
    visit.upload(clinic)
    assert visit.get("coarse").status_code == 409
    assert visit.post("coarse/chosen").status_code == 409
    visit = begun(client, clinic, public=[])
    assert "Tick the columns" in visit.get("coarse").text
    visit = begun(client, clinic)
    visit.part("coarse/found")
    visit.post("coarse/chosen")
    assert "How coarse must" in visit.get("preview").text
    assert visit.get("preview/found").status_code == 409
