"""A report as one HTML page that holds all it needs, in plain HTML and CSS: no script, nothing from the network."""

import html
from collections.abc import Callable, Sequence
from typing import Any

from divulge.model.shown import printable
from divulge.reporting.blocks import Block, Cards, Folded, Items, Picture, Rows, Section, Shade, Words
from divulge.reporting.reports.pictures import as_address
from divulge.reporting.statements.voice import Voice

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Html(str):
    """Text that is HTML already. All other text is escaped where it becomes part of a page."""

    __slots__ = ()


def tag(kind: str, /, *inside: str, **attributes: str) -> Html:
    """Return an element with what is inside it; text and attributes are escaped.

    >>> tag("p", "1 < 2", tag("b", "&"), id='"x"')
    '<p id="&quot;x&quot;">1 &lt; 2<b>&amp;</b></p>'
    """
    written = "".join(f' {key.strip("_")}="{_escaped(value)}"' for key, value in attributes.items())
    if kind in ("meta", "img"):
        return Html(f"<{kind}{written}>")
    return Html(f"<{kind}{written}>{''.join(map(_escaped, inside))}</{kind}>")


def _escaped(text: str) -> str:
    return text if isinstance(text, Html) else html.escape(printable(text))


def as_page(voice: Voice, about: str, sections: Sequence[Section]) -> str:
    """Return the page of a report on `about`."""
    title = voice.text("r_title", about=about)
    links = [tag("li", tag("a", section.title, href=f"#{section.name}")) for section in sections]
    page = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            tag("title", title),
            tag("style", Html(STYLE)),
        ),
        tag(
            "body",
            tag("a", voice.text("r_skip"), href=f"#{sections[0].name}", class_="skip"),
            tag("header", tag("p", voice.text("r_kind"), class_="kind"), tag("h1", title)),
            tag("nav", tag("ol", *links), **{"aria-label": voice.text("r_contents")}),
            tag("main", *(_section(section, voice.text("r_wide")) for section in sections)),
            tag("footer", tag("p", voice.text("made"))),
        ),
        lang=voice.language,
    )
    return f"<!doctype html>\n{page}\n"


def as_frame(page: str, title: str) -> str:
    """Return a page as a frame inside another one."""
    return tag("iframe", srcdoc=Html(html.escape(page)), style="width:100%;height:80vh;border:0", title=title)


def _section(section: Section, wide: str) -> Html:
    """Return a section; `wide` says below a map that it goes on beside a narrow screen."""
    heading = tag("h2", section.title, id=f"{section.name}-title")
    return tag(
        "section",
        heading,
        *(_block(block, wide) for block in section.blocks),
        id=section.name,
        **{"aria-labelledby": f"{section.name}-title"},
    )


def _block(block: Block, wide: str) -> Html:
    found = _folded(block, wide) if isinstance(block, Folded) else _BLOCKS[type(block)](block)
    if isinstance(block, Rows) and any(isinstance(value, Shade) for row in block.rows for value in row):
        return Html(found + tag("p", wide, class_="more"))
    return found


def _words(block: Words) -> Html:
    return tag("p", block.text, class_=f"verdict {block.tone}") if block.tone else tag("p", block.text)


def _items(block: Items) -> Html:
    return tag("ol" if block.numbered else "ul", *(tag("li", text) for text in block.texts))


def _cards(block: Cards) -> Html:
    cards = [
        tag("li", tag("p", card.title, class_="name"), tag("p", card.number, class_="number"), tag("p", card.text))
        for card in block.cards
    ]
    return tag("ul", *cards, class_="cards")


def _rows(block: Rows) -> Html:
    shaded = any(isinstance(value, Shade) for row in block.rows for value in row)

    def cell(place: int, value: str | Shade) -> Html:
        kind = "text" if place in block.left else "number"
        if isinstance(value, Shade):
            side = "more" if value.level > 0 else "less"
            text = unbroken(value.text) if len(block.header) <= FEW_COLUMNS else value.text
            return tag("td", text, class_=f"number {side}", style=f"--level:{abs(value.level):.3f}")
        name = {"data-label": block.header[place]} if block.header[place] else {}
        text = unbroken(value) if kind == "number" else value
        return tag("td", text, class_=kind, **name) if place else tag("th", value, scope="row")

    head = [
        tag("th", name, scope="col", class_=("text" if i in block.left else "number") + _whole(name))
        for i, name in enumerate(block.header)
    ]
    body = [tag("tr", *(cell(i, value) for i, value in enumerate(row))) for row in block.rows]
    table = tag("table", tag("caption", block.caption), tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", table, class_="wide" if shaded else "wide stack", tabindex="0", role="region",
               **{"aria-label": block.caption})  # fmt: skip


def unbroken(text: str) -> Html:
    """Return a number with the words beside it, which stay in one line but for what an arrow leads to.

    >>> unbroken("11.3 → 30.1 in 1,000")
    '11.3&nbsp;→ 30.1&nbsp;in&nbsp;1,000'
    """
    return Html(_escaped(text).replace(" ", "&nbsp;").replace("→&nbsp;", "→ "))


