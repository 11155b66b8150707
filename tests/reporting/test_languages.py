"""Reports in other languages: the same numbers, no sentence left in English, numbers as the language writes them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.reporting.blocks import Cards, Folded, Items, Picture, Rows, Section, Shade, Words
from divulge.reporting.reports.content import contents
from divulge.reporting.reports.promises import sources
from divulge.reporting.reports.report import Report
from divulge.reporting.statements import sentences

TABLE = pa.table({"x": ["a", "a", "b", "b", "c"] * 40, "y": ["u", "v", "u", "u", "w"] * 40, "z": ["k"] * 200})
ZEROS = dv.Joint(["1/2", "1/4", "1/8", "1/8"], [["1", "0", "0"], ["1/2", "1/2", "0"], ["0", "1/2", "1/2"],
                                                ["1/4", "1/4", "1/2"]])  # fmt: skip
"""Values are ruled out."""


def _receipt(folder: Path, **options: Any) -> dv.Receipt:
    return dv.release(TABLE, folder / "o.csv", column="x", ledger=folder / "l.sqlite", source_name="table", force=True,
                      per_row=True, **options)  # fmt: skip


@dataclass(frozen=True)
class Told:
    """A report, its sections, and all that they say."""

    report: Report
    sections: tuple[Section, ...]
    texts: list[str]


def of(report: Report) -> Told:
    sections = contents(report)
    return Told(report, sections, [text for one in sections for text in (one.title, *texts(one.blocks))])


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Told, Told]]:
    """The same reports in English and German."""
    folder = tmp_path_factory.mktemp("reports")
    noisy = _receipt(folder, guarantee="ldp=1", prior="noisy=0.3")
    many = (dv.Prior.uniform(33), dv.mechanisms.randomized_response(33, 5.0))
    asked: dict[str, tuple[Any, dict[str, Any]]] = {
        "a receipt": (_receipt(folder, guarantee="pml=0.3", keep=["z"]), {"ledger": folder / "l.sqlite"}),
        "a noisy prior": (noisy, {}),
        "zeros": (ZEROS, {"guarantees": ["pml=0.1", "ldp=9", "adp=1:0.001"], "unit": "bits"}),
        "many values": (many, {"guarantees": ["ldp=5"]}),
        "rows": (TABLE, {"secret": "x", "released": "y", "guarantees": ["pml=2"]}),
        "a chain": (dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]], steps=3), {"secret": 1}),
        "a network": (dv.networks.family().release("child"), {"secret": "mother", "unit": "bits"}),
        "nothing": ((["1/2", "1/2"], [["1", "0"], ["1", "0"]]), {"guarantees": ["zcdp=20"]}),
    }
    found: dict[str, tuple[Told, Told]] = {}
    for name, (subject, more) in asked.items():
        english = dv.report(subject, **more)
        said = of(english)
        german = dv.report(subject, language="de", **more)
        kept = {key for key in vars(english) if isinstance(getattr(Report, key, None), cached_property)}
        vars(german).update({key: vars(english)[key] for key in kept})  # what was worked out: for time alone
        found[name] = (said, of(german))
    return found


def texts(blocks: Any) -> Iterator[str]:
    """Yield every text of blocks, and what their pictures say."""
    from matplotlib.figure import Figure

    for block in blocks:
        match block:
            case Words():
                yield block.text
            case Items():
                yield from block.texts
            case Cards():
                yield from (text for card in block.cards for text in (card.number, card.title, card.text))
            case Rows():
                yield block.caption
                yield from block.header
                yield from (cell.text if isinstance(cell, Shade) else cell for row in block.rows for cell in row)
            case Folded():
                yield block.title
                yield from texts(block.blocks)
            case Picture():
                yield from (block.caption, block.alt)
                axes = Figure().subplots()
                block.draw(axes)
                legend = axes.get_legend()
                drawn = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts,
                         *axes.get_xticklabels(), *axes.get_yticklabels()]  # fmt: skip
                yield from (one.get_text() for one in [*drawn, *(legend.get_texts() if legend else [])])


ENGLISH = re.compile(
    r"\b(the|of|and|is|are|no|which|what|that|not|than|before|after|any|rows|value|outcomes?|largest|belief|bound|"
    r"least|most|chance|share|secrets?|release|nats|bits|other|without|by|from|how|who|more|less|likely)\b",
    re.IGNORECASE,
)  # fmt: skip
CLAIM = re.compile(r"\b[a-z-]+=[\d.:]+|`[^`]*`|--\w+|[0-9a-f]{16,}")
"""What a command reads: in the language of commands."""


@pytest.mark.parametrize("what", ["a receipt", "a noisy prior", "zeros", "many values", "rows", "nothing"])
def test_no_english_is_left_and_numbers_have_commas(what: str, reports: dict[str, tuple[Told, Told]]) -> None:
    english, german = reports[what]
    cited, joint, said = set(sources(german.report)), english.report.joint, english.texts
    labels = {str(x) for x in (*joint.secrets, *joint.outcomes)} | {"table", "o.csv", "x", "z"}
    told = [text for text in german.texts if text not in cited]
    same = {text for text in told if text in said and re.search("[A-Za-z]{2}", text)} - labels
    assert {one for one in same if not CLAIM.fullmatch(one)} <= {"ldp", "pml", "pmc", "inf"}
    for text in told:
        plain = CLAIM.sub("", text)
        quoted = re.sub("„[^“]*“", "", plain)
        assert not ENGLISH.search(quoted.replace("Differential Privacy", "")), text
        assert not re.search(r"\d\.(?!\d{3}(?!\d))\d", re.sub(r"Divulge [\d.]+|\d+\.\d+\.\d{4}", "", plain)), text
        assert not re.search(r"\d,\d{3},", plain), text


def test_both_languages_have_the_same_numbers(reports: dict[str, tuple[Told, Told]]) -> None:
    """Of tables, cell by cell: a comma is where a point was."""
    for english, german in reports.values():
        tables = [[block for section in one.sections for block in section.blocks if isinstance(block, Rows)]
                  for one in (english, german)]  # fmt: skip
        for left, right in zip(*tables, strict=True):
            for row, line in zip(left.rows, right.rows, strict=True):
                for a, b in zip(row, line, strict=True):
                    one, two = (cell.text if isinstance(cell, Shade) else cell for cell in (a, b))
                    if ":" not in one:  # a date
                        swapped = two.translate(str.maketrans(".,", ",."))
                        assert re.findall(r"[\d,.]*\d", one) == re.findall(r"[\d,.]*\d", swapped), (one, two)


def test_the_page_says_its_language_and_the_command_asks_for_it(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from divulge.cli.main import app

    _receipt(tmp_path, guarantee="ldp=1")
    told = CliRunner().invoke(app, ["report", str(tmp_path / "o.receipt.json"), "--language", "de", "-o",
                                    str(tmp_path / "r.html")])  # fmt: skip
    assert told.exit_code == 0, told.output
    page = (tmp_path / "r.html").read_text()
    assert '<html lang="de">' in page
    assert "Was x aus o.csv verrät" in page
    for words in ("Skip to", "Made by", "Privacy report", "On a narrow", "Contents"):
        assert words not in page
    assert "'klingon'" in str(CliRunner().invoke(app, ["report", str(tmp_path / "o.receipt.json"), "--language",
                                                       "klingon"]).output)  # fmt: skip


def test_no_sentence_takes_the_name_of_another() -> None:
    """The parts are put together into one table: the second one would be said in the place of the first."""
    parts = [getattr(sentences, name) for name in dir(sentences) if name.isupper() and name != "SENTENCES"]
    names = Counter(name for part in parts for name in part)
    assert len(parts) == 10
    assert [name for name, times in names.items() if times > 1] == []
    assert all(part.items() <= sentences.SENTENCES.items() for part in parts)
