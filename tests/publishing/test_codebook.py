"""The codebook of published statistics: every column, in every language, and nothing that tells of a row."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.publishing.request import Publish
from divulge.reporting.statements import codebook
from divulge.reporting.statements.english.book import BOOK
from divulge.reporting.statements.voice import Voice, catalog

from .conftest import VALUES
from .test_statement import CASES, releases

STATISTICS = [dv.Count("race"), dv.Count("race", "sex"), dv.Mean("age", (0, 90), by="sex"), dv.Proportion("sex", "f")]


def books(found: Any, statistics: Any, language: str, **more: Any) -> tuple[dict[str, Any], str]:
    asked = Publish(source="t.csv", statistics=statistics, guarantee="dp=1", language=language, **more)
    made = codebook.of_statistics(found, asked)
    return json.loads(made["codebook.json"]), made["codebook.md"].decode()


@pytest.mark.xdist_group("releases")
def test_every_column_is_explained_in_every_language(monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()
    say = Voice.say
    monkeypatch.setattr(Voice, "say", lambda self, name, **given: (names.add(name), say(self, name, **given))[1])
    for (statistics, _), found in zip(CASES, releases(), strict=True):
        for language in ("en", "de"):
            book, page = books(found, statistics, language, publisher="Amt *7*")
            assert [one["column"] for one in book["columns"]] == found.table.column_names
            assert all(one["means"] for one in book["columns"])
            for one in book["columns"]:
                assert f"- **{one['column'].replace('_', chr(92) + '_')}**: " in page
            assert "{" not in page
            assert "Amt \\*7\\*: " in page
            assert book["numbers"] == found.table.num_rows
    own = {name for name in BOOK if name.startswith("book_col_")}
    assert not own - names
    assert all(catalog("de")[name] != BOOK[name] for name in own)


def test_groups_are_read_again_from_the_codebook(people: Any, tmp_path: Path) -> None:
    first = dv.publish(people, STATISTICS, tmp_path / "a.csv", guarantee="dp=1", values=VALUES, null_as="c",
                       per_row=True)  # fmt: skip
    again = dv.publish(people, STATISTICS, guarantee="dp=1", values=tmp_path / "a.codebook.json", null_as="c",
                       per_row=True)  # fmt: skip
    for name in ("race", "sex"):
        assert set(first.table[name].to_pylist()) == set(again.table[name].to_pylist())
    columns = {one["column"]: one for one in json.loads((tmp_path / "a.codebook.json").read_text())["columns"]}
    assert columns["race"]["values"] == VALUES["race"]
    assert (columns["race"]["other"], columns["race"]["missing"]) == ("other", "c")


def test_codebooks_of_neighboring_tables_are_alike(people: Any) -> None:
    other = people.set_column(0, "race", pa.array(["?", *people["race"].to_pylist()[1:]]))
    pages = []
    for table in (people, other):
        found = dv.publish(table, STATISTICS, guarantee="dp=1", values=VALUES, per_row=True)
        pages.append(books(replace(found, created="2026-01-01", source="t.csv"), STATISTICS, "en"))
    assert pages[0] == pages[1]


def test_source_and_publisher_stand_in_what_is_cited(people: Any, tmp_path: Path) -> None:
    dv.publish(people, dv.Count("race"), tmp_path / "n.csv", guarantee="dp=1", values=VALUES, per_row=True,
               publisher="Office", source_text="Survey of 2026", archive=tmp_path / "n.zip")  # fmt: skip
    book = json.loads((tmp_path / "n.codebook.json").read_text())
    assert book["cite"].startswith("Office: n.csv, statistics of Survey of 2026 with random noise (dp 1, in nats), ")
    assert (book["publisher"], book["source"], book["date"]) == ("Office", "Survey of 2026", book["date"][:10])
    for wrong in ("", " ", 5):
        with pytest.raises(dv.DivulgeError, match="publisher"):
            dv.publish(people, dv.Count("race"), guarantee="dp=1", values=VALUES, publisher=wrong)
