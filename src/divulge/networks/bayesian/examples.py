"""Small networks to begin with: a household of two, and the genotypes of a family."""

from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.model.arraylike import Number
from divulge.model.channel import Channel
from divulge.model.entries import parse
from divulge.model.prior import Prior
from divulge.networks.bayesian.network import Network


def couple(both: Number = "1/20", only_one: Number = "1/20") -> Network:
    """Return two people who live together, each ill (1) or not (0).

    Parameters
    ----------
    both, only_one : number, or text such as "1/20"
        P(both are ill), and P(only Ann is) = P(only Bob is).

    Returns
    -------
    Network
        Of Ann and Bob, with nothing put out; exact unless a number is a float.

    Raises
    ------
    DivulgeError
        For what is no probability, and where nobody is ever ill, or somebody always.

    Examples
    --------
    >>> told = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> couple().release("Bob", told).worst("Ann").lower  # what his answer says about her
    Fraction(5, 3)
    """
    two, one = _share(both, "both"), _share(only_one, "only_one")
    ill = two + one
    if not (ill > 0 and two + 2 * one <= 1 and ill < 1):
        raise DivulgeError.of(
            "both", "leave each of them sometimes ill and sometimes well, both + 2 only_one <= 1", "it",
            f"{both} beside an `only_one` of {only_one}",
        )  # fmt: skip
    return Network(
        {"Ann": [1 - ill, ill], "Bob": (["Ann"], [[1 - one / (1 - ill), one / (1 - ill)], [one / ill, two / ill]])}
    )


def family(allele: Number = "1/10") -> Network:
    """Return mother, father and child, each with 0, 1 or 2 copies of an allele of this frequency (Hardy-Weinberg).

    Parameters
    ----------
    allele : number, or text such as "1/10"
        The frequency of the allele among all people.

    Returns
    -------
    Network
        Of mother, father and child, with nothing put out; exact unless the number is a float.

    Raises
    ------
    DivulgeError
        For what is no probability.

    Examples
    --------
    >>> family().release("child").worst("mother").lower  # the child's genotype as it is
    Fraction(10, 1)
    """
    q = _share(allele, "allele")
    genotype = Prior([(1 - q) ** 2, 2 * q * (1 - q), q * q], [0, 1, 2])
    rows = [
        [(1 - a) * (1 - b), a * (1 - b) + b * (1 - a), a * b]
        for a in (Fraction(copies, 2) for copies in range(3))
        for b in (Fraction(copies, 2) for copies in range(3))
    ]
    child = Channel(rows, outcomes=[0, 1, 2])
    return Network({"mother": genotype, "father": genotype, "child": (["mother", "father"], child)})


def _share(value: Any, argument: str) -> Any:
    """Return a probability, a Fraction unless it is a float."""
    share = parse(value, lambda: f"`{argument}` must be a probability; it is") if isinstance(value, str) else value
    if isinstance(share, bool) or not isinstance(share, (int, float, Fraction)) or not 0 <= share <= 1:
        raise DivulgeError.of(argument, "be a probability", "it", repr(value)[:40])
    return share if isinstance(share, float) else Fraction(share)
