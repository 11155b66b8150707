"""Every example in the documentation is run: `>>>` in python blocks, `$ divulge ...` in console blocks."""

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
