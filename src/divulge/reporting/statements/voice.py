"""What says the sentences of a statement in a language, with its numbers and lists."""

import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.shown import printable
from divulge.reporting.statements.sentences import SENTENCES

BASE = 1000
"""The one unit of chances on the page: of so many people, or rows."""

_ROUNDING = Decimal("1e-12")

_NUMERAL = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
"""A number as Python writes it, with or without commas between thousands."""


@dataclass(frozen=True)
class Label:
    """A label from the data: isolated from the direction of the text around it."""

    text: str


Segment = str | Label
Text = tuple[Segment, ...]


def plain(text: Text) -> str:
    """Return a text without marks for labels.

    >>> plain(("It says ", Label("yes"), "."))
    'It says yes.'
    """
    return "".join(printable(part.text if isinstance(part, Label) else part) for part in text)


def languages() -> tuple[str, ...]:
    """Return the languages there are sentences in.

    >>> languages()
    ('de', 'en')
    """
    found = [path.name.removesuffix(".po") for path in _folder().iterdir() if path.name.endswith(".po")]
    return tuple(sorted({"en", *found}))


def _folder() -> Any:
    return files("divulge.reporting.statements") / "languages"


@cache
def catalog(language: str) -> dict[str, str]:
    """Return {name: sentence} in a language; what is not translated is English."""
    if language not in languages():
        raise DivulgeError.unknown("language", language, languages())
    known = texts(language)
    return {name: known.get(text, text) for name, text in SENTENCES.items()}


@cache
def texts(language: str) -> dict[str, str]:
    """Return {English sentence: the same in a language}, empty for English."""
    if language == "en":
        return {}
    pofile = require("babel.messages.pofile", "release")
    found = pofile.read_po(io.BytesIO((_folder() / f"{language}.po").read_bytes()), locale=language)
    return {message.id: str(message.string) for message in found if message.id and message.string}


