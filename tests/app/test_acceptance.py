"""A person clicks through the app with a messy export of visits and three earlier releases; every number is held
against the exact posterior of an attacker who reads everything that went out."""

import hashlib
import html
import io
import json
import math
import random
import re
import runpy
import shlex
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from app.visits import Visit, running, serving
from browser import browser
from reporting.column import same_in_german
from reporting.reading import Reader
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.releasing.beside import FEW
from divulge.releasing.records.ran.mechanism import Mechanism

PEOPLE, VISITS = 80, 3
LISTED = ("none", "flu", "HIV", "cancer")
NAME = "diagnosis"


@pytest.fixture
def export(tmp_path: Path) -> tuple[Path, pa.Table]:
    """A file as an office exports it, and the table that it means."""
    rng = random.Random(4)
    people = [(i, rng.choices(LISTED[:3], [70, 20, 10])[0], rng.choice(["01067", "04109"])) for i in range(PEOPLE)]
    rows = [(*one, 100 * i + rng.randint(0, 99)) for i in range(VISITS) for one in people]
    lines = ["Klinik Dresden", "Stand: 1.1.2026", "", f"patient;{NAME};plz;cost"]
    for patient, ill, plz, cost in rows:
        spelled = rng.choice([ill, f"{ill} ", ill.lower()])
        lines.append(f"{patient};{spelled};{rng.choice([plz, plz.lstrip('0')])};{cost},50")
    lines += ["", f"Gesamt;;;{len(rows)}", "Quelle: Klinik"]
    path = tmp_path / "export.csv"
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    columns = list(zip(*rows, strict=True))
    meant = pa.table({"patient": columns[0], NAME: columns[1], "plz": columns[2]})
    return path, meant


def said(page: str, words: str) -> list[float]:
    """Return the numbers of people in 100 behind some words."""
    return [float(one) for one in re.findall(rf"{words}.*?at most ([\d.]+) in 100", page)]


def drawn_by(receipt: dv.Receipt) -> Any:
    """Return the channel in whole numbers that a receipt says was drawn from."""
    only = receipt.mechanisms[0]
    assert isinstance(only, Mechanism)
    return only.channel


def in_both(page: Any, also: str = "main") -> str:
    """Return what a page says, once its sentences and tables have the same numbers in German, with decimal commas."""
    english, german = in_language(page, "en", also), in_language(page, "de", also)
    said, told = (set(NUMBER.findall(TYPED.sub("", one))) for one in (english, german))
    assert said == {one.translate(str.maketrans(".,", ",.")) for one in told}, (english, german)
    in_language(page, "en", also)
    return str(page.locator(also).inner_text())


def in_language(page: Any, language: str, also: str) -> str:
    """Return the sentences and tables of a page in a language, once all its parts are there; pictures aside."""
    from playwright.sync_api import expect

    if page.locator(f"html[lang={language}]").count() == 0:
        page.locator(f"button[name=language][value={language}]").click()
        page.locator(f"html[lang={language}]").wait_for(state="attached")
    expect(page.locator("main [role=status]")).to_have_count(0)
    return "\n".join(page.locator(f"{also} :is(p, li, th, td, h1, h2, h3)").all_inner_texts())


NUMBER = re.compile(r"\d[\d.,]*(?<![.,])")
TYPED = re.compile(
    r"divulge release [^\n]*|\b[a-z-]+=[\d.:]+|\d+\.\d+\.\d{4}|\d{4}-\d\d-\d\d|"
    r"[\w.]+\.(csv|json|html|txt|md|py|ipynb|zip)"
)
"""What a command reads, and names of files."""


