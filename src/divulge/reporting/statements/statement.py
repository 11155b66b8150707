"""The statement of a release: one page for the public, in plain words, without a count of the source."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from divulge.auditing.membership import MembershipAudit
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.publishing.published import Published, read_receipt
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements import placed, reported
from divulge.reporting.statements.parts import Head, Para, Part
from divulge.reporting.statements.telling import about, of_all, of_column, together_text
from divulge.reporting.statements.voice import Text, Voice, plain
from divulge.tables.generalization import Generalization


@dataclass(frozen=True)
class Statement:
    """One page for the public: `html` and `text` in the language that was asked for.

    Attributes
    ----------
    language : "en" or "de"
    title : its headline
    together : what this release and all before it add up to, in a sentence; empty for the first one
    parts : what it consists of, in order

    Examples
    --------
    >>> table = {"answer": ["yes", "no", "no", "no"]}
    >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
    >>> statement(receipt).text().splitlines()[0]
    'What the column “answer_perturbed” tells about a person'
    """

    language: str
    title: Text
    together: str
    parts: tuple[Part, ...]

    @cached_property
    def voice(self) -> Voice:
        """What says its sentences."""
        return Voice(self.language)

    @property
    def lead(self) -> tuple[str, ...]:
        """What comes first: how far what is published is true, the promise, and what all releases add up to.

        Examples
        --------
        >>> table = {"answer": ["yes", "no", "no", "no"]}
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> statement(receipt).lead[0][:40]
        'Many of the published answers are untrue'
        """
        found = (plain(part.text) for part in self.parts if isinstance(part, Para) and part.tone in ("warn", "lead"))
        return tuple(dict.fromkeys(found))

    def text(self) -> str:
        """Return the statement as text.

        Examples
        --------
        >>> table = {"answer": ["yes", "no", "no", "no"]}
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> "250 appear with an answer that is not theirs" in " ".join(statement(receipt).text().split())
        True
        """
        return late("divulge.reporting.statements.layout:as_text")(self)

    def html(self) -> str:
        """Return the statement as one HTML page that holds all it needs: no script, nothing from the network.

        Examples
        --------
        >>> table = {"answer": ["yes", "no", "no", "no"]}
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> statement(receipt, "de").html()[:32]
        '<!doctype html>\\n<html lang="de">'
        """
        return late("divulge.reporting.statements.layout:as_page")(self)

    def to_dict(self) -> dict[str, Any]:
        """Return title, language and the paragraphs as plain data.

        Examples
        --------
        >>> table = {"answer": ["yes", "no", "no", "no"]}
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

        return as_frame(self.html(), Voice(self.language).text("kind"))


def statement(
    receipt: Receipt | Published | Generalization | MembershipAudit | Mapping[str, Any] | str | os.PathLike[str],
    language: str = "en",
) -> Statement:
    """Return the statement of a release: what was promised and what a person risks, for everybody to read.

    It is made from what is public: a prior that was counted from the column does not enter it.

    Parameters
    ----------
    receipt : Receipt, Published, Generalization, or path of a receipt of any of them; or MembershipAudit
        Of the audit of a model, for people whose data trained it.
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
    >>> receipt = dv.release({"answer": ["yes", "no", "no", "no"]}, column="answer", guarantee="ldp=1")
    >>> "Many of the published answers are untrue." in " ".join(statement(receipt).text().split())
    True
    """
    voice = Voice(language)
    if isinstance(receipt, (str, os.PathLike)):
        receipt = read_receipt(receipt)
    if isinstance(receipt, MembershipAudit):
        from divulge.reporting.statements import models

        return Statement(language, *models.contents(receipt, voice))
    if isinstance(receipt, Published):
        from divulge.reporting.statements import statistics

        return Statement(language, *statistics.contents(receipt, voice))
    if isinstance(receipt, Generalization):
        receipt = receipt.perturbed or receipt.receipt
    if isinstance(receipt, Mapping):
        from divulge.reporting.statements import groups

        return Statement(language, *groups.contents(receipt, voice))
    found = Receipt.of(receipt)
    if found is None:
        raise DivulgeError.of("receipt", "be a Receipt or the path of one", "it", f"a {type(receipt).__name__}")
    return Statement(language, *_contents(found, voice))


def _contents(receipt: Receipt, voice: Voice) -> tuple[Text, str, tuple[Part, ...]]:
    """Return the title of the statement of a release of columns, what all releases add up to, and the parts."""
    parts: list[Part] = about(receipt, voice)
    if several := len(receipt.mechanisms) > 1:
        parts += of_all(receipt, voice)
    for mechanism in receipt.mechanisms:
        if several:
            parts += [Head(voice.listed(list(receipt.names_of(mechanism)))), Para(voice.say("this_column"))]
        if isinstance(mechanism, FrequencyOracle):
            parts += reported.of_column(receipt, mechanism, voice)
        elif isinstance(mechanism, MetricNoise):
            parts += placed.of_columns(receipt, mechanism, voice)
        else:
            parts += of_column(receipt, receipt.matrix_of(mechanism.columns), voice)
    all_ = receipt.together
    together = plain(together_text(voice, receipt)) if all_ and all_["releases"] >= 2 else ""
    named = list(receipt.released_as)
    title = voice.say("title_several" if len(named) > 1 else "title", columns=voice.listed(named))
    return title, together, tuple(parts)
