"""What a theorem of the calculus is: a row of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from divulge.guarantees.calculus.context import Context
from divulge.guarantees.guarantee import Guarantee
from divulge.late import late

CONDITIONS: dict[str, tuple[str, Callable[[Context], bool]]] = {
    "p_min": ("p_min", lambda c: c.p_min is not None),
    "n": ("the number of secrets", lambda c: c.n_max is not None),
    "prior": ("the whole prior", lambda c: c.prior is not None),
    "uniform": ("a uniform prior", lambda c: c.uniform),
    "full support": ("a prior of full support", lambda c: c.full_support),
}
"""Name of a condition -> (what must be known, in words; whether a context has it)."""

Tightness = Literal["equal", "attained", "limit", "no"]


@dataclass(frozen=True)
class Theorem:
    """One implication.

    given : kinds that must hold, several at once; none for a fact about every mechanism
    implies : kind that follows
    formula : the bound in words of mathematics; p is p_min, N the number of secrets
    bound : function (context, *given) -> ball or balls
    needs : names of `CONDITIONS`
    tight : "equal" for every mechanism, "attained" by some, in the "limit" of a sequence of them, or "no"
    remark : which mechanism attains it, or how loose it is at worst
    """

    name: str
    given: tuple[type[Guarantee], ...]
    implies: type[Guarantee]
    formula: str
    bound: Callable[..., Any]
    needs: tuple[str, ...] = ()
    tight: Tightness = "attained"
    remark: str = ""
    source: str = "by definition"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a row of the table as its name: its bound is a function, which cannot be pickled."""
        return named, (self.name,)


def named(name: str) -> Theorem:
    """Return the row of the table of theorems with this name."""
    return next(theorem for theorem in late("divulge.guarantees.theorems:all_theorems")() if theorem.name == name)