@dataclass(frozen=True)
class Voice:
    """Says sentences in a language, with its numbers and lists."""

    language: str = "en"

    def __post_init__(self) -> None:
        catalog(self.language)

    @property
    def sentences(self) -> dict[str, str]:
        """Name -> sentence in this language."""
        return catalog(self.language)

    def say(self, name: str, **values: Any) -> Text:
        """Return a sentence with its values filled in: text, labels, or texts that hold labels.

        >>> plain(Voice().say("most", label=Label("yes"), count="12"))
        '“yes”: 12'
        """
        parts: list[Segment] = []
        for i, part in enumerate(re.split(r"\{(\w+)\}", self.sentences[name])):
            if i % 2 == 0:
                parts.append(part)
                continue
            value = values[part]
            if isinstance(value, Label) and name != "quoted":
                value = self.say("quoted", label=value)
            parts += value if isinstance(value, tuple) else [value if isinstance(value, Label) else str(value)]
        return tuple(part for part in parts if part)

    def text(self, name: str, **values: Any) -> str:
        """Return a sentence as text, with its values filled in.

        >>> Voice().text("percent", number=5), Voice("de").text("percent", number=5)
        ('5%', '5 %')
        """
        return plain(self.say(name, **values))

    def counted(self, count: int, noun: str) -> str:
        """Return so many of something that there are sentences "one_" and "many_" of.

        >>> Voice().counted(1, "row"), Voice("de").counted(2000, "row")
        ('1 row', '2.000 Zeilen')
        """
        return self.text(f"{'one' if count == 1 else 'many'}_{noun}", count=self.number(count, 0))

    def moment(self, text: str) -> str:
        """Return a moment that is written as in ISO 8601 as the language writes it; in English as it is.

        >>> Voice("de").moment("2026-11-23T19:39:11+00:00"), Voice().moment("2026-11-23T19:39:11+00:00")
        ('23.11.2026, 19:39:11 UTC', '2026-11-23T19:39:11+00:00')
        """
        if self.language == "en":
            return text
        dates = require("babel.dates", "release")
        at = datetime.fromisoformat(text).astimezone(UTC)
        return f"{dates.format_datetime(at, 'medium', locale=self.language)} UTC"

    def known(self, text: str) -> str:
        """Return an English sentence in this language where the file of its sentences has it; any other as it is.

        >>> Voice("de").known("every value equally likely"), Voice("de").known("something else")
        ('jeder Wert gleich wahrscheinlich', 'something else')
        """
        return texts(self.language).get(text, text)

    def numeral(self, text: str) -> str:
        """Return text of numbers that are written as in English, such as "1,234.5" or "1 to 2.5", in this language.

        >>> Voice("de").numeral("1,234.5:0.50"), Voice("de").numeral("1e-12"), Voice().numeral("0.50")
        ('1.234,5:0,50', '1E-12', '0.50')
        """
        return text if self.language == "en" else _NUMERAL.sub(lambda found: self._numeral(found[0]), text)

    def _numeral(self, text: str) -> str:
        value = Decimal(text.replace(",", ""))
        if "e" in text.lower():
            return self.exactly(value)
        digits = len(text.partition(".")[2])
        shape = "#,##0" if "," in text or abs(value) >= BASE else "0"
        shape += "." + "0" * digits if digits else ""
        return str(_numbers().format_decimal(value, format=shape, locale=self.language, decimal_quantization=False))

    def levels(self, text: str) -> str:
        """Return text of guarantees and their levels, such as "dp 2.5, adp 1 at delta 1e-06", in this language.

        >>> Voice("de").levels("ldp 1.5, adp 1 at delta 1e-06")
        'ldp 1,5, adp 1 bei delta 0,000001'
        """
        found: list[str] = []
        for part in text.split(", "):
            level, _, at = map(self.numeral, part.partition(" at "))
            found.append(self.text("stat_level_at", level=level, at=at) if at else level)
        return ", ".join(found)

    def number(self, value: float | Decimal, digits: int = 3) -> str:
        """Return a number as the language writes it.

        >>> Voice("en").number(1234.5), Voice("de").number(1234.5)
        ('1,234.5', '1.234,5')
        """
        numbers = _numbers()
        if 1e15 <= abs(value) < float("inf"):
            return str(numbers.format_scientific(value, format="0.######E0", locale=self.language))
        shape = "#,##0." + "#" * digits if digits else "#,##0"
        return str(numbers.format_decimal(value, format=shape, locale=self.language))

    def exactly(self, value: Decimal) -> str:
        """Return a number with every digit that it has, as the language writes it; very small ones with an exponent.

        >>> Voice("de").exactly(Decimal("999.9999999")), Voice("en").exactly(Decimal("1e-20"))
        ('999,9999999', '1E-20')
        """
        value = value.normalize()
        if value and not -9 <= value.adjusted() < 15:
            digits = "#" * (len(value.as_tuple().digits) - 1)
            form = f"0.{digits}E0" if digits else "0E0"
            numbers = _numbers()
            return str(numbers.format_scientific(value, format=form, locale=self.language, decimal_quantization=False))
        return self.number(value, max(0, -int(value.as_tuple().exponent)))

    def rounded(self, value: float, direction: str, digits: int = 4) -> str:
        """Return a number with its first digits, rounded `ROUND_CEILING` or `ROUND_FLOOR`: never to 0.

        A float is known to twelve digits at best, and its last ones do not move it.

        >>> Voice().rounded(0.123451, "ROUND_CEILING"), Voice().rounded(1e-20, "ROUND_FLOOR")
        ('0.1235', '1E-20')
        """
        if not math.isfinite(value):
            return self.number(value)
        slack = 1 - _ROUNDING if direction == ROUND_CEILING else 1 + _ROUNDING
        return self.exactly(Context(prec=digits, rounding=direction).create_decimal(Decimal(repr(value)) * slack))

    def listed(self, labels: Sequence[str], most: int = 30) -> Text:
        """Return labels as a list; how many are left out is said.

        >>> plain(Voice("en").listed(["a", "b", "c"])), plain(Voice("de").listed(["a", "b", "c"], 2))
        ('“a”, “b” and “c”', '„a“, „b“ und 1 weitere')
        """
        shown = [self.say("quoted", label=Label(text)) for text in labels[:most]]
        if (left := len(labels) - most) > 0:
            shown.append(self.say("more", count=self.number(left, 0)))
        joined: list[Segment] = []
        for i, part in enumerate(shown):
            if i:
                joined += (" ", *self.say("and"), " ") if i == len(shown) - 1 else (", ",)
            joined += part
        return tuple(joined)


def placeholders(text: str) -> set[str]:
    """Return the names in braces."""
    return set(re.findall(r"\{(\w+)\}", text))


def unique(values: Iterable[Any]) -> list[Any]:
    """Return values once each, in order."""
    return list(dict.fromkeys(values))


def _numbers() -> Any:
    """Return Babel's numbers, and load what its languages load: the zone of this machine, which TZ may tell wrongly."""
    require("babel.dates", "release")
    return require("babel.numbers", "release")
