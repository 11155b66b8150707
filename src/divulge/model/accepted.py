"""What may stand for a prior, a channel or a joint where one is asked for: all that `divulge.model.convert` takes."""

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, Protocol, TypeAlias

from divulge.model.arraylike import Matrix, Probabilities
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior


class OfAClass(Protocol):
    """A guarantee of any kind, as rooms below its class see one."""

    kind: ClassVar[str]
    """Its name on the command line."""


class OfAKind(Protocol):
    """A guarantee of one kind."""

    @property
    def kind(self) -> str:
        """Its name on the command line."""
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


Claim: TypeAlias = OfAClass | OfAKind
"""A guarantee: the classes of kinds give the name that their own class declares."""
PriorLike: TypeAlias = Prior | Probabilities
"""A Prior, its numbers, a mapping from secret to probability, or a table of two columns."""
ChannelLike: TypeAlias = Channel | Joint | Matrix | WithoutMatrix | NoiseOnNumbers
"""A Channel, or its matrix: secrets are rows, outcomes columns."""
JointLike: TypeAlias = Joint | tuple[PriorLike, ChannelLike] | Matrix | UnderPrior | NoiseOnNumbers
"""A Joint, a pair (prior, channel), or the matrix P(x, y)."""
LabelsLike: TypeAlias = int | Prior | Iterable[Hashable]
"""Labels in their order, how many there are of 0, 1, ..., or a Prior over them."""
