"""The statement of a release: one page for the public, in plain words, without a count of the source."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from divulge.errors import DivulgeError
from divulge.publishing.published import Published, read_receipt
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements.parts import Head, Para, Part
from divulge.reporting.statements.telling import together_text, told
from divulge.reporting.statements.voice import Text, Voice, plain


@dataclass(frozen=True)
class Statement:
    """One page for the public: `html` and `text` in the language that was asked for.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import divulge as dv
    >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
    >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
    >>> statement(receipt).text().splitlines()[0]
    'What the column “answer_perturbed” tells about a person'
    """

    receipt: Receipt
    language: str = "en"

    @cached_property
    def voice(self) -> Voice:
        """What says its sentences."""
        return Voice(self.language)

    @property
    def title(self) -> Text:
        """Its headline."""
        return self.voice.say("title", columns=self.voice.listed(list(self.receipt.released_as)))

    @property
    def together(self) -> str:
        """What this release and all before it add up to, in a sentence; empty for the first one.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> statement(receipt).together
        ''
        """
        found = self.receipt.together
        if found is None or found["releases"] < 2:
            return ""
        return plain(together_text(self.voice, found))

    @property
    def lead(self) -> tuple[str, ...]:
        """What comes first: how far what is published is true, the promise, and what all releases add up to.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> statement(receipt).lead[0][:40]
        'Many of the published answers are untrue'
        """
        found = (plain(part.text) for part in self.parts if isinstance(part, Para) and part.tone in ("warn", "lead"))
        return tuple(dict.fromkeys(found))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What it consists of, in order."""
        several = len(self.receipt.mechanisms) > 1
        found: list[Part] = []
        for i, mechanism in enumerate(self.receipt.mechanisms):
            if several:
                found.append(Head(self.voice.listed(list(self.receipt.names_of(mechanism)))))
            found += told(self.receipt, mechanism, self.voice, i == 0)
        return tuple(found)

    def text(self) -> str:
        """Return the statement as text.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> "250 appear with an answer that is not theirs" in " ".join(statement(receipt).text().split())
        True
        """
        from divulge.reporting.statements.layout import as_text

        return as_text(self)

    def html(self) -> str:
        """Return the statement as one HTML page that holds all it needs: no script, nothing from the network.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> statement(receipt, "de").html()[:32]
        '<!doctype html>\\n<html lang="de">'
        """
        from divulge.reporting.statements.layout import as_page

        return as_page(self)

    def to_dict(self) -> dict[str, Any]:
        """Return title, language and the paragraphs as plain data.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> statement(receipt).to_dict()["language"]
        'en'
        """
        said: list[str] = []
        for part in self.parts:
            if isinstance(part, (Head, Para)):
                said.append(plain(part.text))
        return {"language": self.language, "title": plain(self.title), "said": said, "together": self.together}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from divulge.reporting.page import as_frame

        return as_frame(self.html())


def statement(receipt: Receipt | Published | str | os.PathLike[str], language: str = "en") -> Statement:
    """Return the statement of a release: what was promised and what a person risks, for everybody to read.

    It is made from what is public: a prior that was counted from the column does not enter it.

    Parameters
    ----------
    receipt : Receipt, Published, or path of a receipt of either
    language : "en" or "de"

    Returns
    -------
    Statement

    Raises
    ------
    DivulgeError
        For a language that nobody translated the sentences to.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import divulge as dv
    >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
    >>> receipt = dv.release(table, column="answer", guarantee="ldp=1")
    >>> "Many of the published answers are untrue." in " ".join(statement(receipt).text().split())
    True
    """
    Voice(language)
    if isinstance(receipt, (str, os.PathLike)):
        receipt = read_receipt(receipt)
    if isinstance(receipt, Published):
        from divulge.reporting.statements.statistics import StatisticsStatement

        return StatisticsStatement(receipt, language)
    found = Receipt.of(receipt)
    if found is None:
        raise DivulgeError.of("receipt", "be a Receipt or the path of one", "it", f"a {type(receipt).__name__}")
    return Statement(found, language)
