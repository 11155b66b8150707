"""Pages of the documentation that are made from the library: tables of theorems, pictures, formulas."""

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import matplotlib as mpl
import pytest

import divulge as dv
from divulge.dp.knowledge import QUESTIONS, TITLES
from divulge.glossary import GLOSSARY
from divulge.guarantees.catalog import KINDS
from divulge.guarantees.theorems import FAMILIES, THEOREMS

DOCS = Path(__file__).parents[1] / "docs"
SOURCES = {str(page.relative_to(DOCS)): page.read_text() for page in DOCS.rglob("*.md")}


def hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _functions(page: str) -> list[Callable[[], Any]]:
    """Return what makes the pictures of a page."""
    made = hook(page).PICTURES
    return list(made.values() if isinstance(made, dict) else made)


def test_every_command_stands_in_the_readme() -> None:
    from divulge.cli.main import COMMANDS

    rows = re.findall(r"^\| `divulge ([a-z-]+)` \|", (DOCS.parent / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(COMMANDS)


def test_every_row_and_kind_is_on_the_page_of_guarantees() -> None:
    made = hook("_guarantees")
    pages = ("guarantees.md", "theorems.md", "theorems-dp.md")
    read = {one: SimpleNamespace(file=SimpleNamespace(src_path=one)) for one in pages}
    text = "\n".join(made.on_page_markdown(SOURCES[one], page) for one, page in read.items())
    assert not any(f"<!-- {name} -->" in text for name in made.PARTS)
    assert all(f"`{name}=" in text for name in KINDS)
    assert all(row.name in text for row in THEOREMS)
    written = [line for one in pages for line in SOURCES[one].splitlines() if line.startswith("| ")]
    rows = [line for line in text.splitlines() if line.startswith("| ") and line not in written]
    assert len(rows) == len(KINDS) + 1 + len(THEOREMS) + len(FAMILIES)
    other = SimpleNamespace(file=SimpleNamespace(src_path="index.md"))
    assert made.on_page_markdown("<!-- kinds -->", other) == "<!-- kinds -->"


def test_every_question_and_answer_is_on_the_page_of_privacy_loss() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_path="privacy-loss.md"))
    text = hook("_guarantees").on_page_markdown(SOURCES["privacy-loss.md"], page)
    assert all(f"| {question.title}" in text for question in QUESTIONS.values())
    assert all(title in text for title in TITLES.values())


def test_formulas_are_read_as_they_are_written() -> None:
    read = hook("_guarantees")._read
    assert read("e^-ε P_j <= C_x'y") == "e<sup>-ε</sup> P<sub>j</sub> ≤ C<sub>x'y</sub>"
    assert read("sum_y max_x C_xy") == "sum<sub>y</sub> max<sub>x</sub> C<sub>xy</sub>"
    assert read("(1 + e^(αε))^(1/α) | p_min") == "(1 + e<sup>αε</sup>)<sup>1/α</sup> &#124; p<sub>min</sub>"


def test_every_picture_has_a_place_and_every_place_its_picture() -> None:
    mpl.use("Agg")
    made = hook("_pictures")
    marks = {mark for text in SOURCES.values() for mark in re.findall(r"<!-- (\w+) -->", text)}
    assert marks == {
        *made.PICTURES,
        *hook("_guarantees").PARTS,
        "report",
        "gallery",
        "schemas",
        "benchmarks",
    }
    text = made.on_page_markdown("before <!-- plane --> after")
    assert text.startswith("before ![The plane of bounds")
    assert text.endswith(") after")


LONG = ("frontier", "protocols", "closeness", "promises")
"""Pictures that take most of the time in which all are made."""
MADE = [(name, picture.__name__) for name in ("_pictures", "_gallery") for picture in _functions(name)]


@pytest.mark.parametrize(
    ("page", "name"), [pytest.param(*one, marks=pytest.mark.long if one[1] in LONG else ()) for one in MADE]
)
def test_a_picture_is_made(page: str, name: str) -> None:
    """All its lines run; that what was made is drawn is seen on some (`test_the_gallery_shows_what_it_ran`)."""
    mpl.use("Agg")
    (picture,) = (one for one in _functions(page) if one.__name__ == name)
    found = picture()
    axes = found if hasattr(found, "figure") else next(iter(found))
    assert axes.has_data() or axes.texts


KNOWN_BY_HEART = ("index.md", "cheat-sheet.md", "peers.md", "data.md", "gallery.md")
"""Pages to look things up in; the front page says first what the picture is about."""


def test_guides_begin_with_a_picture() -> None:
    """A guide is what the first three parts of the navigation lead to."""
    parts = (DOCS.parent / "mkdocs.yml").read_text().partition("\nnav:\n")[2].partition("  - Know:\n")[0]
    guides = [page for page in re.findall(r": ([\w-]+\.md)$", parts, re.MULTILINE) if page not in KNOWN_BY_HEART]
    assert len(guides) > 20
    drawn = {*hook("_pictures").PICTURES, "report"}
    for page in guides:
        title, _, rest = SOURCES[page].partition("\n\n")
        first = rest.partition("\n\n")[0]
        assert title.startswith("# ")
        mark = re.fullmatch(r"<!-- (\w+) -->|!\[.{20,}\]\(pictures/[\w.-]+\)", first)
        assert mark is not None, page
        assert mark[1] is None or mark[1] in drawn, page


