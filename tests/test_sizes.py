"""Functions and files of a size that a reader keeps in mind."""

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import divulge as dv

SOURCE = Path(dv.__file__).parent
LONGEST = 90
"""Lines of a function, docstring aside: two screens. The longest has 85."""
MOST = 12
"""Parameters of a function. More come as records, which `divulge.cli.records` takes apart for a command line."""
LARGEST = 600
"""Lines of a file: ten screens; what grows beyond has more than one idea."""
PUBLIC = {"report": 13}
"""Functions with a signature that others rely on, and how many parameters they have."""


def too_large(text: str) -> Iterator[str]:
    """Yield the functions of a module that are too long or have too many parameters."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        head = re.match(r"( *)(?:async )?def (\w+)\(", line)
        if head is None:
            continue
        inside = re.compile(rf"{head[1]}[ )]|$")
        end = next((k for k in range(start + 1, len(lines)) if not inside.match(lines[k])), len(lines))
        block = "\n".join(lines[start:end])
        if end - start <= LONGEST and block.partition(":\n")[0].count(",") < MOST:
            continue  # most need no parsing
        node = ast.parse(textwrap.dedent(block)).body[0]
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        length = len(block.rstrip().splitlines()) - (ast.get_docstring(node, clean=False) or "").count("\n")
        parameters = len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs)
        if length > LONGEST or parameters > max(MOST, PUBLIC.get(node.name, 0)):
            yield node.name


def test_no_function_and_no_file_is_too_large() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert not list(too_large(text)), path
        assert text.count("\n") <= LARGEST, path


def test_a_large_function_is_seen() -> None:
    assert list(too_large("def f(" + ", ".join(f"a{i}" for i in range(13)) + "): pass")) == ["f"]
    assert list(too_large("def f():\n" + "    x = 1\n" * 91)) == ["f"]
    assert not list(too_large('def f():\n    """\n' + "    x\n" * 91 + '    """\n'))
