"""A statement as one HTML page and as text."""

from textwrap import fill
from typing import TYPE_CHECKING

from divulge.reporting.page import POLICY, STYLE, Html, tag
from divulge.reporting.statements.parts import Grid, Head, Map, Para, Part, People
from divulge.reporting.statements.voice import Label, Text, plain
from divulge.reporting.text import table_lines

if TYPE_CHECKING:
    from divulge.reporting.statements.statement import Statement

_WIDTH = 88
"""Characters of a line: it fits on a sheet of paper at ten points, and on every terminal of today."""
_CELL = 30
"""Characters of a cell of a table, beyond which it goes on below: three of them fill a line."""


def as_page(statement: "Statement") -> str:
    """Return the page: the headline, then sections, each with its question."""
    voice = statement.voice
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("title", plain(statement.title)),
        tag("style", Html(STYLE + _STYLE)),
    )
    body = tag(
        "body",
        tag("a", *_inside(voice.say("skip")), href="#part-1", class_="skip"),
        tag("header", tag("p", *_inside(voice.say("kind")), class_="kind"), tag("h1", *_inside(statement.title))),
        tag("main", *_sections(statement.parts)),
        tag("footer", tag("p", *_inside(voice.say("made")))),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang=statement.language)}\n"


def _inside(text: Text) -> tuple[str, ...]:
    """Return a text as HTML: labels are isolated, so that their direction does not turn the sentence."""
    return tuple(tag("bdi", part.text) if isinstance(part, Label) else part for part in text)


def _sections(parts: tuple[Part, ...]) -> list[Html]:
    found: list[Html] = []
    open_head: Head | None = None
    inside: list[Part] = []

    def close() -> None:
        if open_head is None:
            found.extend(_blocks(inside))
            return
        number = f"part-{len(found)}"
        blocks = _blocks(inside)
        if open_head.folded:
            summary = tag("summary", tag("h2", *_inside(open_head.text)))
            found.append(tag("section", tag("details", summary, *blocks), id=number))
        else:
            title = tag("h2", *_inside(open_head.text), id=f"{number}-title")
            found.append(tag("section", title, *blocks, id=number, **{"aria-labelledby": f"{number}-title"}))

    for part in parts:
        if isinstance(part, Head):
            close()
            open_head, inside = part, []
        else:
            inside.append(part)
    close()
    return found


def _blocks(parts: list[Part]) -> list[Html]:
    found: list[Html] = []
    items: list[Html] = []
    for part in [*parts, None]:
        if isinstance(part, Para) and part.tone == "item":
            items.append(tag("li", *_inside(part.text)))
            continue
        if items:
            found.append(tag("ul", *items))
            items = []
        if isinstance(part, Para):
            found.append(_para(part))
        elif isinstance(part, Grid):
            found.append(_grid(part))
        elif isinstance(part, People):
            found.append(_people(part))
        elif isinstance(part, Map):
            found.append(_map(part))
    return found


def _para(part: Para) -> Html:
    inside = _inside(part.text)
    return tag("p", *inside, class_=part.tone) if part.tone else tag("p", *inside)


def _grid(part: Grid) -> Html:
    def cell(kind: str, place: int, text: Text, **more: str) -> Html:
        return tag(kind, *_inside(text), class_="text" if place in part.left else "number", **more)

    head = [cell("th", i, text, scope="col") for i, text in enumerate(part.header)]
    body = [tag("tr", *(cell("td", i, text) for i, text in enumerate(row))) for row in part.rows]
    return tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="grid")


