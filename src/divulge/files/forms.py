"""What the parts of a JSON document must be: forms are data, and one function holds a document against them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Form = Any
"""A type (true is no int); {key: form}, where "key?" may be absent, "*" is every other key, and without it other keys
are of no account; [form], a list of them; (form, ...), one of them; a constant; or a function that says yes or no."""


@dataclass(frozen=True)
class Some:
    """A list of at least one."""

    form: Form


def fits(value: Any, form: Form) -> bool:
    """Say whether a JSON value has a form.

    >>> fits({"rows": 3, "labels": ["a", 1]}, {"rows": int, "labels": [(str, int)], "note?": str})
    True
    >>> fits({"rows": True}, {"rows": int}), fits({"a": 3, "b": "x"}, {"*": int})
    (False, False)
    """
    if isinstance(form, type):
        return isinstance(value, form) and (form is bool or not isinstance(value, bool))
    if isinstance(form, dict):
        return isinstance(value, dict) and _has_keys(value, form)
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(part, form[0]) for part in value)
    if isinstance(form, Some):
        return bool(value) and fits(value, [form.form])
    if isinstance(form, tuple):
        return any(fits(value, one) for one in form)
    return form(value) if isinstance(form, Callable) else type(value) is type(form) and value == form


def _has_keys(value: dict[str, Any], form: dict[str, Form]) -> bool:
    needed = {key for key in form if key != "*" and not key.endswith("?")}
    forms = {key.removesuffix("?"): part for key, part in form.items() if key != "*"}
    return needed <= set(value) and all(
        fits(part, forms.get(key, form.get("*", lambda _: True))) for key, part in value.items()
    )


def whole(value: Any) -> bool:
    """Say whether a value is a whole number that 63 bits hold, not below 0."""
    return type(value) is int and 0 <= value < 2**63


def level(value: Any) -> bool:
    """Say whether a value is what a guarantee promises: a number not below 0, or "inf"."""
    return value == "inf" if isinstance(value, str) else type(value) in (int, float) and 0 <= value < math.inf


def share(value: Any) -> bool:
    """Say whether a value is a probability."""
    return type(value) in (int, float) and 0 <= value <= 1


def label(value: Any) -> bool:
    """Say whether a value is a label: text, a number, true, false, or, of several columns, a list of these or null."""
    if isinstance(value, list):
        return bool(value) and all(part is None or fits(part, (str, bool, int, float)) for part in value)
    return fits(value, (str, bool, int, float))
