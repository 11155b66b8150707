"""Button, command and program write the same bytes but for the draws, of every kind of publication of the pages."""

import csv
import html
import io
import json
import random
import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from app.visits import Visit, running
from typer.testing import CliRunner

from divulge.cli.main import app

ANSWERS = [f"page {i}" for i in range(150)]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rows of each of 300 people, who stay where they are and what they are."""
    rng = random.Random(5)
    rows = ["who,town,faith,page,age,lat,lng"]
    for i in range(300):
        faith = rng.choices("uvw", [6, 3, 2])[0]
        one = (f"p{i},{rng.choice('ab' if faith == 'u' else 'abcd')},{faith},page {i % 150},"
               f"{rng.randint(18, 89)},{rng.uniform(48.75, 48.95):.5f},{rng.uniform(2.2, 2.5):.5f}")  # fmt: skip
        rows += [one, one]
    path = tmp_path_factory.mktemp("people") / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def column(visit: Visit) -> None:
    visit.post("secret", {"secret": "faith", "whose": "one", "person": "who"})
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
    visit.post("how", {"way": "statistics", "prior": "uniform"})


def places(visit: Visit) -> None:
    visit.post("places", {"lat": "lat", "lon": "lng", "far": "1", "odds": "3", "grid": "500m", "south": "48.7",
                          "west": "2.1", "north": "49", "east": "2.6", "whose": "some", "person": "who",
                          "rows": "2"})  # fmt: skip
    visit.part("places/found")
    visit.post("places/chosen")


def protected(visit: Visit) -> None:
    visit.post("protect", {"protect": "faith", "column": "town", "times": "1.5", "purpose": "statistics",
                           "whose": "one", "person": "who"})  # fmt: skip
    visit.part("protect/found")
    visit.post("protect/chosen")


def many(visit: Visit) -> None:
    visit.post("many", {"column": "page", "odds": "20", "answers": "typed", "typed": "\n".join(ANSWERS),
                        "other": "other", "whose": "some", "person": "who", "rows": "2"})  # fmt: skip
    visit.part("many/found")
    visit.post("many/chosen", {"protocol": "hadamard"})


def coarse(visit: Visit) -> None:
    visit.post("secret", {"secret": "faith", "public": ["age", "town"], "whose": "some", "person": "who", "rows": "2"})
    visit.part("coarse/found")
    visit.post("coarse/chosen")


def statistics(visit: Visit) -> None:
    visit.post("secret", {"secret": "faith", "whose": "one", "person": "who"})
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
    visit.post("table/add", {"kind": "mean", "column": "age", "low": "0", "high": "90"})
    visit.post("table", {"by": ["town"], "person": "who", "at_most": "2", "neighbors": "replaced"})


KINDS: dict[str, Callable[[Visit], None]] = {
    kind.__name__: kind for kind in (column, places, protected, many, coarse, statistics)
}


DRAWN = re.compile(
    r'"(created|digest|checksum|exact|key)": ("[^"]*"|[^,}\\]]*)|\d{4}-\d\d-\d\d(T[\d:+]+)?|[0-9a-f]{64}|[0-9a-f]{16,}'
)
"""When it was made, and what follows from the draws: digests, and keys of hashes."""

NOISY = {"column": ("faith_perturbed",), "places": ("lat_perturbed", "lng_perturbed"), "protected": ("town_perturbed",),
         "many": (), "coarse": (), "statistics": ("value", "low", "high", "standard_error", "note")}  # fmt: skip


def files_of(folder: Path) -> dict[str, str]:
    """Return what is in the files of a publication, by name; of the table, what is not drawn."""
    return {file.name: file.read_text() for file in folder.iterdir() if file.suffix in (".csv", ".json", ".md", ".txt",
                                                                                         ".html")}  # fmt: skip


def table_of(text: str, kind: str) -> list[tuple[str, ...]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    kept = [name for name in rows[0] if name not in NOISY[kind]]
    bits = [name for name in kept if kind == "many" and name != "who"]
    found = [tuple("?" if name in bits else row[name] for name in kept) for row in rows]
    return [tuple(rows[0]), *(sorted(found) if kind == "coarse" else found)]  # whose rows stand in an order of chance


@pytest.mark.parametrize("kind", KINDS)
def test_three_ways(kind: str, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = tmp_path / "came"
    for folder in ("came", "button", "command", "program"):
        (tmp_path / folder).mkdir()
    with running(ledger=str(tmp_path / "l.sqlite")) as client:
        visit = Visit(client)
        visit.upload(people)
        KINDS[kind](visit)
        assert visit.post("release", {"format": "csv"}).status_code == 200
        done = html.unescape(visit.part("release/found"))
        for link in dict.fromkeys(re.findall(r'/paper/([\w.]+)" download', done)):
            given = visit.get(f"paper/{link}")
            name = re.findall(r'filename="([^"]+)"', given.headers["content-disposition"])[0]
            (tmp_path / ("came" if link in ("script", "notebook", "answers.json") else "button") / name).write_bytes(
                given.content)  # fmt: skip
            if link == "script":
                script = came / name
    (shell,) = re.findall(r"<pre[^>]*>(divulge .*?)</pre>", done, re.DOTALL)
    for way in ("command", "program"):
        for ledger in tmp_path.glob("l.sqlite*"):
            ledger.unlink()
        given = [tmp_path / way / people.name, *(tmp_path / way / one.name for one in came.glob("*.json"))]
        given[0].write_bytes(people.read_bytes())
        for one in given[1:]:
            one.write_bytes((came / one.name).read_bytes())
        monkeypatch.chdir(tmp_path / way)
        if way == "command":
            told = CliRunner().invoke(app, shlex.split(shell)[1:])
            assert told.exit_code == 0, told.output
        else:
            runpy.run_path(str(script), run_name="__main__")
        for one in given:
            one.unlink()
    button, command, program = (files_of(tmp_path / way) for way in ("button", "command", "program"))
    assert button.keys() == command.keys() == program.keys()
    assert len(button) == 7
    for name, text in button.items():
        three = (text, command[name], program[name])
        if name.endswith(".csv"):
            tables = [table_of(one, kind) for one in three]
            assert tables[0] == tables[1] == tables[2]
        elif name.endswith(".keeper.json"):
            asked = [json.loads(one)["request"] for one in three]
            assert asked[1] == asked[2]
            assert asked[0] == asked[1]
        else:
            plain = [DRAWN.sub("", one) for one in three]
            assert plain[0] == plain[1], name
            assert plain[1] == plain[2], name
