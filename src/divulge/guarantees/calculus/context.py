"""What is known of the secret when one guarantee is translated into another."""

import sys
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

from divulge.errors import DivulgeError, number_of
from divulge.model.convert import as_prior
from divulge.model.entries import parse as parse_number
from divulge.model.entries import whole_number
from divulge.model.prior import Prior

ULP = Fraction(1, 2**53)
"""Half the spacing of doubles near 1: how far rounding may have moved a number that was given."""


@dataclass(frozen=True)
class Context:
    """What is known of the secret: the whole prior, its smallest probability, how many values it has, or nothing.

    p_min : the smallest probability of a secret (or less), at its exact value
    n : the number of secrets (or more)
    uniform : whether all secrets are known to be equally likely
    full_support : whether every row of the channel belongs to a secret of positive probability. A prior with zeros
        denies it; without a prior and p_min it is assumed, and said (`assumed`).
    general : whether the secret is continuous or countable: then there is no p_min
    """

    prior: Prior | None = None
    p_min: Fraction | None = None
    n: int | None = None
    uniform: bool = False
    full_support: bool = True
    general: bool = False

    @classmethod
    def of(
        cls, prior: Any = None, p_min: Any = None, n: Any = None, uniform: bool = False, general: bool = False
    ) -> "Context":
        """Return the context of a prior, or of p_min, n, and whether the prior is uniform, or a general alphabet.

        >>> Context.of(n=4, uniform=True).p_min
        Fraction(1, 4)
        """
        if general:
            if any(v is not None for v in (prior, p_min, n)) or uniform:
                raise DivulgeError.of("general", "come alone: such a secret has no p_min and no N", "it", "not alone")
            return cls(general=True)
        if prior is not None:
            if p_min is not None or n is not None or uniform:
                raise DivulgeError.of("p_min", "be absent when the whole prior is given", "it", "given as well")
            return cls._of_prior(as_prior(prior))
        least = None if p_min is None else _probability(p_min)
        size = None if n is None else whole_number(n, "n")
        if size == 1:
            least = Fraction(1) if least is None else least
        if uniform:
            size = size if size is not None or least is None else round(1 / least)
            if size is None:
                raise DivulgeError.of("uniform", "come with n, the number of secrets", "n", "absent")
            least = Fraction(1, size) if least is None else least
            if not abs(least * size - 1) <= size * ULP:
                raise DivulgeError.of("p_min", f"be 1/{size} for a uniform prior of {size}", "it", str(float(least)))
        if least is not None and size is not None and not least * size <= 1 + size * ULP:
            raise DivulgeError.of(
                "p_min", f"be at most 1/{size} for {number_of(size, 'secret')}", "it", str(float(least))
            )
        return cls(None, least, size, bool(uniform))

    @classmethod
    def _of_prior(cls, prior: Prior) -> "Context":
        positive = prior.probabilities[prior.support].tolist()
        full = bool(prior.support.all())
        same = full and max(positive) == min(positive)
        return cls(prior, Fraction(prior.p_min), len(prior), same, full)

    @property
    def known_p_min(self) -> Fraction:
        """The probability of the least likely secret, which must be known."""
        if self.p_min is None:
            raise DivulgeError.of("p_min", "be known, or the prior", "it", "absent")
        return self.p_min

    @property
    def n_max(self) -> int | None:
        """The largest number of secrets there can be: n, or the most that p_min leaves room for."""
        if self.n is not None:
            return self.n
        return None if self.p_min is None else floor(1 / (self.p_min * (1 - ULP)))

    @property
    def assumed(self) -> dict[str, str]:
        """Conditions that nothing given shows, in words: full support, where neither the prior nor p_min is known.

        >>> Context.of(n=3).assumed, Context.of(p_min="1/4").assumed
        ({'full support': 'every secret can occur'}, {})
        """
        unseen = self.prior is None and self.p_min is None and self.full_support
        return {"full support": "every secret can occur"} if unseen else {}

    @cached_property
    def words(self) -> str:
        """The context in words."""
        parts = [
            f"a prior of {number_of(len(self.prior), 'secret')}" if self.prior is not None else "",
            f"p_min = {_shown(self.p_min)}" if self.p_min is not None else "",
            f"N = {self.n}" if self.n is not None and self.prior is None else "",
            "uniform" if self.uniform else "",
            "" if self.full_support else "not of full support",
            "a general alphabet" if self.general else "",
        ]
        return ", ".join(part for part in parts if part) or "nothing"

    def to_dict(self) -> dict[str, Any]:
        """Return {"p_min", "n", "uniform", "full_support", "general", "assumed"}, without what is not known."""
        known: dict[str, Any] = {} if self.p_min is None else {"p_min": float(self.p_min)}
        if self.n is not None:
            known["n"] = self.n
        said = {"uniform": self.uniform, "full_support": self.full_support, "general": self.general}
        return {**known, **said, "assumed": list(self.assumed)}


def _shown(p: Fraction) -> str:
    """Return a probability with six digits, which doubles near 0 do not have.

    >>> _shown(Fraction(1, 3)), _shown(Fraction("1e-320")), _shown(Fraction("1e-400"))
    ('0.333333', '1e-320', '1e-400')
    """
    if p >= Fraction(sys.float_info.min) or not p:
        return f"{float(p):.6g}"
    with localcontext(prec=6):
        return f"{(Decimal(p.numerator) / Decimal(p.denominator)).normalize():g}"


def _probability(value: Any) -> Fraction:
    try:
        exact = parse_number(value, lambda: "`p_min` must be a number; it is") if isinstance(value, str) else value
        number = Fraction(exact)
    except DivulgeError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of("p_min", "be a number in (0, 1/2], or 1", "it", str(value)) from None
    if isinstance(value, bool) or not (0 < number <= Fraction(1, 2) or number == 1):
        hint = "it is the probability of the least likely secret, which two or more share at most 1/2 of."
        raise DivulgeError.of("p_min", "be in (0, 1/2], or 1 for a single secret", "it", str(value), hint)
    return number
