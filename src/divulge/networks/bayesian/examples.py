"""Small networks to begin with: a household of two, and the genotypes of a family."""

from fractions import Fraction

from divulge.model.channel import Channel
from divulge.model.entries import parse
from divulge.model.prior import Prior
from divulge.networks.bayesian.network import Network


def couple(both: str = "1/20", only_one: str = "1/20") -> Network:
    """Return two people who live together, each ill (1) or not (0): P(both ill), and P(only Ann) = P(only Bob).

    Examples
    --------
    >>> told = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> couple().release("Bob", told).worst("Ann").lower  # what his answer says about her
    Fraction(5, 3)
    """
    two, one = (parse(text, lambda: "a probability is") for text in (both, only_one))
    ill = two + one
    return Network(
        {"Ann": [1 - ill, ill], "Bob": (["Ann"], [[1 - one / (1 - ill), one / (1 - ill)], [one / ill, two / ill]])}
    )


def family(allele: str = "1/10") -> Network:
    """Return mother, father and child, each with 0, 1 or 2 copies of an allele of this frequency (Hardy-Weinberg).

    Examples
    --------
    >>> family().release("child").worst("mother").lower  # the child's genotype as it is
    Fraction(10, 1)
    """
    q = parse(allele, lambda: "the frequency is")
    genotype = Prior([(1 - q) ** 2, 2 * q * (1 - q), q * q], [0, 1, 2])
    rows = [
        [(1 - a) * (1 - b), a * (1 - b) + b * (1 - a), a * b]
        for a in (Fraction(copies, 2) for copies in range(3))
        for b in (Fraction(copies, 2) for copies in range(3))
    ]
    child = Channel(rows, outcomes=[0, 1, 2])
    return Network({"mother": genotype, "father": genotype, "child": (["mother", "father"], child)})
