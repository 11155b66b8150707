"""Fill the page on guarantees from the tables of kinds and theorems, and draw its pictures."""

import base64
import io
from typing import Any

from divulge.guarantees.catalog import KINDS
from divulge.guarantees.theorem import CONDITIONS, Theorem
from divulge.guarantees.theorems import DIFFERENTIAL_PRIVACY, INFORMATION_DENSITY, THEOREMS

TIGHT = {"equal": "equal", "attained": "attained", "limit": "in the limit", "no": "not tight"}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def kinds() -> str:
    """Return the table of kinds."""
    lines = ["| written | guarantee | about |", "|---|---|---|"]
    for kind in KINDS.values():
        form = (kind.forms or (kind.parameters(),))[0]
        meaning = (kind.__doc__ or "").split("\n", 1)[0]
        lines.append(f"| `{kind.kind}={':'.join(name.upper() for name in form)}` | {_cell(meaning)} | a {kind.about} |")
    return "\n".join(lines)


def _row(theorem: Theorem) -> str:
    given = " and ".join(kind.kind for kind in theorem.given) or "any mechanism"
    needs = ", ".join(CONDITIONS[name][0] for name in theorem.needs) or "nothing"
    tight = f"{TIGHT[theorem.tight]}: {theorem.remark}" if theorem.remark else TIGHT[theorem.tight]
    cells = (given, theorem.implies.kind, theorem.formula, needs, tight, f"{theorem.name}; {theorem.source}")
    return "| " + " | ".join(map(_cell, cells)) + " |"


def theorems() -> str:
    """Return the table of theorems."""
    head = ["| from | follows | bound | knowing | tight | theorem; source |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *map(_row, THEOREMS)])


def _drawn(axes: Any, title: str) -> str:
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format="svg")
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()})"


def implications() -> str:
    """Return the map of the guarantees on information density as an image."""
    from divulge import plot_implications

    return _drawn(plot_implications(theorems=INFORMATION_DENSITY), "Which guarantee implies which")


def variants() -> str:
    """Return the map of the variants of differential privacy as an image."""
    from divulge import plot_implications

    return _drawn(
        plot_implications(theorems=DIFFERENTIAL_PRIVACY), "Which variant of differential privacy implies which"
    )


def plane() -> str:
    """Return the plane of ALIP bounds as an image."""
    from divulge import plot_alip_plane

    return _drawn(plot_alip_plane(p_min="1/4"), "The plane of bounds on PML and PMC for p_min = 1/4")


PARTS = {"kinds": kinds, "theorems": theorems, "implications": implications, "variants": variants, "plane": plane}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_path != "guarantees.md":
        return markdown
    for name, part in PARTS.items():
        markdown = markdown.replace(f"<!-- {name} -->", part())
    return markdown
