"""Alphabets: ordered, hashable, unique labels. The default alphabet of n letters is `range(n)`."""

import math
from collections.abc import Hashable, Iterable, Sequence, Set
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any

from divulge.errors import LabelError, did_you_mean
from divulge.model.entries import LARGEST_EXPONENT

Labels = Sequence[Hashable]


def alphabet(labels: Iterable[Any] | None, size: int | None, argument: str) -> Labels:
    """Check `labels` for an axis of length `size` (any when None): hashable, none twice. None gives `range(size)`."""
    if labels is None:
        return range(size or 0)
    if isinstance(labels, range):
        letters: Labels = labels
    else:
        if isinstance(labels, (str, bytes, Set)) or not hasattr(labels, "__iter__"):
            found = "a single string" if isinstance(labels, (str, bytes)) else f"a {type(labels).__name__}"
            raise LabelError.of(argument, "be an ordered sequence of labels", "it", found)
        letters = tuple(_label(label, argument) for label in labels)
    if size is not None and len(letters) != size:
        raise LabelError.of(argument, f"have {size} labels, one for each entry", "its length", str(len(letters)))
    if not isinstance(letters, range) and len(set(letters)) != len(letters):
        seen: set[Hashable] = set()
        twice = next(label for label in letters if label in seen or seen.add(label))
        raise LabelError.of(argument, "have no label twice", "the repeated label", repr(twice))
    return letters


def _label(label: Any, argument: str) -> Hashable:
    item = getattr(label, "item", None)
    label = item() if callable(item) and getattr(label, "shape", None) == () else label
    try:
        hash(label)
    except TypeError:
        raise LabelError.of(argument, "have hashable labels", "a label", f"a {type(label).__name__}") from None
    if is_missing(label):
        raise LabelError.of(argument, "have no missing label", "one", repr(label))
    return label


def is_missing(value: Any) -> bool:
    """Say whether a value stands for none: None, NaN, or the NA and NaT of data frames."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (Real, Decimal)) and value != value


def text_of(value: Any) -> str | None:
    """Return the text by which a value and a label are compared: 3, 3.0 and "3" are one; a missing value is None.

    A moment is compared in UTC, whatever zone it is written in.

    >>> text_of(3.0), text_of("3"), text_of(float("nan")), text_of(2.5)
    ('3', '3', None, '2.5')
    """
    if value is None:
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**64 else repr(value)
    if isinstance(value, Decimal) and value.is_finite():
        return str(int(value)) if value == value.to_integral_value() else f"{value:f}".rstrip("0")
    if isinstance(value, datetime) and value.tzinfo is not None:
        return str(value.astimezone(UTC))
    if isinstance(value, timedelta):
        return duration_text(value // _MICROSECOND * 1000 + getattr(value, "nanoseconds", 0))
    return str(value)


_MICROSECOND = timedelta(microseconds=1)


def label_of(value: Any) -> Any:
    """Return a value of a column as a label that is equal to it and prints as `text_of`; of a missing one None.

    >>> label_of(3.0), label_of(2.5), label_of(Decimal("1.10")), label_of("3.0")
    (3, 2.5, Decimal('1.1'), '3.0')
    """
    if type(value) in (str, int):
        return value
    text = text_of(value)
    if text is None:
        return None
    if isinstance(value, (float, Decimal)) and text.removeprefix("-").isdigit():
        return int(text)
    if isinstance(value, Decimal) and value.is_finite():
        value = Decimal(text)
    elif isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value if str(value) == text else text


def key_of(label: Hashable) -> Hashable:
    """Return what a label is compared by: its text, or of a label of several columns the texts of its parts.

    >>> key_of(3.0), key_of((1, "a"))
    ('3', ('1', 'a'))
    """
    return tuple(map(text_of, label)) if isinstance(label, tuple) else text_of(label)


def duration_text(nanoseconds: int) -> str:
    """Return a duration as Python prints it, with a sign before it and nanoseconds behind it where it has these.

    >>> duration_text(90_061 * 10**9), duration_text(-5 * 10**6), duration_text(1)
    ('1 day, 1:01:01', '-0:00:00.005000', '0:00:00.000000001')
    """
    whole, rest = divmod(abs(nanoseconds), 1000)
    text = str(timedelta(microseconds=whole))
    if rest:
        text += f"{'' if '.' in text else '.000000'}{rest:03d}"
    return f"{'-' if nanoseconds < 0 else ''}{text}"


def is_default(labels: Labels) -> bool:
    """Say whether these labels are mere positions, given to an alphabet nobody named."""
    return isinstance(labels, range)


def labels_at(labels: Labels, places: Any) -> tuple[Hashable, ...]:
    """Return the labels at the positions in an array of whole numbers.

    >>> import numpy as np
    >>> labels_at(("a", "b", "c"), np.array([2, 0]))
    ('c', 'a')
    """
    if isinstance(labels, range) and labels == range(len(labels)):
        return tuple(places.tolist())
    return tuple(map(labels.__getitem__, places.tolist()))


def same(first: Labels, second: Labels) -> bool:
    """Say whether two alphabets hold the same labels in the same order."""
    return first == second or tuple(first) == tuple(second)


def same_letters(first: Labels, second: Labels) -> bool:
    """Say whether two alphabets hold the same labels, in any order, as they are or as text."""
    return first == second or set(first) == set(second) or set(map(text_of, first)) == set(map(text_of, second))


def position(labels: Labels, label: Hashable, argument: str) -> int:
    """Return the position of `label`, or raise `LabelError` with the alphabet's size."""
    try:
        return labels.index(label)
    except ValueError:
        shown = ", ".join(repr(known) for known in labels[:6]) + (", ..." if len(labels) > 6 else "")
        raise LabelError.of(
            argument, "be a label of the alphabet", "it", repr(label), f"the labels are {shown}."
        ) from None


def alignment(wanted: Labels, given: Labels, argument: str, other: str) -> list[int] | None:
    """Return the order that brings `given` into the order of `wanted`; None when they agree already.

    The labels must be the same set, compared as they are or, failing that, as text (a column of integers and the header
    of a CSV file name the same letters). Default labels that are not the same set agree with any alphabet of their
    length, letter by letter.
    """
    if len(wanted) != len(given):
        raise LabelError.of(argument, f"have as many labels as {other}: {len(wanted)}", "its length", str(len(given)))
    if same(wanted, given):
        return None
    for key in (lambda label: label, text_of, str):
        where = {key(label): i for i, label in enumerate(given)}
        if len(where) == len(given) and where.keys() == {key(label) for label in wanted}:
            order = [where[key(label)] for label in wanted]
            return None if order == list(range(len(order))) else order
    if is_default(wanted) or is_default(given):
        return None
    missing = [label for label in wanted if label not in set(given) and text_of(label) not in set(map(text_of, given))]
    meant = did_you_mean(missing[0], given).strip() if missing else ""
    raise LabelError.of(
        argument, f"have the same labels as {other}", f"{missing[0]!r}" if missing else "a label", "missing from it",
        f"{meant} Compare the labels of both; for an outcome or secret that never occurs give probability 0.".strip(),
    )  # fmt: skip


def number_of_label(label: Hashable) -> Decimal | None:
    """Return the finite number that a label is or reads as, else None; one far beyond all doubles is text.

    >>> number_of_label("36.0"), number_of_label(7), number_of_label("7 cats"), number_of_label("1e999999999")
    (Decimal('36.0'), Decimal('7'), None, None)
    """
    if isinstance(label, bool):
        return None
    try:
        number = Decimal(str(label))
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= LARGEST_EXPONENT else None