def _people(part: People) -> Html:
    """Return 100 figures in rows of 20: a head and shoulders each, the first ones filled."""
    figures: list[Html] = []
    for i in range(100):
        x, y = 16 * (i % 20), 24 * (i // 20)
        kind = "own" if i < part.filled else "other"
        figures.append(
            Html(
                f'<g class="{kind}" transform="translate({x} {y})"><circle cx="8" cy="6" r="4"/>'
                '<path d="M2 21v-4a6 6 0 0 1 12 0v4z"/></g>'
            )
        )
    drawing = tag(
        "svg", *figures, viewBox="0 0 320 120", role="img", class_="people", **{"aria-label": plain(part.alt)}
    )
    return tag("figure", drawing, tag("figcaption", *_inside(part.caption)))


def _map(part: Map) -> Html:
    """Return the outline of a region, circles around a point in its middle, and a scale; 320 wide."""
    width, height = part.size
    unit = 300 / max(width, height)
    w, h = width * unit, height * unit
    circles = [
        f'<circle cx="{10 + w / 2:.1f}" cy="{10 + h / 2:.1f}" r="{r * unit:.1f}" class="ring" '
        f'stroke-dasharray="{dash}"/>'
        for r, dash in zip(part.radii, ("0", "6 4"), strict=True)
    ]
    middle = f'<circle cx="{10 + w / 2:.1f}" cy="{10 + h / 2:.1f}" r="2.5" class="own"/>'
    outline = f'<rect x="10" y="10" width="{w:.1f}" height="{h:.1f}" class="other"/>'
    bar = f'<path d="M10 {h + 22:.1f}h{part.bar * unit:.1f}" class="bar"/>'
    drawing = tag(
        "svg", Html(outline + "".join(circles) + middle + bar),
        tag("text", part.scale, x=f"{14 + part.bar * unit:.1f}", y=f"{h + 26:.1f}"),
        viewBox=f"0 0 {w + 20:.1f} {h + 32:.1f}", role="img", class_="map", **{"aria-label": plain(part.alt)},
    )  # fmt: skip
    return tag("figure", drawing, tag("figcaption", *_inside(part.caption)))


def as_text(statement: "Statement") -> str:
    """Return the statement for a terminal or a letter."""
    title = plain(statement.title)
    lines = [title, "=" * min(len(title), _WIDTH), ""]
    for part in statement.parts:
        if isinstance(part, Head):
            text = plain(part.text)
            lines += ["", text, "-" * len(text), ""]
        elif isinstance(part, Para):
            first = "- " if part.tone == "item" else ""
            lines += [fill(plain(part.text), _WIDTH, initial_indent=first, subsequent_indent=" " * len(first)), ""]
        elif isinstance(part, Grid):
            texts = [[plain(text) for text in row] for row in (part.header, *part.rows)]
            lines += [*table_lines(texts, part.left, _CELL), ""]
        elif isinstance(part, Map):
            lines += [fill(f"{plain(part.alt)} {plain(part.caption)}", _WIDTH), ""]
        else:
            lines += ["".join("#" if i < part.filled else "." for i in range(start, start + 20))
                      for start in range(0, 100, 20)]  # fmt: skip
            lines += [fill(plain(part.caption), _WIDTH), ""]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


_STYLE = """
body { max-width: 46rem; }
.lead { font-size: 1.2rem; line-height: 1.45; border-left: 5px solid var(--link); background: var(--card);
  padding: .7rem 1rem; border-radius: .25rem; }
.warn { border-left: 5px solid var(--bad); background: var(--card); padding: .6rem 1rem; border-radius: .25rem; }
h2 { margin-top: 1.6rem; font-size: 1.2rem; }
summary h2 { display: inline; border: 0; margin: 0; }
details { border-top: 1px solid var(--line); padding-top: .8rem; margin-top: 1.6rem; }
table.grid { width: 100%; min-width: 0; table-layout: auto; margin: .8rem 0; }
table.grid th, table.grid td { overflow-wrap: anywhere; max-width: none; white-space: normal; }
table.grid td.number { font-variant-numeric: tabular-nums; overflow-wrap: normal; }
svg.people { width: 100%; max-width: 24rem; height: auto; display: block; }
.people .own { fill: var(--link); stroke: var(--link); }
.people .other { fill: none; stroke: var(--soft); }
.people g { stroke-width: 1.2; }
svg.map { width: 100%; max-width: 24rem; height: auto; display: block; overflow: hidden; }
.map .own { fill: var(--link); }
.map .other { fill: none; stroke: var(--soft); }
.map .ring { fill: none; stroke: var(--link); stroke-width: 1.6; }
.map .bar { stroke: currentColor; stroke-width: 2; }
.map text { font-size: 11px; fill: currentColor; }
@media (max-width: 34rem) {
  table.grid { font-size: .82rem; }
  table.grid th, table.grid td { padding: .3rem .25rem; min-width: 3rem; }
  table.grid .text { min-width: 5.4rem; }
  table.grid th { font-size: .74rem; font-weight: 500; hyphens: auto; }
}
@media print { body { font-size: 9.5pt; } h2 { margin-top: .8rem; padding-top: .3rem; }
  details > *:not(summary) { display: block; } }
"""
