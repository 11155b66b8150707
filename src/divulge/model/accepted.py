"""What may stand for a prior, a channel or a joint where one is asked for: all that `divulge.model.convert` takes."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, SupportsFloat, TypeAlias

from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior

Number: TypeAlias = SupportsFloat | str
"""A number of any type, or its text: "3/4" is exact."""


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


class WithoutMatrix(Protocol):
    """A channel that is never written out, as protocols over millions of values are."""

    def under(self, prior: Any) -> Any:
        """Return it with a prior."""
        ...


class UnderPrior(Protocol):
    """Such a channel with its prior."""

    def extremes(self, side: str) -> Any:
        """Return a joint with the same extreme leakage."""
        ...


class NoiseOnNumbers(Protocol):
    """A mechanism that adds noise to a number, whose outcomes cannot be listed."""

    @property
    def pml_supremum(self) -> Any:
        """The largest pml of any outcome."""
        ...


Matrix: TypeAlias = (
    Sequence[Sequence[Number]] | Mapping[Any, Mapping[Any, Number]] | HasArray | Sequence[HasArray] | HasArrow | HasRows
)
"""Numbers with two axes: a list of rows, a mapping of mappings, an array, a table, a sparse matrix."""
PriorLike: TypeAlias = Prior | Sequence[Number] | Mapping[Any, Number] | HasArray | HasArrow
"""A Prior, its numbers, a mapping from secret to probability, or a table of two columns."""
ChannelLike: TypeAlias = Channel | Joint | Matrix | WithoutMatrix | NoiseOnNumbers
"""A Channel, or its matrix: secrets are rows, outcomes columns."""
JointLike: TypeAlias = Joint | tuple[PriorLike, ChannelLike] | Matrix | UnderPrior | NoiseOnNumbers
"""A Joint, a pair (prior, channel), or the matrix P(x, y)."""