FEW_COLUMNS = 8
"""In a map of more columns than this a sign may stand above its number: else it is wider than paper."""

SHORT = 9
"""A heading of words up to so long is never divided inside of one."""


def _whole(name: str) -> str:
    return " whole" if all(len(word) <= SHORT for word in name.split()) else ""


def _picture(block: Picture) -> Html:
    image = tag("img", src=as_address(block.draw, block.size), alt=block.alt)
    return tag("figure", image, tag("figcaption", block.caption), tabindex="0")


def _folded(block: Folded, wide: str) -> Html:
    return tag("details", tag("summary", block.title), *(_block(inner, wide) for inner in block.blocks))


_BLOCKS: dict[type, Callable[[Any], Html]] = {
    Words: _words,
    Items: _items,
    Cards: _cards,
    Rows: _rows,
    Picture: _picture,
}

STYLE = """
:root { color-scheme: light dark; --ink: #1d2a33; --soft: #51616d; --paper: #ffffff; --card: #f3f6f8; --line: #d5dde3;
  --link: #0a5d8f; --good: #17704a; --bad: #b3261e; --more: 213 94 0; --less: 0 114 178; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf1; --soft: #a9b7c2; --paper: #12181d; --card: #1c252c;
  --line: #36434d; --link: #7cc4f0; --good: #6fd3a3; --bad: #ff9a8f; }
  figure img { filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
a { color: var(--link); }
a:focus-visible, .wide:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; }
header { border-bottom: 4px solid var(--link); margin-bottom: 1rem; }
.kind { color: var(--soft); letter-spacing: .08em; text-transform: uppercase; font-size: .8rem; margin: 0; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .2rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }
p, main ul, main ol { max-width: 46rem; overflow-wrap: anywhere; }
nav ol { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: 0; padding: 0; list-style: none; font-size: .9rem; }
main .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .8rem; max-width: none;
  padding: 0; list-style: none; }
.cards li { background: var(--card); border-radius: .6rem; padding: .9rem 1rem; border-top: 4px solid var(--link);
  break-inside: avoid; }
.cards p { margin: 0; font-size: .92rem; }
.cards .name { color: var(--soft); font-size: .82rem; }
.cards .number { font-size: 2rem; font-weight: 650; line-height: 1.25; font-variant-numeric: tabular-nums; }
.verdict { border-left: 5px solid var(--soft); background: var(--card); padding: .5rem .9rem; border-radius: .25rem; }
.verdict.good { border-color: var(--good); }
.verdict.bad { border-color: var(--bad); }
.wide { overflow-x: auto; margin: 1.1rem 0; }
table { min-width: min(46rem, 100%); border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; max-width: min(46rem, calc(100vw - 2.5rem)); }
th, td { padding: .32rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: break-word; }
th { text-align: left; font-weight: 600; max-width: 16rem; }
thead th { border-bottom: 2px solid var(--soft); vertical-align: bottom; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
td.more { background: rgb(var(--more) / calc(var(--level) * .62)); }
td.less { background: rgb(var(--less) / calc(var(--level) * .5)); }
summary { cursor: pointer; color: var(--link); padding: .3rem 0; }
summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
figure { margin: 1.2rem 0; break-inside: avoid; }
figure img { max-width: 100%; height: auto; display: block; }
p.more { display: none; color: var(--soft); font-size: .85rem; margin-top: -.6rem; }
@media (max-width: 34rem) { h1 { font-size: 1.5rem; } p.more { display: block; }
  figure { overflow-x: auto; }
  figure img { min-width: 26rem; max-width: none; }
  .stack { overflow: visible; }
  .stack table, .stack tbody, .stack tr, .stack th, .stack td { display: block; width: 100%; min-width: 0;
    max-width: none; }
  .stack caption { display: block; }
  .stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack tr { border-bottom: 2px solid var(--line); padding: .4rem 0; }
  .stack th, .stack td, .stack td.number { border: 0; padding: .1rem 0; text-align: left; white-space: normal;
    overflow-wrap: anywhere; }
  .stack td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); } }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --paper: #fff; --card: #f3f6f8; --line: #bbb;
    --link: #0a5d8f; --good: #17704a; --bad: #b3261e; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .skip { display: none; }
  figure img { filter: none; }
  h2 { break-after: avoid; }
  tr { break-inside: avoid; }
  thead { display: table-header-group; }
  .wide { overflow: visible; }
  p.more { display: none; }
  table { min-width: 0; width: 100%; font-size: 7.5pt; }
  th, td, td.number { padding: .15rem .3rem; white-space: normal; overflow-wrap: anywhere; }
  td.number, th.whole { overflow-wrap: normal; }
  figure { overflow: visible; }
  figure img { min-width: 0; max-width: 100%; }
  summary { list-style: none; }
  details > *:not(summary) { display: block; }
  details::details-content { content-visibility: visible; display: block; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
@page { margin: 18mm 16mm; }
"""
