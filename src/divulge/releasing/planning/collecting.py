"""Which frequency protocol runs on a column of many values: by its name, or the one to take, under the guarantees."""

import itertools
import math
import secrets
from collections.abc import Sequence
from typing import Any

from divulge.errors import DivulgeError
from divulge.model.labels import Labels, text_of
from divulge.model.prior import Prior
from divulge.protocols.choice import fitted
from divulge.protocols.protocol import Protocol
from divulge.releasing.column import Release
from divulge.releasing.planning.assumed import Assumed
from divulge.releasing.planning.listed import Answers
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.reports.hashing import KEY, combined

PREFIXES = "prefix-extension"
"""The protocol by which frequent texts are found without a list."""


def oracle_for(choice: Release) -> FrequencyOracle:
    """Return the protocol for the column of a request, at the largest ratio that keeps every guarantee, decided anew.

    Its values are those that are listed, or that a prior has; without either any text goes through local hashing.
    """
    name, columns = str(choice.protocol), choice.columns
    assumed = assumed_of(choice)
    if name == PREFIXES:
        _refuse_beside_prefixes(choice)
    if len(columns) > 1 and choice.prior is not None:
        raise DivulgeError.of("prior", "be left out where several columns are one report", "it", "given")
    answers = Answers.of(choice)
    values: Labels | None = None
    if answers is not None:
        values = combinations([answers.listed[column] for column in columns])
    elif assumed.prior is not None:
        values = tuple(str(text_of(label)) for label in assumed.prior.secrets)
    elif name not in ("auto", "local-hashing", PREFIXES):
        raise DivulgeError.of(
            "values", f"list the answers that there can be (values=, --values) for {name}", "they", "not given",
            "local-hashing, or auto, takes any text; prefix-extension finds the frequent ones.",
        )  # fmt: skip
    if assumed.source == "uniform":
        if values is None:
            raise DivulgeError.of("prior", "come with a list of answers (values=, --values) where it is uniform", "it",
                                  "given alone")  # fmt: skip
        assumed = Assumed("uniform", Prior.uniform(list(values)))
    elif assumed.prior is not None and values is not None:
        assumed = assumed.aligned(values, "the list of answers")
    protocol = fitted(name, values, choice.kept, assumed.prior, choice.prefixes)
    made = FrequencyOracle.of(columns, protocol, assumed, secrets.token_bytes(KEY) if protocol.of_text else b"")
    for guarantee in choice.kept:
        _require(guarantee, made)
    return made


def oracle_given(column: str, protocol: Protocol, assumed: Assumed) -> FrequencyOracle:
    """Return a protocol that was made beforehand on its column."""
    known = assumed if protocol.of_text else assumed.aligned(protocol.values, "the protocol")
    return FrequencyOracle.of((column,), protocol, known, secrets.token_bytes(KEY) if protocol.of_text else b"")


def names_of(choice: Release) -> tuple[str, ...]:
    """Return the protocol of each column: one name is that of the only column.

    >>> names_of(Release(column=["url", "code"], guarantee="ldp=1", protocol="auto,hadamard"))
    ('auto', 'hadamard')
    """
    return tuple(str(choice.protocol).split(","))


MOST_COMBINED = 1 << 20
"""So many combinations of listed answers are one list: 60 megabytes of text in a receipt."""


def combinations(lists: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Return the answers of one column, or all combinations of those of several, as reports of several name them.

    >>> combinations([["a", "b"]]), combinations([["a", "b"], ["1"]])
    (('a', 'b'), ('["a","1"]', '["b","1"]'))
    """
    count = math.prod(map(len, lists))
    if len(lists) > 1 and count > MOST_COMBINED:
        raise DivulgeError.of("values", f"have at most {MOST_COMBINED:,} combinations", "their number", f"{count:,}",
                              "without lists any texts go through local hashing.")  # fmt: skip
    return tuple(lists[0]) if len(lists) == 1 else tuple(map(combined, itertools.product(*lists)))


def _refuse_beside_prefixes(choice: Release) -> None:
    """Refuse what reports of prefixes do not know: a list, a prior, one report in many rows or of several columns."""
    if len(choice.columns) > 1:
        raise DivulgeError.of("column", f"be one with {PREFIXES}", "their number", str(len(choice.columns)))
    for name, value in (("values", choice.values), ("prior", choice.prior)):
        if value is not None:
            raise DivulgeError.of(name, f"be left out with {PREFIXES}, which any text goes through", "it", "given",
                                  "with a list of answers local-hashing and others are more exact.")  # fmt: skip
    if choice.one_answer:
        raise DivulgeError.of("one_answer", f"be left out with {PREFIXES}", "it", "given",
                              "keep one row of each person, or let rows share the promise (rows_per_person=, "
                              "--rows-per-person).")  # fmt: skip


def assumed_of(choice: Release) -> Assumed:
    """Return what is taken to be known: nothing, a public prior, or that all listed answers are equally likely."""
    prior: Any = choice.prior
    if prior is None or isinstance(prior, Prior):
        return Assumed() if prior is None else Assumed("given", prior)
    if prior == "uniform":
        return Assumed("uniform")
    raise DivulgeError.of("prior", "be a public prior, or uniform, with a protocol", "it",
                          repr(prior) if isinstance(prior, str) else f"a {type(prior).__name__}")  # fmt: skip


def _require(guarantee: Any, made: FrequencyOracle) -> None:
    """Refuse a protocol that does not keep a guarantee; without a prior ldp bounds what needs one."""
    if guarantee.about == "joint" and made.prior is None:
        return  # `fitted` bounds the ratio under every prior
    verdict = guarantee.holds_for(made.subject)
    if not verdict.holds:
        raise DivulgeError.of("protocol", f"keep {guarantee.label}", "its measured value", str(verdict.measured))
