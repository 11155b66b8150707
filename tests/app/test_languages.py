"""The pages in German: every sentence of every template, numbers with decimal commas, the whole way without English."""

import ast
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from divulge.app.pages import HERE, STEPS
from divulge.app.steps import aim, how, release, table
from divulge.app.words import sentences
from divulge.reporting.remarks import remark
from divulge.reporting.statements.voice import Voice, languages, texts

from .visits import Visit, running

TEMPLATES = sorted((HERE / "templates").glob("*.html"))
PLACES = re.compile(r"\{\d+\}|%d")
ENGLISH = re.compile(
    r"\b(the|and|is|are|no|which|what|that|not|than|before|after|any|rows?|values?|columns?|answers?|least|most|share|"
    r"release|publish(ed)?|other|without|by|from|how|who|more|less|people|count|one|first|with|only|this|yes|of|you)\b",
    re.IGNORECASE,
)


def _constants() -> list[str]:
    """Return the sentences that steps hand to templates."""
    return [
        *(title for _, title in STEPS),
        *(text for several in aim.ATTACKERS.values() for text in several),
        *(text for title, good, _ in how.WAYS.values() for text in (title, good)),
        *how.PRIORS.values(), *how.ENOUGH.values(), how.ALWAYS, *table.KINDS.values(), *table.TREATMENTS.values(),
        *release.PUBLIC.values(),
    ]  # fmt: skip


@pytest.mark.parametrize("language", [one for one in languages() if one != "en"])
def test_every_sentence_of_the_pages_is_translated(language: str) -> None:
    known = texts(language)
    found = [one for path in TEMPLATES for one in sentences(path.read_text())]
    assert len(found) > 250
    expressions = [one for path in TEMPLATES for one in re.findall(r"\{\{[^{}]*\| t\b[^{}]*\}\}", path.read_text())]
    handed = [text for one in expressions for text in re.findall(r'"([^"]*)"', re.sub(r'== "[^"]*"', "", one))]
    literals = [text for text in handed if text.strip(",: ")]
    for one in (*found, *literals, *_constants()):
        assert one in known, one
        assert sorted(PLACES.findall(one)) == sorted(PLACES.findall(known[one])), one


REFUSING = ("Refused", "DivulgeError", "number_in", "_whole", "_number", "_degrees")
"""Calls with sentences for whoever typed something that cannot be."""


