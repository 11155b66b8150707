"""How one row of a person follows another, by a public model: what all of them together say of any one of them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.files.forms import Form, Some, fits, whole
from divulge.model.channel import Channel
from divulge.model.labels import is_default, text_of
from divulge.model.prior import Prior
from divulge.networks.chain import Chain

FOLLOWING: Form = {"places": Some(whole), "initial": Some(str), "transition": Some(Some(str))}
"""What a model on record is made of: rows of the mechanism, and numbers as text in their order."""

MOST_VALUES, MOST_WORK = 6, 500
"""Values of a model, and their square times the rows of a person: cones of more take longer than 2 s."""


@dataclass(frozen=True)
class Following:
    """A Markov chain of the values of one person's rows, which is public.

    places : the rows of the mechanism that its values have; others do not occur
    initial : the share of each value in the first row
    transition : tuple of tuple of str; P(next value | value), in rows that sum to 1
    """

    places: tuple[int, ...]
    initial: tuple[str, ...]
    transition: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, model: Channel, prior: Prior | None, values: Sequence[Hashable], rows: int) -> "Following":
        """Return the model in the order of a mechanism's values; the first row is as the prior has it, or any of its.

        >>> model = Channel([["3/4", "1/4"], ["1/8", "7/8"]], ["ill", "well"], ["ill", "well"])
        >>> Following.of(model, None, ["well", "ill", "other"], 6)
        Following(places=(0, 1), initial=('1/2', '1/2'), transition=(('7/8', '1/8'), ('1/4', '3/4')))
        """
        wanted, states, onto = ([text_of(one) for one in labels] for labels in (values, model.secrets, model.outcomes))
        if not set(states) <= set(wanted):
            raise DivulgeError.of("chain", "be about answers that the mechanism knows", "one of its rows", "another")
        if is_default(model.outcomes) and len(onto) == len(states):
            onto = states
        if set(onto) != set(states):
            raise DivulgeError.of("chain", "have a column for each of its rows", "it", "another",
                                  "it says how likely each answer is after each.")  # fmt: skip
        require_few(len(states), rows)
        places = [i for i, one in enumerate(wanted) if one in states]
        order = [wanted[i] for i in places]
        return cls(
            tuple(places),
            _shares(prior, order),
            tuple(tuple(str(model.matrix[states.index(x), onto.index(y)]) for y in order) for x in order),
        )

    def leakage(self, matrix: np.ndarray, times: int) -> "Leakage":
        """Return the most that the outcomes of so many rows, one after the other, say of one row."""
        moves = np.array([[float(Fraction(p)) for p in row] for row in self.transition])
        start = np.array([float(Fraction(p)) for p in self.initial])
        chain = Chain(start, moves, matrix[list(self.places)], steps=times)
        steps = chain.over_time()
        return Leakage(*(max(getattr(step, side).upper for step in steps) for side in ("exact", "pml", "pmc")))

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        return {"places": list(self.places), "initial": list(self.initial),
                "transition": [list(row) for row in self.transition]}  # fmt: skip

    @classmethod
    def from_dict(cls, found: Mapping[str, Any], values: int, rows: int) -> "Following":
        """Return the model that `to_dict` described; what is none of a mechanism of so many values is refused."""
        if not fits(found, FOLLOWING):
            raise DivulgeError.of("chain", "have all its parts, each of its kind", "a part", "missing or malformed")
        places, start, moves = found["places"], Prior(found["initial"]), Channel(found["transition"])
        require_few(len(places), rows)
        if sorted(set(places)) != places or places[-1] >= values or not len(places) == len(start) == len(moves.secrets):
            raise DivulgeError.of("chain", "be about values of the mechanism, each once", "it", "about others")
        if len(moves.outcomes) != len(places):
            raise DivulgeError.of("chain", "have a column for each of its rows", "it", "another")
        return cls(tuple(places), tuple(found["initial"]), tuple(map(tuple, found["transition"])))


@dataclass(frozen=True)
class Leakage:
    """What all rows of a person say of one of them at most, in nats and from above.

    ldp : how much the odds between two of its values change
    pml, pmc : how much more, and how much less likely a value becomes
    """

    ldp: float
    pml: float
    pmc: float


def require_few(values: int, rows: int) -> None:
    """Refuse a model of which the worst outcomes take too long to find."""
    if values > MOST_VALUES or values * values * rows > MOST_WORK:
        raise DivulgeError.of(
            "chain", f"have at most {MOST_VALUES} values, and their square times the rows of a person be at most "
            f"{MOST_WORK}", "there", f"are {values} values and {rows} rows",
            "group the values, or let fewer rows of a person count.",
        )  # fmt: skip


def _shares(prior: Prior | None, order: Sequence[str | None]) -> tuple[str, ...]:
    """Return the shares of the values in the first row, equal ones without a prior."""
    if prior is None:
        return (str(Fraction(1, len(order))),) * len(order)
    shares = dict(zip(map(text_of, prior.secrets), prior.probabilities.tolist(), strict=True))
    if not sum(shares[one] for one in order) > 0:
        raise DivulgeError.of("prior", "give some of the answers of the chain a share", "it", "of others alone")
    total = sum(Fraction(shares[one]) for one in order)
    return tuple(str(Fraction(shares[one]) / total) for one in order)
