"""Every example in the documentation is run: `>>>` in python blocks, `$ divulge ...` in console blocks."""

import ast
import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support import NEVER, THOROUGH
from typer.testing import CliRunner

from divulge.cli.main import app
from divulge.publishing.counting import bounds

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
BLOCK = re.compile(r"^```(python|console)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

LONG: dict[str, tuple[str, ...]] = {
    "docs/adversaries.md": ("race, occupation = ",),
    "docs/composition.md": (
        "round(training.epsilon(1e-6)", "found = dv.compose((replaced, 100)", "round(dv.compose(shuffled)",
        "found = dv.compose(among_hundred)", 'round(dv.calibrate("shuffled"',
    ),
    "docs/design.md": ("three = dv.design(", 'best = dv.design(many, dv.LDP(1), utility="estimation")'),
    "docs/for-publishers.md": ("divulge publish survey.csv",),
    "docs/frontier.md": ("curve = dv.frontier(race,", "divulge design --prior people.parquet:race"),
    "docs/millions.md": (
        "dv.PML(0.42).holds_for", 'dv.protocols.choose(words, "pml=1"', "found = reports.frequencies(confidence",
    ),
    "docs/noise.md": ("round(g.envelope_threshold(",),
    "docs/papers/dobrushin.md": ("for n, c in ",),
    "docs/papers/envelopes.md": ("round(two.envelope_threshold(", "round(normal.quantile("),
    "docs/papers/information-density-bounds.md": ("round(bound.distance, 6)",),
    "docs/papers/introducing-pml.md": ("all(dv.leakage((P, Q), gain,",),
    "docs/papers/pufferfish.md": ("[wasserstein(",),
    "docs/papers/qif-book.md": ("at_end = ", "early = "),
    "docs/papers/worst-case-utility.md": ("best = {eps: next(", "try:", "[next(level for level in levels if reaches("),
    "docs/peers.md": ("import autodp", "ours = dv.compose("),
    "docs/privacy-loss.md": ("[round(dv.compose((one, 50))",),
    "docs/release.md": (
        "seen = dv.preview(", 'dv.release(census_path(), column="race", guarantee="pml=0.5"',
        "best = dv.release(census_path()", 'both = dv.release(census_path(), column=["sex"',
    ),
    "docs/report.md": ('found.save("race.html")',),
    "docs/statistics.md": (
        'mean = dv.publish("census.parquet", dv.Mean("age", bounds="auto")', 'words = dv.publish("census.parquet"',
        'medians = dv.publish("census.parquet"', 'one = dv.publish("census.parquet"', 'even = dv.publish("census',
        '_ = dv.release("census.parquet"', "more = dv.publish(", 'round(dv.Ledger("ledger.sqlite")',
    ),
    "docs/walkthrough.md": ("divulge release pairs.parquet", "divulge estimate again.parquet"),
}  # fmt: skip
"""How the examples begin that take a quarter of a second and more, of pages with others that are like them: they run,
with what needs a name that only they give, in `make search` alone."""


class Reader:
    """Whoever does what a page shows, one example after the other, but for what is `long`."""

    def __init__(self, page: Path, long: tuple[str, ...]) -> None:
        self.page, self.long = page, long
        self.names: dict[str, Any] = {}
        self.unknown: set[str] = set()
        self.done = 0

    def left(self, source: str) -> bool:
        """Say whether code is left out, and keep which names are not there for it."""
        nodes = list(ast.walk(ast.parse(source)))
        used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        given = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        given |= {(node.asname or node.name).partition(".")[0] for node in nodes if isinstance(node, ast.alias)}
        given |= {node.name for node in nodes if isinstance(node, DOCUMENTED[1:])}
        out = source.startswith(self.long) or bool(used & self.unknown)
        self.unknown = self.unknown | given if out else self.unknown - given
        self.done += not out
        return out

    def python(self, source: str, line: int) -> None:
        if ">>>" not in source:
            if not self.left(source):
                exec(compile(source, f"{self.page.name}:{line}", "exec"), self.names)
            return
        test = doctest.DocTestParser().get_doctest(source, self.names, f"{self.page.name}:{line}", str(self.page), line)
        test.examples = [one for one in test.examples if not self.left(one.source)]
        said: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        assert not said, "".join(said)

    def console(self, source: str) -> None:
        for step in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
            if not step.startswith(self.long):
                self.done += 1
                run_command(step, self.page)


def run_command(step: str, page: Path) -> None:
    command, _, expected = step.replace("\\\n", " ").partition("\n")
    program, *arguments = shlex.split(command, comments=True)
    assert program == "divulge", f"{page.name}: a console block runs divulge only; put {program!r} into a sh block"
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
    assert result.exception is None or isinstance(result.exception, SystemExit), f"{command}: {result.exception!r}"
    assert result.exit_code in (0, 1), f"{command}: {result.output}"
    agrees = doctest.OutputChecker().check_output(expected, result.stdout, FLAGS)
    assert agrees or not expected.strip(), f"{command} printed\n{result.stdout}"


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bounds, "_SURELY", 1 - NEVER)  # bounds that noise chooses are else too wide once in a hundred
    text, long = page.read_text(), LONG.get(str(page.relative_to(ROOT)), ())
    reader = Reader(page, () if THOROUGH else long)
    for block in BLOCK.finditer(text):
        kind, source = block.groups()
        if kind == "python":
            reader.python(source, text.count("\n", 0, block.start()) + 1)
        else:
            reader.console(source)
    assert reader.done or not BLOCK.search(text)
    assert all(re.search(rf"^(>>> |\$ |){re.escape(one)}", text, re.MULTILINE) for one in long), long


def test_what_needs_what_is_left_out_is_left_out_too(tmp_path: Path) -> None:
    reader = Reader(tmp_path, ("x = ",))
    lines = (
        "x = 1",
        "y = f(x)",
        "y",
        "z = 1",
        "y = 2",
        "y + z",
        "from x import a as b",
        "def g():\n    return x",
        "g()",
    )
    assert [reader.left(line) for line in lines] == [True, True, True, False, False, False, False, True, True]
    assert reader.done == 4


SOURCES = sorted((ROOT / "src").rglob("*.py"))
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?(?![\w.])")


def last_digits(text: str) -> list[str]:
    """Return the numbers of a text that are written with more than 12 significant digits."""
    return [n for n in NUMBER.findall(text) if len(n.partition("e")[0].replace(".", "").lstrip("0")) > 12]


def shown(path: Path) -> str:
    """Return what the examples of a page or module print."""
    text = path.read_text()
    blocks = [source for kind, source in BLOCK.findall(text) if kind == "console" and path.suffix == ".md"]
    examples = doctest.DocTestParser().get_examples(text if path.suffix == ".md" else _documentation(text))
    return "\n".join([*(example.want for example in examples), *blocks])


def test_no_example_shows_digits_that_another_processor_would_not() -> None:
    assert last_digits("ends in 0.1234567890123") == ["0.1234567890123"]
    many = [path for path in (*PAGES, *SOURCES) if last_digits(path.read_text())]  # to look for examples takes time
    wrong = {str(path.relative_to(ROOT)): last_digits(shown(path)) for path in many}
    assert not {path: digits for path, digits in wrong.items() if digits}


def _documentation(source: str) -> str:
    """Return the docstrings of a module that hold an example."""
    if ">>>" not in source:
        return ""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
    return "\n\n".join(ast.get_docstring(node) or "" for node in nodes)
