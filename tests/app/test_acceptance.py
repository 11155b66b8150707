"""A person clicks through the app with a messy export of visits and three earlier releases; every number is held
against the exact posterior of an attacker who reads everything that went out."""

import html
import io
import json
import math
import random
import re
import runpy
import shlex
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from app.visits import serving
from browser import browser
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


def test_every_number_holds_against_who_reads_everything(
    export: tuple[Path, pa.Table], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, meant = export
    earlier = [
        dv.release(meant, tmp_path / f"earlier{i}.csv", column=NAME, guarantee=f"ldp={loss}", values=list(LISTED),
                   person="patient", one_answer=True, keep=(), ledger=tmp_path / "ledger.sqlite", source_name="survey")
        for i, loss in enumerate((0.3, 0.5, 0.2))
    ]  # fmt: skip
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
        page.get_by_role("link", name="Next: what must not happen").click()
        page.locator("select[name=value]").select_option("HIV")
        page.locator("#meaning strong").first.wait_for()
        promised = said(page.locator("#meaning").inner_text(), "")
        page.get_by_role("button", name="Next: how").click()
        page.get_by_role("button", name="Next: preview").click()
        page.get_by_role("link", name="Next: release").click()
        page.locator("input[name=keep][value=plz]").check()
        page.locator("input[name=budget]").fill("30")
        page.locator("input[name=budget]").blur()
        page.get_by_text("With all 4 releases").wait_for()
        page.get_by_text("budget=").first.wait_for(state="attached")
        seen.looks_right("release")
        before = " ".join(page.locator("#asked").inner_text().split())
        page.get_by_role("button", name="Publish now").click()
        page.get_by_text("Files for the public").wait_for()
        papers: dict[str, Path] = {}
        for link in page.locator("main a[download]").all():
            reference = str(link.get_attribute("href"))
            given = page.request.get(address.rstrip("/") + reference)
            name = re.findall(r'filename="([^"]+)"', given.headers["content-disposition"])[0]
            papers[reference.rpartition("/")[2]] = folder / name
            (folder / name).write_bytes(given.body())
        shell = html.unescape(page.locator("pre").first.text_content() or "")
    receipt = dv.Receipt.read(papers["receipt.json"])
    out = csv.read_csv(papers["table"])
    tables = [csv.read_csv(tmp_path / f"earlier{i}.csv") for i in range(3)]
    attacker = Attacker([*earlier, receipt], [*tables, out])
    assert attacker.values == [*sorted(LISTED), "other"]  # whatever anybody answered
    alone, together = slice(3, 4), slice(0, 4)
    one = Fraction(1, 100)
    (own,), (every,) = said(before, "By this column alone"), said(before, "With all 4 releases of it on record:")
    assert promised
    most = {
        which.start: max(attacker.worst(i, "HIV", one, which) for i in range(PEOPLE)) for which in (alone, together)
    }
    assert most[3] <= own <= 5.01
    assert most[0] <= every
    losses = [float(done.guarantees["ldp"]) for done in (*earlier, receipt)]
    assert every == pytest.approx(100 / (1 + 99 * math.exp(-sum(losses))), abs=0.11)
    assert all(most[3] <= number for number in promised)
    _beside(before, attacker, meant, together)
    _statement(papers["statement.txt"].read_text(), attacker, alone)
    _same_by_command_and_program(shell, papers, path, tmp_path, monkeypatch)


def _statement(text: str, attacker: Attacker, alone: slice) -> None:
    """What the page for the public says of odds and of chances holds for every person and every answer."""
    words = " ".join(text.split())
    figures = re.findall(r"(\d+)(?: in 100)?(?: becomes?)? at most ([\d.]*\d)", words.partition("In figures:")[2][:200])
    rows = re.findall(r"^ +(\d+) {5,}(\d+) ", text, re.MULTILINE)
    assert (len(figures), len(rows)) == (3, 5)
    chances = [(Fraction(int(before), 100), float(after)) for before, after in figures]
    chances += [(Fraction(int(before), 1000), float(after) / 10) for before, after in rows]
    for before, after in chances:
        worst = max(attacker.worst(i, x, before, alone) for i in range(PEOPLE) for x in attacker.values)
        assert worst <= after + 1e-9
    (times,) = map(float, re.findall(r"changes nobody’s odds .*? by more than ([\d.]+) times, whatever", words))
    found = [attacker.likelihood(i, alone).values() for i in range(PEOPLE)]
    assert max(max(likely) / min(likely) for likely in found) <= times


def _beside(before: str, attacker: Attacker, meant: pa.Table, together: slice) -> None:
    """Who knows how frequent answers are among people alike in what went out holds no more than was said."""
    known = re.findall(r"alike in .*? with up to ([\d.]+) in 100 before, and with at most ([\d.]+) in 100", before)
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
