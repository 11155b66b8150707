"""Every number that a module names says beside it what it is and why it is as large as it is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import divulge as dv

SOURCE = Path(dv.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
SHORTEST = 20
"""Characters of a reason: fewer say nothing that the name does not."""
MOST_TOGETHER = 2
"""Numbers in one statement: one sentence can give the reasons of two that belong together, such as ends."""
CAPITALS = re.compile(r"^_*[A-Z][A-Z0-9_]*\b[^=\n]*=.*\d", re.MULTILINE)
"""A line that gives a number to a name in capitals; files without one need no parsing."""
CODES = {"cli/main.py", "files/foreign/old_workbooks.py"}
"""Files whose numbers were given by others, as exit codes and kinds of records: one sentence says what they are."""


def is_number(value: ast.expr) -> bool:
    """Say whether an expression is made of numbers alone, by arithmetic or as a Fraction, and is no bare name."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return is_number(value.left) and is_number(value.right)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "Fraction" and all(map(is_number, value.args))
    return False


def numbers(statement: ast.stmt) -> list[str]:
    """Return the names that a statement gives to numbers, when they are constants by their spelling."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return []
    target, value = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target, statement.value
    both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    pairs = zip(target.elts, value.elts, strict=True) if both else [(target, value)]
    named = ((one.id, number) for one, number in pairs if isinstance(one, ast.Name))
    return [name for name, number in named if name.strip("_").isupper() and is_number(number)]


def without_reason(text: str, most: int = MOST_TOGETHER) -> Iterator[str]:
    """Yield each number that has no docstring behind it and no comment beside it, or shares it with too many."""
    lines, body = text.splitlines(), ast.parse(text).body
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if not (names := numbers(statement)):
            continue
        said = lines[statement.lineno - 1].partition("#")[2]
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            said = str(after.value.value)
        if len(said.strip()) < SHORTEST or len(names) > most:
            yield f"{', '.join(names)} (line {statement.lineno})"


def test_every_number_gives_its_reason():
    for path in FILES:
        most, text = 9 if str(path.relative_to(SOURCE)) in CODES else MOST_TOGETHER, path.read_text()
        if CAPITALS.search(text):
            assert not list(without_reason(text, most)), path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("_MOST = 10\n_LEAST = 2\n\"\"\"Rows that fit on a page.\"\"\"\n", ["_MOST (line 1)"]),
        ("A, B = 1 << 4, -2.0**-53\n", ["A, B (line 1)"]),
        ("CLOSE: float = 1e-9\n\nx = 1\n", ["CLOSE (line 1)"]),
        ("USED = Fraction(1, 10**9)  # small\n", ["USED (line 1)"]),
        ("MOST = 5  # the sixth would not fit on a page\n", []),
        ("A, B, C = 1, 2, 3\n\"\"\"What the first, the second and the third are for.\"\"\"\n", ["A, B, C (line 1)"]),
        ("NAMES = (\"a\", \"b\")\nmost = 5\nON = True\n", []),
    ],
)  # fmt: skip
def test_a_number_without_a_reason_is_seen(text, names):
    assert list(without_reason(text)) == names
    assert CAPITALS.search(text) or not names
