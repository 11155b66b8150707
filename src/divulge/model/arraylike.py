"""What may stand for numbers, in a list, an array or a table, and for the source of random draws."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, SupportsFloat, TypeAlias

import numpy as np

Number: TypeAlias = SupportsFloat | str
"""A number of any type, or its text: "3/4" is exact."""

Seed: TypeAlias = np.random.Generator | int | None
"""A generator of NumPy, a seed for one, or none: then draws differ from run to run."""


class HasArray(Protocol):
    """An array: of NumPy, a Series, a data frame, a sparse matrix as array."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Return it as an array of NumPy."""
        ...


class HasArrow(Protocol):
    """A table that Arrow can read."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return it as a stream of Arrow."""
        ...


class HasRows(Protocol):
    """A sparse matrix."""

    def tocsr(self) -> Any:
        """Return it by rows."""
        ...


Probabilities: TypeAlias = Sequence[Number] | Mapping[Any, Number] | HasArray | HasArrow
"""Numbers with one axis: a list, a mapping from label to number, an array, a table of two columns."""
Matrix: TypeAlias = (
    Sequence[Sequence[Number]] | Mapping[Any, Mapping[Any, Number]] | HasArray | Sequence[HasArray] | HasArrow | HasRows
)
"""Numbers with two axes: a list of rows, a mapping of mappings, an array, a table, a sparse matrix."""
