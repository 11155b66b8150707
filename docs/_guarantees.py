"""Fill the pages on guarantees, theorems and privacy loss from tables of kinds, theorems, subjects and questions."""

import re
from functools import partial
from typing import Any

from divulge.dp.knowledge import QUESTIONS, TITLES
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.catalog import KINDS
from divulge.guarantees.theorems import FAMILIES

TIGHT = {"equal": "equal", "attained": "attained", "limit": "in the limit", "no": "not tight"}
SIGNS = {
    r"\^\(([^()]*)\)": r"<sup>\1</sup>",
    r"\^(-?\w+)": r"<sup>\1</sup>",
    r"(?<=[A-Za-z])_\{([^{}]*)\}": r"<sub>\1</sub>",
    r"(?<=\b[A-Za-z])_([\w']+)": r"<sub>\1</sub>",
    r"(?<=max|min|sum)_(\w+)": r"<sub>\1</sub>",
    "<=": "≤",
    ">=": "≥",
    "->": "→",
    r"\|": "&#124;",
}
"""Formulas as they are written in code -> as they are read on a page."""


def _read(text: str) -> str:
    for written, shown in SIGNS.items():
        text = re.sub(written, shown, text)
    return text


def _table(*rows: tuple[str, ...]) -> str:
    """Return a table; the first row is its head."""
    head, *others = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *others])


def kinds() -> str:
    """Return the table of kinds."""
    rows = [("written", "guarantee", "about")]
    for kind in KINDS.values():
        form = (kind.forms or (kind.parameters(),))[0]
        meaning = (kind.__doc__ or "").split("\n", 1)[0]
        rows.append((f"`{kind.kind}={':'.join(name.upper() for name in form)}`", _read(meaning), f"a {kind.about}"))
    return _table(*rows)


def _row(theorem: Theorem) -> tuple[str, ...]:
    given = " and ".join(f"`{kind.kind}`" for kind in theorem.given) or "any mechanism"
    needs = ", ".join(CONDITIONS[name][0] for name in theorem.needs) or "nothing"
    tight = f"{TIGHT[theorem.tight]}: {_read(theorem.remark)}" if theorem.remark else TIGHT[theorem.tight]
    name = f"{theorem.name}<br><small>{_read(theorem.source)}</small>"
    return name, f"{given} → `{theorem.implies.kind}`", _read(theorem.formula), _read(needs), tight


LOSSES = "Pure differential privacy"
"""The first family of theorems about the privacy loss: these, and those after it, are on a page of their own."""


def theorems(*, losses: bool = False) -> str:
    """Return the tables of theorems, one a family: those about information, tables and distances, or about losses."""
    head = ("theorem", "from → follows", "bound", "knowing", "tight")
    first = list(FAMILIES).index(LOSSES)
    shown = list(FAMILIES.items())[first:] if losses else list(FAMILIES.items())[:first]
    return "\n\n".join(f"## {title}\n\n{_table(head, *map(_row, rows))}" for title, rows in shown)


ANSWERS = {
    "exact": "exactly",
    "upper": "from above",
    "theorem": "from above, by a theorem",
    "refused": "not at all",
}


def subjects() -> str:
    """Return the table of what each kind of subject answers, and how."""
    rows = [("asked", *TITLES.values())]
    for question in QUESTIONS.values():
        asked = f"{question.title}<br><small>{', '.join(f'`{name}`' for name in question.functions)}</small>"
        rows.append((asked, *(ANSWERS[answer] for answer in question.answers)))
    return _table(*rows)


PARTS = {"kinds": kinds, "theorems": theorems, "loss_theorems": partial(theorems, losses=True), "subjects": subjects}
PAGES = {"guarantees.md", "theorems.md", "theorems-dp.md", "privacy-loss.md"}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_path not in PAGES:
        return markdown
    for name, part in PARTS.items():
        if f"<!-- {name} -->" in markdown:
            markdown = markdown.replace(f"<!-- {name} -->", part())
    return markdown