class Attacker:
    """Reads every release, all rows of a person, and the list of answers."""

    def __init__(self, receipts: list[dv.Receipt], tables: list[pa.Table]) -> None:
        self.values = [str(value) for value in drawn_by(receipts[-1]).secrets]
        self.draws: list[list[dict[str, Fraction]]] = []
        for receipt, table in zip(receipts, tables, strict=True):
            channel = drawn_by(receipt).exact
            rows = {str(x): i for i, x in enumerate(channel.secrets)}
            places = {str(y): j for j, y in enumerate(channel.outcomes)}
            out = table[f"{NAME}_perturbed"].to_pylist()
            who = table["patient"].to_pylist() if "patient" in table.column_names else None
            seen = out[:PEOPLE] if who is None else [out[who.index(i)] for i in range(PEOPLE)]
            assert out == [seen[i % PEOPLE] for i in range(len(out))]  # one draw stands in all rows of a person
            matrix = channel.matrix
            other = rows.get("other")
            self.draws.append([
                {x: Fraction(matrix[rows.get(x, other), places[y]]) for x in self.values} for y in seen
            ])  # fmt: skip

    def likelihood(self, person: int, releases: slice) -> dict[str, Fraction]:
        found = dict.fromkeys(self.values, Fraction(1))
        for draws in self.draws[releases]:
            found = {x: found[x] * draws[person][x] for x in self.values}
        return found

    def worst(self, person: int, value: str, before: Fraction, releases: slice) -> float:
        """Return the posterior under the worst belief that holds the value with `before`."""
        likely = self.likelihood(person, releases)
        rest = min(likely[x] for x in self.values if x != value)
        return float(100 * before * likely[value] / (before * likely[value] + (1 - before) * rest))

    def believing(self, person: int, prior: dict[str, Fraction], value: str, releases: slice) -> float:
        likely = self.likelihood(person, releases)
        return float(100 * prior[value] * likely[value] / sum(prior[x] * likely[x] for x in prior))


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with serving(ledger=str(tmp_path / "ledger.sqlite")) as found:
        yield found


@dataclass
class Shown:
    """What the pages say on the way to a release, and the files that came out."""

    promised: list[float]
    how: str
    preview: str
    before: str
    done: str
    papers: dict[str, Path]
    shell: str


def released_before(meant: pa.Table, folder: Path) -> list[dv.Receipt]:
    """Publish the answers three times, on the ledger that the app reads."""
    return [
        dv.release(meant, folder / f"earlier{i}.csv", column=NAME, guarantee=f"ldp={loss}", values=list(LISTED),
                   person="patient", one_answer=True, keep=(), ledger=folder / "ledger.sqlite", source_name="survey")
        for i, loss in enumerate((0.3, 0.5, 0.2))
    ]  # fmt: skip


class Words(HTMLParser):
    """The words of a page: a line for each block, and tabs between the cells of a row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found, self.left = list[str](), 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.left += tag in ("svg", "pre", "script", "title", "textarea")
        self.found.append({"td": "\t", "th": "\t", "span": "", "a": "", "strong": "", "code": ""}.get(tag, "\n"))

    def handle_endtag(self, tag: str) -> None:
        self.left -= tag in ("svg", "pre", "script", "title", "textarea")

    def handle_data(self, data: str) -> None:
        self.found.append("" if self.left else " ".join(f"-{data}-".split())[1:-1])

    @property
    def text(self) -> str:
        return re.sub(r"\n\s*", "\n", re.sub(r" *\t *", "\t", "".join(self.found)))


def read_in_both(visit: Visit, path: str) -> str:
    """Return the words of a page and of its parts, once those in German have the same numbers."""
    found: dict[str, str] = {}
    for language in ("de", "en"):
        visit.post("language", {"language": language, "step": path})
        page = visit.get(path).text
        parts = re.findall(r'hx-get="[^"]*/(\w+/found)" hx-trigger="load', page)
        parts += ["asked/found"] if 'id="asked"' in page else []
        main = page[page.index("<main") : page.index("</main")]
        found[language] = Words("\n".join([main, *map(visit.part, parts)])).text
    english, german = (set(NUMBER.findall(TYPED.sub("", found[one]))) for one in ("en", "de"))
    assert english == {one.translate(str.maketrans(".,", ",.")) for one in german}, found
    return found["en"]


def test_every_number_holds_against_who_reads_everything(
    export: tuple[Path, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the forms, as a browser sends them; with clicks in `make search`."""
    path, meant = export
    earlier, folder = released_before(meant, tmp_path), tmp_path / "button"
    folder.mkdir()
    with running(ledger=str(tmp_path / "ledger.sqlite")) as client:
        visit = Visit(client)
        visit.post("upload", files={"file": (path.name, path.read_bytes())})
        visit.part("columns")  # with the row of names that is proposed it is read again
        looked = visit.part("looked/found")
        lines = {name: re.findall(rf'name="{name}"[^>]* value="(.*?)"', looked)[0] for name in ("header", "footer")}
        visit.post("reading", lines)
        rule = re.findall(r'<option value="([^"]*)"', visit.part("columns").partition('name="group:cost"')[2])[2]
        visit.post("reading", lines | {"one_spelling": [NAME, "plz"], "group:cost": rule})
        assert "3 lines above it and 2 at the end are left out" in html.unescape(visit.part("columns"))
        visit.post("secret", {"secret": NAME, "public": ["patient", "plz", "cost"], "whose": "one", "person": "patient",
                              "answers": "typed", "typed": "\n".join(LISTED)})  # fmt: skip
        meaning = visit.get("meaning?attacker=everything&value=HIV&before=1&after=5").text
        visit.post("aim", {"attacker": "everything", "value": "HIV", "before": "1", "after": "5"})
        how = read_in_both(visit, "how")
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        preview = read_in_both(visit, "preview")
        last = {"keep": "plz", "budget": "30", "format": "csv"}
        visit.post("asked", last)
        before = " ".join(read_in_both(visit, "release").split())
        papers = visit.papers(folder, **last)
        done = " ".join(read_in_both(visit, "release").split())
        for kind, paper in papers.items():
            given = visit.get(f"paper/{kind}").headers["content-disposition"]
            papers[kind] = paper.rename(folder / re.findall(r'filename="([^"]+)"', given)[0])
        shell = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", visit.part("release/found"), re.DOTALL)[0])
    shown = Shown(said(Words(meaning).text, ""), how, preview, before, done, papers, shell)
    every_number_holds(shown, earlier, meant, path, tmp_path, monkeypatch)


