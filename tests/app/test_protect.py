"""One column out, another protected, by the forms: the number before the click is that of the receipt, of the rows."""

import csv
import html
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import divulge as dv

from .visits import Visit, running

ASKED = {"column": "town", "protect": "faith", "times": "1.3", "purpose": "statistics", "whose": "row", "person": ""}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 people whose town tells of their faith; some have no town on file, some no faith."""
    rng = random.Random(3)
    rows = ["who,town,faith,age,long"]
    for i in range(600):
        town = rng.choice("abcd")
        faith = rng.choices(["u", "v", "w", ""], [5, 2 + 3 * (town in "ab"), 1 + 4 * (town == "d"), 0.5])[0]
        rows.append(f"p{i // 2},{town if rng.random() < 0.97 else ''},{faith},{'xyz'[(i + (faith == 'u')) % 3]},{i}")
    path = tmp_path_factory.mktemp("faith") / "faith.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with running() as found:
        yield found


def begun(client: TestClient, file: Path, **more: str) -> Visit:
    visit = Visit(client)
    visit.upload(file)
    assert "protect another of which it tells" in visit.part("columns")
    assert visit.post("protect", ASKED | more).status_code == 200
    return visit


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def most(pairs: list[tuple[str, str]], channel: dict[str, dict[str, Fraction]]) -> Fraction:
    """Return the largest P(s | y) / P(s) of pairs (x, s), where y is drawn from a channel of x, by summing up."""
    both, out = defaultdict[tuple[str, str], Fraction](Fraction), defaultdict[str, Fraction](Fraction)
    values = Counter(s for _, s in pairs)
    for (x, s), n in Counter(pairs).items():
        for y, p in channel[x].items():
            both[s, y] += n * p
            out[y] += n * p
    return max(n * len(pairs) / (out[y] * values[s]) for (s, y), n in both.items() if out[y])


@pytest.mark.parametrize("purpose", ["statistics", "record", "information"])
def test_the_number_before_the_click_is_the_one_that_holds(
    client: TestClient, people: Path, tmp_path: Path, purpose: str
) -> None:
    """By hand, from the rows and the weights of the receipt, what the column makes of every faith."""
    visit = begun(client, people, purpose=purpose)
    said = words(visit.part("protect/found"))
    plain, rise, fall = map(float, re.findall(r"up to ([\d.]+) times as likely; as it .* at most ([\d.]+) times, and "
                                              r"less likely by a factor of at most ([\d.]+)\.", said)[0])  # fmt: skip
    assert "Publish now" in visit.post("protect/chosen").text
    files = visit.papers(tmp_path, format="csv")
    receipt = dv.Receipt.read(files["receipt.json"])
    ran: Any = receipt.mechanisms[0]
    channel = ran.channel.exact
    table = {x: dict(zip(channel.outcomes, row, strict=True))
             for x, row in zip(channel.secrets, channel.matrix, strict=True)}  # fmt: skip
    pairs = [(row["town"] or "missing", row["faith"] or "missing") for row in rows_of(people)]
    true = most(pairs, table)
    assert true <= Fraction(13, 10)
    assert float(true) <= rise * (1 + 1e-12) <= float(true) * 1.01
    unchanged = most(pairs, {x: {x: Fraction(1)} for x in table})
    assert float(unchanged) <= plain <= float(unchanged) * 1.01
    assert receipt.about is not None
    assert math.exp(receipt.about["guarantees"]["pmc"]) == pytest.approx(fall, rel=0.01)
    out = rows_of(files["table"])
    assert list(out[0]) == ["town_perturbed"]
    assert files["table"].read_text().count("\n") == 601  # with blank lines for those without a town
    statement = words(files["statement.txt"].read_text())
    stated = re.findall(r"no value of “faith” becomes more than ([\d.]+) times", statement)
    assert float(true) <= float(stated[0]) <= 1.3


def test_what_goes_out_beside_is_told(client: TestClient, people: Path, tmp_path: Path) -> None:
    """Age tells of faith as well: for the keeper by how much, in the statement that it is not covered."""
    visit = begun(client, people)
    visit.part("protect/found")
    visit.post("protect/chosen")
    assert 'value="faith"' not in visit.get("release").text
    visit.post("asked", {"format": "csv", "keep": "age"})
    beside = float(re.findall(r"as they are, age, alone make a value of “faith” up to ([\d.]+) times",
                              words(visit.part("asked/found")))[0])  # fmt: skip
    pairs = [(row["age"], row["faith"]) for row in rows_of(people)]
    true = float(most(pairs, {x: {x: Fraction(1)} for x in "xyz"}))
    assert true <= beside <= 1.01 * true
    files = visit.papers(tmp_path, format="csv", keep=["age", "faith"])
    assert list(rows_of(files["table"])[0]) == ["town_perturbed", "age"]
    assert "does not cover what columns that were not changed tell of “faith”" in words(
        files["statement.txt"].read_text()
    )


def test_a_person_with_two_rows_of_one_answer_is_drawn_once(client: TestClient, people: Path, tmp_path: Path) -> None:
    alike = tmp_path / "alike.csv"
    lines = people.read_text().splitlines()
    alike.write_text("\n".join([lines[0], *(line for line in lines[1::2] for _ in range(2))]) + "\n")
    visit = begun(client, alike, whose="one", person="who")
    visit.part("protect/found")
    visit.post("protect/chosen")
    files = visit.papers(tmp_path, format="csv")
    own = dv.Receipt.read(files["receipt.json"])
    assert own.protects["one_answer"]
    drawn = [row["town_perturbed"] for row in rows_of(files["table"])]
    assert drawn[::2] == drawn[1::2]


WRONG = (
    {"column": "faith"}, {"column": ""}, {"protect": "nothing"}, {"times": "1"}, {"times": "nan"}, {"times": "x"},
    {"times": "1e9"}, {"purpose": "fun"}, {"whose": ""}, {"whose": "one"}, {"whose": "one", "person": "town"},
)  # fmt: skip


def test_what_cannot_be_is_refused_on_the_page(client: TestClient, people: Path) -> None:
    visit = Visit(client)
    visit.upload(people)
    for wrong in WRONG:
        assert visit.post("protect", ASKED | wrong).status_code == 400, wrong
    assert visit.get("protect/found").status_code == 409
    assert visit.post("protect/chosen").status_code == 409


def test_one_column_protects_none(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("kind,same\na,1\nb,1\n")
    visit = Visit(client)
    visit.upload(path)
    assert visit.get("protect").status_code == 409
    assert "protect another of which" not in visit.part("columns")


def test_answers_that_change_within_a_person_are_told(client: TestClient, people: Path) -> None:
    """Before the click, in words of the page."""
    visit = begun(client, people, whose="one", person="who")
    said = words(visit.part("protect/found"))
    assert "Some people have more than one answer in these columns" in said
    assert "--" not in said
    assert visit.post("protect/chosen").status_code == 409
