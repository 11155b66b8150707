"""Results that hold arrays, as values: nothing in them can be changed, and equal fields make equal results."""

from collections.abc import Mapping
from dataclasses import Field
from typing import Any, ClassVar

import numpy as np

from divulge.model.entries import frozen


class Record:
    """A frozen dataclass, declared with eq=False, whose arrays are read-only and compared entry by entry.

    Arrays may stand inside tuples and mappings; a field declared with compare=False does not count.

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

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __post_init__(self) -> None:
        held = vars(self)
        for name, value in held.items():
            if isinstance(value, np.ndarray):
                held[name] = frozen(value.view())

    def _compared(self) -> list[Any]:
        return [getattr(self, name) for name, field in self.__dataclass_fields__.items() if field.compare]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        Record.__post_init__(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(self) is not type(other):
            return NotImplemented
        return _same(self._compared(), other._compared())

    def __hash__(self) -> int:
        return hash((type(self), *map(_hashable, self._compared())))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    return bool(a == b)


def _hashable(value: Any) -> Any:
    """Return something that is equal for equal values and can be hashed."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return frozenset(value) if isinstance(value, Mapping) else value