def test_the_gallery_shows_what_it_ran() -> None:
    mpl.use("Agg")
    made = hook("_gallery")
    section = made.shown(made.trade_off)
    assert section.startswith("## The trade-off")
    assert "```py\ndv.dp.trade_off(" in section
    assert "data:image/svg+xml" in section
    assert all(len(made.program(picture).splitlines()) <= 12 for picture in made.PICTURES)


def test_the_report_is_shown_in_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    made = hook("_report")
    monkeypatch.setattr(dv.results.Report, "html", lambda report: f"<p>{report.about}</p>")
    shown = made.on_page_markdown("before <!-- report --> after")
    assert shown.startswith('before <iframe srcdoc="&lt;p&gt;race')
    assert made.on_page_markdown("nothing") == "nothing"


def test_every_formula_becomes_mathml() -> None:
    made, seen = hook("_math"), 0
    for name, text in SOURCES.items():
        prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        for formula in re.findall(r"\$([^$]+)\$", prose):
            shown = made.on_page_content(rf'<span class="arithmatex">\({formula}\)</span>')
            assert shown.startswith("<math"), f"{formula} in {name}"
            assert "\\" not in shown, f"{formula} in {name}"
            seen += 1
    assert seen > 100


def test_every_name_of_the_glossary_exists_and_nothing_has_two_rows() -> None:
    names = [name for rows in GLOSSARY.values() for term in rows for name in term.names]
    assert len(names) == len(set(names))
    for name in names:
        found: Any = dv
        for part in name.split("."):
            found = getattr(found, part)
        assert callable(found), name


def test_every_measure_and_every_kind_of_guarantee_is_in_the_glossary() -> None:
    known = {name.rpartition(".")[2] for rows in GLOSSARY.values() for term in rows for name in term.names}
    measures = {name for name in dv.measures.__all__ if inspect.isfunction(getattr(dv.measures, name))}
    assert measures - {"profile", "plot_pointwise"} <= known
    assert {kind.__name__ for kind in KINDS.values()} <= known


def test_every_notion_stands_on_the_page_that_the_glossary_names() -> None:
    for term in chain.from_iterable(GLOSSARY.values()):
        text = " ".join(re.sub(r"[*`]", "", SOURCES[f"{term.page}.md"]).lower().split())
        assert [word for word in term.words if word.lower() not in text] == [], term.page


def test_the_glossary_is_on_its_page_and_leads_to_the_place_of_each_notion() -> None:
    made, text = hook("_glossary"), SOURCES["glossary.md"]
    assert text == made.page(text), "run: python docs/_glossary.py"
    for term in made.TERMS:
        page = SimpleNamespace(file=SimpleNamespace(src_path=f"{term.page}.md"))
        shown = made.on_page_markdown(SOURCES[f"{term.page}.md"], page)
        for word in term.words:
            assert f"({term.page}.md#{made.anchor(word)})" in text
            assert shown.count(f'<a id="{made.anchor(word)}"></a>') == 1
        assert not re.search(r'<a id="[^"]*<', shown)


def test_no_anchor_is_put_into_code_formulas_or_links() -> None:
    page = "# lift\n\n`lift` [lift](x.md) $lift$\n\n```python\nlift\n```\n\n**Lift**, uplift\n"
    assert hook("_glossary").marked(page, ("lift",)) == page.replace("**Lift", '<a id="notion-lift"></a>**Lift')
    assert hook("_glossary").marked("# a\n\nb\n", ("c",)) == '# a\n\n<a id="notion-c"></a>b\n'


def test_two_words_of_the_glossary_are_never_one_notion() -> None:
    words = [word.lower() for term in chain.from_iterable(GLOSSARY.values()) for word in term.words]
    assert len(words) == len(set(words))


def test_the_search_knows_every_notion(tmp_path: Path) -> None:
    index = tmp_path / "search" / "search_index.json"
    index.parent.mkdir()
    index.write_text('{"docs": [{"location": "", "title": "Start", "text": ""}]}')
    hook("_glossary").on_post_build({"site_dir": str(tmp_path)})
    found = {entry["title"]: entry["location"] for entry in json.loads(index.read_text())["docs"]}
    assert found["Start"] == ""
    assert found["Miracle theorem"] == "papers/qif-book/#notion-miracle-theorem"
    assert found["Renyi differential privacy"] == "papers/renyi-dp/#notion-renyi-differential-privacy"
    assert found["(epsilon, delta)-differential privacy"].startswith("papers/privacy-loss-variants/#")