@pytest.mark.long
def test_every_number_holds_where_a_person_clicks(
    export: tuple[Path, pa.Table], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, meant = export
    earlier = released_before(meant, tmp_path)
    with browser() as seen:
        page, folder = seen.page, tmp_path / "button"
        folder.mkdir()
        page.goto(address)
        page.set_input_files("#chosen", path)
        page.get_by_role("button", name="Read this file").click()
        page.get_by_role("button", name="Read it again so").click()  # with the row of names that is proposed
        page.get_by_text("3 lines above it and 2 at the end are left out").wait_for()
        for column in (NAME, "plz"):
            page.locator(f"input[name=one_spelling][value={column}]").check()
        page.locator("select[name='group:cost']").select_option(index=2)
        page.get_by_role("button", name="Read again with these groups and spellings").click()
        page.get_by_text("one spelling for each value").first.wait_for()
        page.get_by_role("radio", name=f"{NAME} is sensitive").check()
        page.get_by_label("with the same sensitive answer in all of them").check()
        page.get_by_label("The column that says who").select_option("patient")
        page.get_by_label("these, one a line").check()
        page.locator("textarea").fill("\n".join(LISTED))
        seen.looks_right("columns")
        page.get_by_role("button", name="See what the others say about it").click()
        page.wait_for_selector("#told svg.main-svg")  # the map moves what is below it
        page.get_by_role("link", name="Next: what must not happen").click()
        page.locator("select[name=value]").select_option("HIV")
        page.locator("#meaning strong").first.wait_for()
        promised = said(page.locator("#meaning").inner_text(), "")
        page.get_by_role("button", name="Next: how").click()
        page.locator("#after").wait_for()  # what protection costs
        page.get_by_role("columnheader", name="rows that stay true").wait_for()
        how = in_both(page)
        page.get_by_role("button", name="Next: preview").click()
        page.get_by_role("columnheader", name="one simulated estimate").wait_for()
        preview = in_both(page)
        page.get_by_role("link", name="Next: release").click()
        page.locator("input[name=keep][value=plz]").check()
        page.locator("input[name=budget]").fill("30")
        page.locator("input[name=budget]").blur()
        page.get_by_text("With all 4 releases").wait_for()
        page.get_by_text("budget=").first.wait_for(state="attached")
        seen.looks_right("release")
        before = " ".join(in_both(page, "#asked").split())
        page.get_by_role("button", name="Publish now").click()
        page.get_by_text("Files for the public").wait_for()
        done = " ".join(in_both(page).split())
        page.locator("details.over summary").click()  # which says what goes, before anything does
        page.get_by_text("The files of this visit go with it").wait_for()
        papers: dict[str, Path] = {}
        for link in page.locator("main a[download]").all():
            reference = str(link.get_attribute("href"))
            given = page.request.get(address.rstrip("/") + reference)
            name = re.findall(r'filename="([^"]+)"', given.headers["content-disposition"])[0]
            papers[reference.rpartition("/")[2]] = folder / name
            (folder / name).write_bytes(given.body())
        shell = html.unescape(page.locator("pre").first.text_content() or "")
    shown = Shown(promised, how, preview, before, done, papers, shell)
    every_number_holds(shown, earlier, meant, path, tmp_path, monkeypatch)


def every_number_holds(
    shown: Shown,
    earlier: list[dv.Receipt],
    meant: pa.Table,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hold all that was shown, and all files, against the exact posterior of who reads all four releases."""
    papers, before, done = shown.papers, shown.before, shown.done
    receipt = dv.Receipt.read(papers["receipt.json"])
    out = csv.read_csv(papers["table"])
    tables = [csv.read_csv(tmp_path / f"earlier{i}.csv") for i in range(3)]
    attacker = Attacker([*earlier, receipt], [*tables, out])
    assert attacker.values == [*sorted(LISTED), "other"]  # whatever anybody answered
    alone, together = slice(3, 4), slice(0, 4)
    one = Fraction(1, 100)
    (own,), (every,) = said(before, "By this column alone"), said(before, "With all 4 releases of it on record:")
    assert shown.promised
    most = {
        which.start: max(attacker.worst(i, "HIV", one, which) for i in range(PEOPLE)) for which in (alone, together)
    }
    assert most[3] <= own <= 5.01
    assert most[0] <= every
    losses = [float(done.guarantees["ldp"]) for done in (*earlier, receipt)]
    assert every == pytest.approx(100 / (1 + 99 * math.exp(-sum(losses))), abs=0.11)
    assert all(most[3] <= number for number in shown.promised)
    _how(shown.how, attacker, receipt)
    _preview(shown.preview, attacker, receipt, meant)
    _done(done, attacker, losses)
    _beside(before, attacker, meant, together)
    _beside(done, attacker, meant, together, _BESIDE_DONE)
    _statement(papers["statement.txt"].read_text(), attacker, receipt)
    same_in_german(receipt)
    _receipt(receipt, earlier, papers["table"], attacker)
    _same_by_command_and_program(shown.shell, papers, path, tmp_path, monkeypatch)


def _statement(text: str, attacker: Attacker, receipt: dv.Receipt) -> None:
    """Every sentence with a number, of the page for the public, against exact posteriors and the law of the draws."""
    channel = drawn_by(receipt).exact
    law = [list(map(Fraction, row)) for row in channel.matrix]
    columns = list(zip(*law, strict=True))
    alone, ratio, n = slice(3, 4), max(max(column) / min(column) for column in columns), len(law)
    own = [law[i][[*map(str, channel.outcomes)].index(str(x))] for i, x in enumerate(channel.secrets)]
    read = Reader(text.replace("#" * 20, "").replace("." * 20, ""))
    people = range(PEOPLE)

    def worst(before: Fraction) -> float:
        """Return the posterior of the answer that becomes likeliest, by the law of the draws, and by those drawn."""
        drawn = max(attacker.worst(i, x, before, alone) for i in people for x in attacker.values)
        exact = float(100 * before * ratio / (before * ratio + 1 - before))
        assert drawn <= exact + 1e-9
        return exact

    ((changed, kept),) = read.numbers(
        "of 1,000 people, # appear with an answer that is not theirs, and # with their own."
    )
    assert (changed, kept) == (round(1000 * (1 - min(own))), round(1000 * max(own)))
    assert text.count("#") == round(kept / 10)
    read.numbers("Each figure stands for # of # people.")
    ((one, five, ten, more, half, most),) = read.numbers(
        "In figures: what was taken for a chance of # in 100 becomes at most # in 100, # become at most #, and # at "
        "most #."
    )
    for before, after in ((one, five), (ten, more), (half, most)):
        assert 0 <= after - worst(Fraction(int(before), 100)) < 0.1
    for before, after in re.findall(r"^ +(\d+) {5,}(\d+) ", text, re.MULTILINE):
        assert 0 <= int(after) - 10 * worst(Fraction(int(before), 1000)) < 1
    for before, after in re.findall(r"every true answer alike +(\d+) +(\d+) ", text):
        assert 0 <= int(after) - 10 * worst(Fraction(int(before), 1000)) < 1
    read.numbers("Most likely truth truly have the said answer … it, so many are true, at most " + "-" * 88
                 + " # # another answer # # another answer # # depends on how frequent the others are # # the said "
                 "answer # # the said answer")  # fmt: skip
    for before, truth in ((10, False), (200, True)):  # which answer is likeliest, where others are equally frequent
        p = Fraction(before, 1000)
        assert (p * ratio > (1 - p) / (n - 1)) is truth
        assert truth or 1 - p > p * ratio
    read.numbers("every true answer alike # # the same answer every true answer alike # # the same answer")
    read.numbers("If so many of # people … then of # rows that say")
    read.numbers("True answer From, of # to at most, of # When the row says")
    sentences = (
        "changes nobody’s odds about that person’s true answer by more than # times, whatever they knew before",
        "any other answer that is more than # times as frequent is still likelier",
        "For every one of these answers the odds change by # times at most",
        "The bound of # times holds for everybody", "Whoever sees it may change their odds about you by # times",
    )  # fmt: skip
    for sentence in sentences:
        ((times,),) = read.numbers(sentence)
        assert 0 <= times - ratio < 0.01
    ((rows, off, often, none),) = read.numbers(
        "From these # rows, how many rows belong to people with a rare true answer can be estimated to within about # "
        "rows, and how many to people with a frequent one to within about # (19 times in 20, for all answers at once). "
        "A group with # rows or fewer cannot be told from nobody"
    )
    lie = 1 - max(own)
    spread = max(q * (1 - q) for q in (float(max(own)), float(lie / (n - 1)))) ** 0.5
    deviation = VISITS * math.sqrt(PEOPLE) * spread / float(max(own) - lie / (n - 1))
    assert (rows, none) == (PEOPLE * VISITS, off)
    assert 2 * deviation < off <= often < 5 * deviation  # 2.6 deviations in a normal law, for five answers at once
    ((twice, once),) = read.numbers("the odds may have changed by # times in place of # times.")
    assert 0 <= twice - ratio**2 < 0.1
    assert 0 <= once - ratio < 0.01
    ((releases, all_times),) = read.numbers(
        "Together with this one there are #, and all of them together may change the odds by # times."
    )
    every = [attacker.likelihood(i, slice(0, 4)).values() for i in people]
    assert releases == 4
    assert max(max(likely) / min(likely) for likely in every) <= all_times
    ((mine,),) = read.numbers("the own answer was kept for at most # of 1,000 people")
    assert 0 <= mine - 1000 * max(own) < 1
    ((asked,),) = read.numbers("Asked for: ldp=#.")
    ((ldp, pmc, pml),) = read.numbers("rounded up: ldp #, pmc #, pml #.")
    levels = _levels([law], n)
    assert math.log(5 / 95 * 99) == pytest.approx(asked, abs=1e-3)
    for said, level in ((ldp, levels["ldp"]), (pmc, levels["pmc"]), (pml, levels["pml"])):
        assert 0 <= said - level < 1e-3
    assert not re.search(r"\d", read.left), re.findall(r".{30}\d.{30}", read.left)


def _levels(laws: list[list[list[Fraction]]], n: int) -> dict[str, float]:
    """Return ldp, pml and pmc, where all answers are equally frequent, of independent draws from all laws."""
    found = {"ldp": 0.0, "pml": 0.0, "pmc": 0.0}
    for outcomes in product(*(range(len(law[0])) for law in laws)):
        likely = [math.prod(law[x][y] for law, y in zip(laws, outcomes, strict=True)) for x in range(n)]
        mean = sum(likely) / n
        ratios = {"ldp": max(likely) / min(likely), "pml": max(likely) / mean, "pmc": mean / min(likely)}
        found = {kind: max(level, math.log(ratios[kind])) for kind, level in found.items()}
    return found


def _receipt(receipt: dv.Receipt, earlier: list[dv.Receipt], table: Path, attacker: Attacker) -> None:
    """Every number of the receipt: levels by the laws of all releases, rows and people by the table."""
    laws: list[list[list[Fraction]]] = []
    for done in (*earlier, receipt):
        channel = drawn_by(done).exact
        place = {str(x): i for i, x in enumerate(channel.secrets)}
        laws.append([list(map(Fraction, channel.matrix[place[x]])) for x in attacker.values])
    n = len(attacker.values)
    known = receipt.to_dict()
    alone = _levels(laws[3:], n)
    for said in (known["guarantees"], known["mechanisms"][0]["guarantees"]):
        assert said == pytest.approx(alone, rel=1e-9)
        assert all(said[kind] >= level - 1e-12 for kind, level in alone.items())
    assert known["together"]["releases"] == 4
    together = _levels(laws, n)
    for kind, level in together.items():  # pml and pmc are at most the ldp; a sum may bound them
        assert level - 1e-12 <= known["together"]["guarantees"][kind] <= together["ldp"] + 1e-6
    assert known["together"]["guarantees"]["ldp"] == pytest.approx(together["ldp"], abs=1e-6)
    (asked,) = known["asked"]
    assert alone["ldp"] <= asked["epsilon"] == pytest.approx(alone["ldp"], rel=1e-9)
    assert known["rows"] == PEOPLE * VISITS
    assert (known["protects"]["people"], known["protects"]["squares"]) == (PEOPLE, PEOPLE * VISITS**2)
    assert known["digest"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert all(sum(map(int, row)) == 2 ** known["mechanisms"][0]["bits"] for row in known["mechanisms"][0]["weights"])


def _row(page: str, name: str) -> list[str]:
    """Return the cells of the row of a table that begins so."""
    return re.findall(rf"^{name}\t(.*)$", page, re.MULTILINE)[0].split("\t")


def _off(own: float, values: int) -> float:
    """Return how far the share of an answer is off, in one standard deviation at most, of people with `VISITS` rows."""
    lie = (1 - own) / (values - 1)
    worst = max(own * (1 - own), lie * (1 - lie))
    return 100 * (worst / PEOPLE) ** 0.5 / (own - lie)


def _how(page: str, attacker: Attacker, receipt: dv.Receipt) -> None:
    """Rows that stay true by the law; how far estimates are off by its variance, at every level that is offered."""
    law = drawn_by(receipt).exact.matrix
    own, n = float(max(map(max, law))), len(law)
    for way in ("best for counting", "best for single rows", "most informative", "a known classic"):
        stays, off, *_ = _row(page, way)
        assert float(stays.split()[0]) == pytest.approx(100 * own, abs=0.1)
        assert 2 * _off(own, n) < float(re.findall(r"[\d.]+", off)[0]) < 5 * _off(own, n)
    offered = re.findall(r"at most ([\d.]+) in 100: ± ([\d.]+)", page)
    assert len(offered) > 5
    for after, off in offered:
        ratio = float(after) * 99 / (100 - float(after))
        spread = _off(ratio / (ratio + n - 1), n)
        assert min(2 * spread, 95) < float(off) < 5 * spread


def _preview(page: str, attacker: Attacker, receipt: dv.Receipt, meant: pa.Table) -> None:
    """How many rows stay, what the best guesser gains, and true shares, which a simulated estimate is not far from."""
    channel = drawn_by(receipt).exact
    law, n, rows = channel.matrix, len(channel.matrix), meant[NAME].to_pylist()
    own = [law[i][[*map(str, channel.outcomes)].index(x)] for i, x in enumerate(map(str, channel.secrets))]
    (stay,) = re.findall(r"true for ([\d.]+) in 100 rows, on average", page)
    assert float(stay) == pytest.approx(float(100 * sum(own) / n), abs=0.1)
    gain = max(n * max(column) / sum(column) for column in zip(*law, strict=True))
    (times,) = re.findall(r"right ([\d.]+) times as often", page)
    assert 0 <= float(times) - gain < 0.01
    inverse = np.linalg.inv(np.array(law, dtype=float))
    each = np.array(list(Counter(meant["patient"].to_pylist()).values()))
    far = 4 * np.sqrt((each**2).sum()) / len(rows) * np.ptp(inverse, axis=0)  # by Hoeffding's inequality once in 1e13
    for i, value in enumerate(map(str, channel.secrets)):
        now, estimate, between, stays, _ = _row(page, value)
        share = 100 * rows.count(value) / len(rows)
        assert float(now.split()[0]) == pytest.approx(share, abs=0.06)
        low, high = map(float, re.findall(r"[\d.]+", between))
        assert 0 <= low <= high <= 100
        assert abs(float(estimate) - share) < 100 * far[i] + 0.1
        assert float(stays.split()[0]) == pytest.approx(float(100 * own[i]), abs=0.1)
    below = any(float(_row(page, value)[1]) < 0 for value in map(str, channel.secrets))
    assert ("An estimate below 0 is no mistake" in page) is below


def _done(page: str, attacker: Attacker, losses: list[float]) -> None:
    """The two chances on the last page: nobody ends above or below them who reads all releases."""
    before, high, low = (float(one) for one in re.findall(
        r"4 releases in all: before ([\d.]+) in 100, .*?at most ([\d.]+) and at least ([\d.]+) in 100", page
    )[0])  # fmt: skip
    start = Fraction(int(before), 100)
    every = slice(0, 4)
    for i in range(PEOPLE):
        likely = attacker.likelihood(i, every)
        for value in attacker.values:
            assert attacker.worst(i, value, start, every) <= high
            most = max(likely[x] for x in attacker.values if x != value)
            assert low <= 100 * start * likely[value] / (start * likely[value] + (1 - start) * most)
    factor = math.exp(sum(losses))
    assert high == pytest.approx(100 * factor / (factor + 99), abs=0.11)
    assert low == pytest.approx(100 / (1 + 99 * factor), rel=0.02)


_BESIDE = r"alike in .*? with up to ([\d.]+) in 100 before, and with at most ([\d.]+) in 100"
_BESIDE_DONE = r"how frequent it is there holds it with up to ([\d.]+) in 100 before, and with at most ([\d.]+) "


def _beside(before: str, attacker: Attacker, meant: pa.Table, together: slice, words: str = _BESIDE) -> None:
    """Who knows how frequent answers are among people alike in what went out holds no more than was said."""
    known = re.findall(words, before)
    ((low, high),) = known
    people = meant.slice(0, PEOPLE).to_pylist()
    for plz in ("01067", "04109"):
        group = [one for one in people if one["plz"] == plz]
        assert len(group) * VISITS >= FEW
        answers = [one[NAME] for one in group]
        prior = {x: Fraction(answers.count(x), len(answers)) for x in attacker.values}
        found = [attacker.believing(one["patient"], prior, "HIV", together) for one in group]
        assert float(100 * prior["HIV"]) <= float(low)
        assert max(found) <= float(high)


TIMES = re.compile(r'"(created|digest|checksum|rows_counted|source|output)": [^\n]*')


def one_header(text: str) -> str:
    return text.partition("\n")[0]


def _same_by_command_and_program(
    shell: str, papers: dict[str, Path], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command and the program that the page offers write the same, but for the draws and what follows from them."""
    where = tmp_path / "again"
    where.mkdir()
    monkeypatch.chdir(where)
    (where / path.name).write_bytes(path.read_bytes())
    (where / "answers.json").write_bytes(papers["answers.json"].read_bytes())
    shell = shell.replace("--budget", "--people new --budget")  # else it would pass the budget, as it should
    refused = CliRunner().invoke(app, shlex.split(shell.replace("--people new ", ""))[1:])
    assert refused.exit_code == 2
    assert "budget" in refused.output
    done = CliRunner().invoke(app, shlex.split(shell)[1:])
    assert done.exit_code == 0, done.output
    command = {file.name: file.read_text() for file in where.glob(f"{NAME}_perturbed.*") if file.suffix != ".zip"}
    for file in where.glob(f"{NAME}_perturbed*"):
        file.unlink()
    script = papers["script"].read_text().replace("budget=", "people='new', budget=")
    (where / "again.py").write_text(script)
    with warnings.catch_warnings(action="ignore"):  # of how the file was read, as the page told
        runpy.run_path(str(where / "again.py"), run_name="__main__")
    for name, text in command.items():
        button = next(file for file in papers.values() if file.name == name).read_text()
        program = (where / name).read_text()
        if name.endswith(".csv"):
            cells = [csv.read_csv(io.BytesIO(one.encode())) for one in (button, text, program)]
            beside = [one.drop_columns([f"{NAME}_perturbed"]) for one in cells]
            assert beside[0].equals(beside[1])
            assert beside[0].equals(beside[2])
            assert one_header(button) == one_header(text) == one_header(program)
        elif "keeper" in name:
            asked = [json.loads(one)["request"] for one in (text, program)]
            assert asked[0] == asked[1]
        elif name.endswith(("codebook.json", "codebook.md")):
            assert TIMES.sub("", text) == TIMES.sub("", program) == TIMES.sub("", button)
