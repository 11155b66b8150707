"""Every example in the documentation is run: `>>>` in python blocks, `$ divulge ...` in console blocks."""

import ast
import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from divulge.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
BLOCK = re.compile(r"^```(python|console)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_python(source: str, names: dict[str, Any], page: Path, line: int) -> None:
    if ">>>" not in source:
        exec(compile(source, f"{page.name}:{line}", "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(source, names, f"{page.name}:{line}", str(page), line)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not said, "".join(said)


def run_console(source: str, page: Path) -> None:
    for step in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
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
    names: dict[str, Any] = {}
    text = page.read_text()
    for block in BLOCK.finditer(text):
        kind, source = block.groups()
        if kind == "python":
            run_python(source, names, page, text.count("\n", 0, block.start()) + 1)
        else:
            run_console(source, page)


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
