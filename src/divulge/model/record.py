"""Results that hold arrays, as values: nothing in them can be changed, and equal fields make equal results."""

from dataclasses import fields
from typing import Any

import numpy as np

from divulge.model.entries import frozen


class Record:
    """A frozen dataclass, declared with eq=False, whose arrays are read-only and compared entry by entry.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class Point(Record):
    ...     place: np.ndarray
    >>> Point(np.array([1.0, 2.0])) == Point(np.array([1.0, 2.0]))
    True
    >>> Point(np.array([1.0, 2.0])).place.flags.writeable
    False
    """

    def __post_init__(self) -> None:
        for name, value in self._fields().items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, frozen(value.view()))

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # pyright: ignore

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        Record.__post_init__(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(self) is not type(other):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()
        return all(_same(value, theirs[name]) for name, value in mine.items())

    def __hash__(self) -> int:
        values = self._fields().values()
        return hash((type(self), *(value.shape if isinstance(value, np.ndarray) else value for value in values)))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b)
    return bool(a == b)
