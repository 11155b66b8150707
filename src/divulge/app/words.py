"""Pages in other languages: the sentences of templates, found where they stand, in the file of all sentences.

A sentence is what stands between two tags or statements of a template, with {1}, {2}, ... where something is filled in;
a translator may put these in another order. What is emphasized is part of its sentence.
"""

import re
from collections.abc import Callable
from functools import partial
from textwrap import wrap
from typing import Any

from divulge.model.shown import at_least, at_most
from divulge.reporting.statements.voice import Voice, languages

_EXPRESSION = r"\{\{.*?\}\}"
_STATEMENT = r"\{%.*?%\}|\{#.*?#\}"
_INLINE = r"(?:strong|code)\b"
_APART = re.compile(
    rf"({_STATEMENT}|<script.*?</script>|<!doctype[^>]*>"
    rf"|</?(?!{_INLINE})[a-z](?:{_EXPRESSION}|{_STATEMENT}|\"(?:{_EXPRESSION}|{_STATEMENT}|[^\"])*\"|'[^']*'|[^>])*>)",
    re.DOTALL | re.IGNORECASE,
)
"""What stands between sentences; attributes may hold quotation marks inside of expressions."""
_FILLED = re.compile(_EXPRESSION, re.DOTALL)
_SAID = re.compile(rf'\b(aria-label|placeholder)="((?:{_EXPRESSION}|[^"])*)"', re.DOTALL)
"""Attributes that people read or hear."""
_OWN = re.compile(r'<html lang="en">')


def sentences(source: str) -> list[str]:
    """Return the sentences of a template, in order.

    >>> sentences('<p title="x">{{ n }} rows of <strong>{{ name }}</strong>.</p>{% if a %}<b>Go</b>{% endif %}')
    ['{1} rows of <strong>{2}</strong>.', 'Go']
    """
    found: list[str] = []

    def kept(sentence: str) -> str:
        found.append(sentence)
        return sentence

    _mapped(source, kept)
    return found


def translated(source: str, voice: Voice) -> str:
    """Return a template with its sentences in another language.

    >>> translated('<p>Release</p><a href="how">{{ x }}</a>', Voice("de"))
    '<p>Veröffentlichen</p><a href="how">{{ x }}</a>'
    """
    if voice.language == "en":
        return source
    return _OWN.sub(f'<html lang="{voice.language}">', _mapped(source, voice.known))


def _mapped(source: str, change: Callable[[str], str]) -> str:
    """Return a template with every sentence changed."""
    parts = _APART.split(source)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = _changed(part, change)
        elif part.startswith("<"):
            parts[i] = _SAID.sub(lambda found: f'{found[1]}="{_changed(found[2], change)}"', part)
    return "".join(parts)


def _changed(text: str, change: Callable[[str], str]) -> str:
    filled: list[str] = _FILLED.findall(text)
    places = iter(range(1, len(filled) + 1))
    numbered = _FILLED.sub(lambda _: f"{{{next(places)}}}", text)
    bare = numbered.strip()
    if not re.search(r"[A-Za-z]", re.sub(r"<[^>]*>|&\w+;|\{\d+\}", "", bare)):
        return text
    said = change(" ".join(bare.split()))
    start = numbered.index(bare)
    before, after = numbered[:start], numbered[start + len(bare) :]
    return before + re.sub(r"\{(\d+)\}", lambda place: filled[int(place[1]) - 1], said) + after


def filters(voice: Voice, plainly: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Return the filters of templates, with what they write as numbers written as the language does."""

    def inside(function: Callable[..., Any], value: Any, *more: Any, **named: Any) -> Any:
        return spoken(voice, function(value, *more, **named))

    own = {name: partial(inside, function) for name, function in plainly.items()}
    return own | {"t": voice.known, "at_most": partial(inside, at_most), "at_least": partial(inside, at_least),
                  "spoken": partial(spoken, voice)}  # fmt: skip


def spoken(voice: Voice, text: str) -> str:
    """Return a number with the words beside it, such as "fewer than 1 in 1,000", as the language says it.

    >>> spoken(Voice("de"), "1.5 in 100"), spoken(Voice("de"), "no bound"), spoken(Voice(), "1.5 in 100")
    ('1,5 von 100', 'keine Schranke', '1.5 in 100')
    """
    if voice.language == "en":
        return text
    numbers = re.findall(r"\d[\d,.]*(?:e[-+]?\d+|/\d+)?", text)
    places = iter(range(1, len(numbers) + 1))
    said = voice.known(re.sub(r"\d[\d,.]*(?:e[-+]?\d+|/\d+)?", lambda _: f"{{{next(places)}}}", text))
    return re.sub(r"\{(\d+)\}", lambda place: voice.numeral(numbers[int(place[1]) - 1]), said)


WIDEST = 26
"""Characters of a line of an axis' title: what a phone has room for beside a picture."""


def pictured(figure: Any, voice: Voice) -> Any:
    """Return a figure with its words and signs of numbers in a language; names of values are not looked at.

    Titles of axes are in lines that a phone has room for.
    """
    if figure is None:
        return None
    layout: dict[str, Any] = {**figure["layout"]}
    for axis in ("xaxis", "yaxis"):
        if title := layout[axis].get("title"):
            lines = wrap(voice.known(title["text"]), WIDEST, break_long_words=False)
            layout[axis] = {**layout[axis], "title": {"text": "<br>".join(lines), "standoff": 8}, "automargin": True}
    if voice.language == "en":
        return {"data": figure["data"], "layout": layout}
    layout["separators"] = f"{voice.numeral('0.5')[1]}{voice.numeral('1,000')[1]}"
    data = [
        {**one, **{name: voice.known(one[name]) for name in ("name", "hovertemplate") if name in one}}
        for one in figure["data"]
    ]
    return {"data": data, "layout": layout}


def filled(language: str, sentence: str, *values: object) -> str:
    """Return a sentence in a language with values in the places of {1}, {2}, ...

    >>> filled("en", "statistics of {1}", "t.csv"), filled("de", "statistics of {1}", "t.csv")
    ('statistics of t.csv', 'Statistiken aus t.csv')
    """
    said = Voice(language).known(sentence)
    return re.sub(r"\{(\d+)\}", lambda place: str(values[int(place[1]) - 1]), said)


def asked_for(accepted: str) -> str:
    """Return the language of the pages that a browser asks for, else English.

    >>> asked_for("de-AT,de;q=0.9,en;q=0.5"), asked_for("fr-FR,en;q=0.8"), asked_for("")
    ('de', 'en', 'en')
    """
    wanted = [one.strip()[:2].lower() for one in accepted.split(",")]
    return next((one for one in wanted if one in languages()), "en")
