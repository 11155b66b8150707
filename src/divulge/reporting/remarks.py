"""Remarks of the library in other languages: a sentence is looked up by what stands around its names and numbers."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache, partial

from divulge.extras import require
from divulge.reporting.statements.voice import Voice, texts

_BLANK = re.compile(r"\{(\w+)\}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBERS = re.compile(r"[\d.,]*\d(?:e[-+]?\d+)?")
_LEVEL = rf"[a-z]+ {_NUMBERS.pattern}(?: at delta {_NUMBERS.pattern})?"
_LEVELS = re.compile(rf"{_LEVEL}(?:, {_LEVEL})*")
"""Guarantees with their levels."""
_QUOTED = re.compile(r"'([^'\n]*)'")
_OF_A_FILE = re.compile(r"(?!Hint: )([^\n`]{1,200}?): (.+)", re.DOTALL)
_HELD = r"(?:(?!\. Hint: ).)+?"
"""What a blank holds: no hint, which is a sentence of its own."""
_LIST = re.compile(r"(?<=') and (?=')")
_MORE = re.compile(r" and ([\d,]+) more$")
"""How a list ends of which the first are shown."""
WORDS = "words"
"""A blank whose name begins so holds words of the library, which are looked up too; any other a name or a number."""


def remark(voice: Voice, text: str) -> str:
    """Return a remark of the library in a language: sentences that its file has, with their names and numbers.

    A sentence that is not there stays as it is.

    >>> remark(Voice("de"), "about 94 of 100 rows stand in 'survey.csv' of 2026-03-01: counted as the same people")
    'etwa 94 von 100 Zeilen stehen in „survey.csv“ vom 01.03.2026: Sie gelten als dieselben Menschen'
    >>> remark(Voice("de"), "Something else.")
    'Something else.'
    """
    if voice.language == "en":
        return text
    found = _said(voice, text)
    if found is not None:
        return found
    parts = re.split(r"(?<=[.!?]) (?=[A-Z“'\d])", text)
    done: list[str] = []
    while parts:
        for end in range(len(parts), 0, -1):
            said = _said(voice, " ".join(parts[:end]))
            if said is not None or end == 1:
                done.append(parts[0] if said is None else said)
                del parts[:end]
                break
    return " ".join(done)


def _said(voice: Voice, text: str) -> str | None:
    """Return a text as one sentence of the file, None where it has none like it; of several the one with most words."""
    if text in texts(voice.language):
        return voice.known(text)
    for pattern, said in _near(voice.language, text):
        if found := pattern.fullmatch(text):
            return _BLANK.sub(partial(_filled, voice, found), said)
    of_a_file = _OF_A_FILE.fullmatch(text)
    said = None if of_a_file is None else _said(voice, of_a_file[2])
    return None if of_a_file is None or said is None else f"{of_a_file[1]}: {said}"


def _filled(voice: Voice, found: re.Match[str], blank: re.Match[str]) -> str:
    """Return what fills a blank: numbers and dates as the language writes them, names in its quotation marks."""
    held = found[f"b{blank[1]}"]
    if blank[1].startswith(WORDS):
        parts = [_said(voice, part) or part for part in held.split("; ")]
        if parts == [held]:
            parts = [", ".join(_said(voice, part) or part for part in held.split(", "))]
        return "; ".join(parts)
    if _DATE.fullmatch(held):
        return str(require("babel.dates", "release").format_date(date.fromisoformat(held), locale=voice.language))
    if _NUMBERS.fullmatch(held):
        return voice.numeral(held)
    if _LEVELS.fullmatch(held):
        return voice.levels(held)
    listed = _LIST.sub(f" {voice.text('and')} ", held)
    listed = _MORE.sub(lambda rest: voice.text("rest_more", count=voice.numeral(rest[1])), listed)
    return _QUOTED.sub(lambda label: voice.text("quoted", label=label[1]), listed)


def _near(language: str, text: str) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield the sentences that begin like a text, those that do so in words, and then those with most words, first."""
    for begins, template, said in _templates(language):
        if text.startswith(begins):
            yield _pattern(template), said


@cache
def _templates(language: str) -> tuple[tuple[str, str, str], ...]:
    found = [(_BLANK.split(one)[0], one, said) for one, said in texts(language).items() if _BLANK.search(one)]
    found = [one for one in found if len(re.findall(r"[a-z]{2,}", _BLANK.sub("", one[1]))) > 1]
    return tuple(sorted(found, key=lambda one: (not one[0], -len(_BLANK.sub("", one[1])))))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """Return what finds a sentence and its blanks; a blank that stands twice holds the same twice."""
    parts = _BLANK.split(template)
    seen = set[str]()
    for i in range(1, len(parts), 2):
        name = parts[i]
        parts[i] = f"(?P=b{name})" if name in seen else f"(?P<b{name}>{_HELD})"
        seen.add(name)
    return re.compile("".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts)), re.DOTALL)