def sentence_of(node: ast.expr) -> str:
    """Return a string of the source with {1}, {2}, ... where something is filled in, or nothing."""
    if isinstance(node, ast.JoinedStr):
        places = iter(range(1, len(node.values) + 1))
        return "".join(str(part.value) if isinstance(part, ast.Constant) else f"{{{next(places)}}}"
                       for part in node.values)  # fmt: skip
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def refusals() -> set[str]:
    """Return the sentences by which pages refuse what was typed."""
    found: set[str] = set()
    for path in (HERE / "steps").glob("*.py"):
        tree = ast.parse(path.read_text())
        named = {target.id: sentence_of(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign)
                 for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in REFUSING:
                found |= {named.get(one.id, "") if isinstance(one, ast.Name) else sentence_of(one) for one in node.args}
    return {one for one in found if " " in one}


@pytest.mark.parametrize("language", [one for one in languages() if one != "en"])
def test_every_refusal_of_the_pages_is_translated(language: str) -> None:
    said = refusals()
    assert len(said) > 40
    for one in said:
        filled = PLACES.sub("7", one)
        assert remark(Voice(language), filled) != filled, one


def read(page: str) -> str:
    """Return what a person reads and hears of a page, with the words of its pictures."""
    heard = re.findall(r'(?:aria-label|placeholder)="([^"]*)"', page)
    figures = [json.loads(html.unescape(one)) for one in re.findall(r'data-figure="([^"]*)"', page)]
    drawn = [one["name"] for figure in figures for one in figure["data"]]
    drawn += [figure["layout"][axis]["title"]["text"] for figure in figures for axis in ("xaxis", "yaxis")
              if "title" in figure["layout"][axis]]  # fmt: skip
    assert all(figure["layout"]["separators"] == ",." for figure in figures)
    body = re.sub(r"<pre.*?</pre>|<code.*?</code>|<script.*?</script>|<head>.*?</head>", "", page, flags=re.DOTALL)
    body = re.sub(r'<button class="plain" name="language".*?</button>|<option value="en">English', "", body)
    return html.unescape("\n".join([re.sub(r"<[^>]*>", " ", body), *heard, *drawn]))


def german(page: str) -> None:
    """Assert that nothing on a page is English, and no number has a decimal point."""
    text = re.sub(r"\w+\.(csv|json|txt|list)|“[^”]*”|„[^“]*“", "", read(page))
    assert not (found := ENGLISH.search(text)), text[max(0, found.start() - 80) : found.end() + 80]
    points = re.sub(r"\d{1,3}(\.\d{3})+", "", re.sub(r"\d\d\.\d\d\.\d{4}", "", text))  # thousands, and dates
    assert not (found := re.search(r"\d\.\d", points)), points[max(0, found.start() - 80) : found.end() + 80]


@pytest.fixture
def visit(tmp_path: Path) -> Iterator[Visit]:
    with running(ledger=str(tmp_path / "ledger.sqlite")) as client:
        client.headers["accept-language"] = "de-DE,de;q=0.9,en;q=0.5"
        yield Visit(client)


def test_the_whole_way_is_german(visit: Visit, tmp_path: Path) -> None:
    """A column, then statistics: every page on the way, and what the last one offers."""
    lines = [f"{d},{20 + i % 60},{'NS'[i % 2]}" for i, d in enumerate(["ohne", "Grippe"] * 700)]
    path = tmp_path / "umfrage.csv"
    path.write_text("\n".join(["Diagnose,Alter,Ort", *lines]) + "\n")
    german(visit.get("data").text)
    with path.open("rb") as stream:
        visit.post("upload", {}, files={"file": (path.name, stream)})
    for part in ("data", "columns", "looked/found", "check"):
        german(visit.part(part))
    answers = {"answers": "typed", "typed": "ohne\nGrippe", "other": "sonst"}
    visit.post("secret", {"secret": "Diagnose", "public": ["Alter", "Ort"], "whose": "row", **answers})
    for part in ("data", "map", "aim", "meaning?attacker=nothing", "sum/found"):
        german(visit.part(part))
    visit.post("aim", {"attacker": "everything", "before": "1,5", "after": "20"})
    for part in ("how", "ways/found", "cost/found"):
        german(visit.part(part))
    visit.post("how", {"way": "statistics", "prior": "uniform"})
    for part in ("preview", "preview/found", "release"):
        german(visit.part(part))
    asked = visit.post("asked", {"format": "csv", "keep": "Ort", "language": "de"}).text
    german(visit.part("asked/found") if 'class="running"' in asked else asked)
    done = ""
    for _ in range(2):  # the second one adds up with the first
        visit.post("release", {"format": "csv", "keep": "Ort", "language": "de"})
        german(visit.get("release").text)
        done = visit.part("release/found")
        assert "Dateien für die Öffentlichkeit" in done
        german(re.sub(r'<p class="note">.*?</p>', "", done))  # remarks of the library on this release are English
        visit.post("again")
    assert "insgesamt 2 Veröffentlichungen" in done
    german(visit.get("table").text)
    visit.post("table/add", {"kind": "mean", "column": "Alter", "low": "0", "high": "90,5"})
    visit.post("table", {"by": "Ort", "delta": "0,000001"})
    for part in ("table", "tablecost/found", "preview/found", "release"):
        german(visit.part(part))


def test_the_way_of_a_whole_table_is_german(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "umfrage.csv"
    lines = [f"{d},{20 + i % 60},{'NS'[i % 2]}" for i, d in enumerate(["ohne", "Grippe", "ohne"] * 300)]
    path.write_text("\n".join(["Diagnose,Alter,Ort", *lines]) + "\n")
    visit.upload(path)
    visit.post("secret", {"secret": "Diagnose", "public": ["Alter", "Ort"], "whose": "row"})
    for part in ("coarse", "coarse/found"):
        german(visit.part(part))
    visit.post("coarse", {"k": "3", "times": "2,5", "suppress": "0,5"})
    german(visit.part("coarse/found"))
    visit.post("coarse/levels", {"level:Alter": "0", "level:Ort": "0"})
    german(visit.part("coarse/found"))
    for asked in ({"k": "5"}, {"k": "5", "local": "1", "drawn": "1,5"}):
        visit.post("coarse", asked), german(visit.part("coarse/found")), visit.post("coarse/chosen")
        german(visit.get("release").text), german(visit.part("asked/found"))
        visit.post("release", {"format": "csv", "language": "de"})
        german(visit.part("release/found"))
        visit.post("again")


def test_the_way_of_places_is_german(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "fahrten.csv"
    lines = [f"{48.7 + i % 31 / 100},{2.2 + i % 37 / 100},{'NS'[i % 2]}" for i in range(200)]
    path.write_text("\n".join(["lat,lon,Art", *lines]) + "\n")
    visit.upload(path)
    german(visit.get("places").text)
    asked = {"lat": "lat", "lon": "lon", "far": "0,5", "odds": "2,5", "grid": "100m", "whose": "some", "person": "Art",
             "rows": "100", "south": "48,75", "west": "2,2", "north": "49", "east": "2,6",
             "quarters": "Mitte; 48,85; 2,35; 9000\nHof; 48,8; 2,3; 12"}  # fmt: skip
    german(visit.post("places", asked).text)
    german(visit.part("places/found"))
    visit.post("places/chosen")
    german(visit.get("release").text)
    visit.post("release", {"format": "csv", "keep": "Art", "language": "de"})
    german(re.sub(r'<p class="note">.*?</p>', "", visit.part("release/found")))


def test_the_way_of_a_protected_column_is_german(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "umfrage.csv"
    lines = [f"{'ABC'[i % 3]},{'uv'[i % 5 > i % 3]},{'NS'[i % 2]}" for i in range(400)]
    path.write_text("\n".join(["Stadtteil,Kirche,Ort", *lines]) + "\n")
    visit.upload(path)
    german(visit.get("protect").text)
    asked = {"column": "Stadtteil", "protect": "Kirche", "times": "1,2", "purpose": "statistics", "whose": "row"}
    german(visit.post("protect", asked | {"times": "0"}).text)
    german(visit.post("protect", asked).text)
    german(visit.part("protect/found"))
    visit.post("protect/chosen")
    german(visit.get("release").text)
    visit.post("asked", {"format": "csv", "keep": "Ort"})
    german(visit.part("asked/found"))
    visit.post("release", {"format": "csv", "keep": "Ort", "language": "de"})
    german(re.sub(r'<p class="note">.*?</p>', "", visit.part("release/found")))


def test_messages_are_in_the_language_of_the_pages(visit: Visit) -> None:
    for path in ("aim", "how", "release", "columns", "paper/table"):
        german(visit.get(path).text)
    assert '<html lang="de">' in visit.get("data").text
    assert '<html lang="de">' in visit.client.get("/s/unknown/data").text


def test_the_language_is_chosen_by_the_browser_and_by_a_button() -> None:
    with running() as client:
        english = Visit(client)
        assert "Read this file" in english.get("data").text
        assert "Diese Datei lesen" in english.post("language", {"language": "de", "step": "data"}).text
        assert "Prüfen, was jemand veröffentlicht hat" in english.get("check").text
        assert "Read this file" in english.post("language", {"language": "en", "step": "release"}).text  # not yet there
        assert "Read this file" in english.post("language", {"language": "../x", "step": "//example.org"}).text


def test_a_statement_goes_out_in_the_language_of_the_pages(visit: Visit) -> None:
    visit.post("census")
    visit.part("columns")
    visit.post("secret", {"secret": "race", "whose": "row"})
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
    visit.post("how", {"way": "randomized-response", "prior": "uniform"})
    assert '<option value="de" lang="de" selected>' in visit.get("release").text


def test_starting_over_says_first_that_files_go(visit: Visit) -> None:
    visit.post("census")
    visit.part("columns")
    assert "gehen damit verloren" not in visit.get("data").text
    visit.post("secret", {"secret": "race", "whose": "row"})
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
    visit.post("how", {"way": "randomized-response", "prior": "uniform"})
    visit.post("release", {"format": "csv"})
    visit.part("release/found")
    assert "gehen damit verloren" in visit.get("data").text
