"""Numbers as people type them, in every field alike: what can be read in two ways is asked about."""

import re

from divulge.app.guard import Refused

_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}([.,' \u00a0\u202f]\d{3})+")
"""Digits in groups of three; none begins with 0."""


def number_in(given: object, why: str) -> str:
    """Return a number as it is written, with a decimal point and without signs between thousands.

    >>> number_in("0,01", ""), number_in("1.234,5", ""), number_in("1,234.5", ""), number_in("1 000 000", "")
    ('0.01', '1234.5', '1234.5', '1000000')
    """
    text = str(given or "").strip()
    signs = [sign for sign in ".," if sign in text]
    grouped = _GROUPED.fullmatch(text)
    if grouped and len(signs) == 1 and text.count(signs[0]) == 1:
        plain = re.sub(r"[.,]", "", text)
        raise Refused(400, f"“{text}” can be read in two ways: write {plain}, or {text[: text.index(signs[0])]}.")
    if grouped:
        text = re.sub(r"[.,' \u00a0\u202f]", "", text) if len(signs) < 2 else text
    if len(signs) == 2:
        last = max(text.rindex(sign) for sign in signs)
        text = re.sub(r"[., ']", "", text[:last]) + "." + text[last + 1 :]
    text = text.replace(",", ".")
    try:
        finite = abs(float(text)) < 1e15
    except ValueError:
        finite = False
    if not finite:
        raise Refused(400, why)
    return text