def test_every_call_and_option_of_the_cheat_sheet_exists() -> None:
    import click
    from typer.main import get_command

    from divulge.cli.main import app

    code = re.findall(r"`([^`]+)`", SOURCES["cheat-sheet.md"])
    commands: Any = get_command(app)
    context = click.Context(commands)
    for call in code:
        for name in re.findall(r"\bdv\.([\w.]+)", call):
            found: Any = dv
            for part in name.split("."):
                found = getattr(found, part)
        if call.startswith("divulge "):
            command = commands.get_command(context, call.split()[1])
            options = {option for parameter in command.params for option in parameter.opts}
            assert set(re.findall(r"(?<= )--?[a-z][\w-]*", call)) <= options, call
    assert sum(call.startswith("divulge ") for call in code) > 12


def test_benchmarks_are_shown_with_machine_versions_and_ratios_of_one_run() -> None:
    made = hook("_benchmarks")
    text = made.on_page_markdown("before <!-- benchmarks --> after")
    run = json.loads((DOCS / "benchmarks" / "results.json").read_text())
    assert text.startswith(f"before `{run['command']}` on {run['date']}")
    assert run["processor"] in text
    assert all(f"| {row['work']} |" in text for row in run["rows"])
    assert all((DOCS / "benchmarks" / one["file"]).exists() and one["alt"] in text for one in run["pictures"])
    assert made._time(2e-9) == "2 ns"
    assert made._time(0.25) == "250 ms"
    goals = [row for row in run["rows"] if row["goal"]]
    assert f"Of {len(goals)} goals {sum(row['reached'] is True for row in goals)} are reached" in text
    assert all(f"asked: {row['goal']}" in text for row in goals if row["reached"] is False)
    assert ("quick run" in text) == ("--quick" in run["command"])


def test_benchmarks_say_what_was_missed_or_not_measured_and_whether_the_machine_was_busy() -> None:
    row = {"work": "sum", "what": "numbers", "size": 9, "seconds": 2.0, "of": "one read", "ratio": 3.0, "wrong": ""}
    kept, missed = row | {"goal": "4 x one read", "reached": True}, row | {"goal": "2 x one read", "reached": False}
    lost = row | {"work": "lost", "goal": "1 s", "reached": None}
    idle = {"command": "python benchmarks/all.py", "load": 0.3, "cores": 2, "rows": [kept, missed, lost]}
    say = hook("_benchmarks").verdict
    assert say(idle) == (
        "**Of 3 goals 1 are reached.** Not measured: lost.\n\n"
        "Missed:\n\n- sum of 9 numbers: 3 × one read, asked: 2 x one read"
    )
    assert "busy" in say(idle | {"load": 5.0})
    assert say(idle | {"rows": [kept]}) == "**Of 1 goals 1 are reached.**"
    there = {"oldest": {"ratio": 2.5, "reached": True}, "newest": {"ratio": None, "reached": None}}
    shown = hook("_benchmarks")._row(kept | {"peer": None, "limit": None, "bytes": None, "imitated": there})
    assert "| oldest 2.5 reached, newest not measured |" in shown


def test_goals_are_ratios_in_one_run_that_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each goal is about something that takes turns with ours, at sizes that are measured; the middle ratio counts."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spec = importlib.util.spec_from_file_location("all_benchmarks", DOCS.parent / "benchmarks" / "all.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for work in made.loaded().WORK:
        assert all(goal.of in work.beside and set(goal.sizes) <= set(work.sizes) for goal in work.goals), work.title
    laps = {"divulge": iter([9.0, 4.0, 1.0, 2.0, 8.0, 3.0]), "peer": repeat(2.0)}
    monkeypatch.setattr(made, "lap", lambda task, times: next(laps[task]))
    found = made.in_turns({name: name for name in laps}, {"divulge": 9.0, "peer": 2.0}, 20.0)
    assert found == ({"divulge": 3.0, "peer": 2.0}, {"divulge": 1.0, "peer": 1.5})
    assert made.in_turns({"divulge": None, "peer": None}, {"divulge": 90.0, "peer": 60.0}, 20.0)[1]["peer"] == 1.5


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    made = hook("_reference")
    pages = {path: text for module in made.TITLES for path, text in made.module_pages(module).items()}
    listed = [name for text in pages.values() for name in re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)]
    wanted = [f"{'divulge' if module == 'divulge' else f'divulge.{module}'}.{name}"
              for module in made.TITLES for name in made.names_of(module)]  # fmt: skip
    assert sorted(listed) == sorted(wanted)
    nav = (DOCS.parent / "mkdocs.yml").read_text()
    for path, text in pages.items():
        assert f" {path}\n" in nav
        for page, name in re.findall(r"\]\(([\w-]*\.?m?d?)#([\w.]+)\)", text):
            assert f"::: {name}" in (pages[f"reference/{page}"] if page else text)


def test_every_docstring_of_the_reference_is_read_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A section that mkdocstrings cannot read stops the build of the site, of which the suite makes a draft."""
    from griffe import Docstring

    made, read = hook("_reference"), 0
    for module in made.TITLES:
        place = "divulge" if module == "divulge" else f"divulge.{module}"
        for name in made.names_of(module):
            for text in made.docstrings(place, name):
                read += bool(Docstring(text).parse("numpy", warn_missing_types=False))
                assert not caplog.records, f"{place}.{name}: {caplog.text}"
    assert read > 800
