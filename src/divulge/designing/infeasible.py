"""Why a request cannot be met: the fewest guarantees that rule it out, and how much each must give way."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.parameters import PARAMETERS
from divulge.units import Unit, nats_per

Guarantees = tuple[Guarantee, ...]
Eased = tuple[Guarantee | None, Guarantee | None]
Works = Callable[[Guarantees], bool | None]

_TRIES = 160
"""Designs that are tried to find the least levels of a conflict that would do; a level takes about 25."""

_MOST = 24.0
"""The largest level, in nats, that is tried: e^24 = 3e10 times likelier is no guarantee to speak of."""
_DIGITS = 6
"""Digits of the level that a message names: rounded up, it is at most a hundred-thousandth above the least."""
_LEAST = "is the least that would do"


@dataclass(frozen=True)
class Conflict:
    """Guarantees of which any fewer would leave what was asked; `remedies` would do beside the others named.

    They are the least that would do when `short` is empty; else those of `short`, of lower levels, would not do.
    """

    guarantees: Guarantees
    remedies: Guarantees
    short: Guarantees = ()

    @classmethod
    def of(cls, guarantees: Guarantees, eased: tuple[Eased, ...]) -> "Conflict":
        """Return the conflict with what would do, each with a level that is not known to be next to it."""
        return cls(guarantees, *(tuple(g for pair in eased if (g := pair[k]) is not None) for k in (0, 1)))

    def text(self, unit: Unit) -> str:
        """Return the guarantees that conflict, and what would do, in words."""
        together = " with ".join(g.label_in(unit) for g in self.guarantees)
        if not self.remedies:
            return f"{together} rules it out{'' if self.short else ' at every level'}"
        eased = " or ".join(g.label_in(unit) for g in self.remedies)
        short = " and ".join(g.label_in(unit) for g in self.short)
        return f"{together} rules it out, {eased} {f'would do, {short} would not' if short else _LEAST}"


@dataclass(frozen=True)
class Wish:
    """What guarantees must leave: words, the number they end with, and whether it is a logarithm."""

    words: str
    number: float | None = None
    logarithmic: bool = False

    def text(self, unit: Unit) -> str:
        """Return the words with the number."""
        if self.number is None:
            return self.words
        return f"{self.words} {self.number / (nats_per(unit) if self.logarithmic else 1.0):.9g}"


class ConflictingGuarantees(DivulgeError):
    """A request that its guarantees rule out; `conflicts` says which of them, and what would do."""

    def __init__(self, wish: Wish, conflicts: tuple[Conflict, ...], unit: Unit = "nats") -> None:
        self.wish, self.conflicts = wish, conflicts
        why = "; ".join(clash.text(unit) for clash in conflicts)
        super().__init__(f"`guarantee` must leave {wish.text(unit)}; {why}{'' if unit == 'nats' else f' (in {unit})'}.")

    def in_unit(self, unit: Unit) -> "ConflictingGuarantees":
        """Return the same with logarithmic numbers in a unit."""
        return ConflictingGuarantees(self.wish, self.conflicts, unit)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConflictingGuarantees, (self.wish, self.conflicts)


def _eased(guarantee: Guarantee, others: Guarantees, works: Works, left: list[int]) -> tuple[Eased, ...]:
    """Return the guarantee at its least level that works, for each parameter that does alone, else for all at once."""
    alone = [_least((name,), guarantee, others, works, left) for name in guarantee.bounded()]
    found = tuple(g for g in alone if g is not None)
    if found or len(alone) == 1:
        return found
    together = _least(guarantee.bounded(), guarantee, others, works, left)
    if together is None or together[0] is None:
        return () if together is None else (together,)
    return ((_lowered(together[0], guarantee, others, works, left), together[1]),)


def _lowered(eased: Guarantee, asked: Guarantee, others: Guarantees, works: Works, left: list[int]) -> Guarantee:
    """Return what works with one level for all parameters, each of them in turn as low as the others let it be."""
    for name in asked.bounded():
        trial = replace(eased, **{name: getattr(asked, name)})
        left[0] -= 1
        if works((trial, *others)) is True:
            eased = trial
        else:
            eased = (_least((name,), trial, others, works, left) or (None, None))[0] or eased
    return eased


def _least(
    names: tuple[str, ...], guarantee: Guarantee, others: Guarantees, works: Works, left: list[int]
) -> Eased | None:
    """Return (the guarantee at a level that works, at one that does not unless that is next to it), by bisection."""
    start, logarithmic = PARAMETERS[names[0]].low, PARAMETERS[names[0]].logarithmic
    now = {name: getattr(guarantee, name) for name in names}
    low, end = float(min(now.values())), start + (_MOST if logarithmic else math.exp(_MOST))

    def at(value: float) -> Guarantee:
        return replace(guarantee, **{name: max(_rounded_up(value), level) for name, level in now.items()})

    def found_at(value: float) -> bool | None:
        left[0] -= 1
        return works((at(value), *others))

    reached = low < end and found_at(end)
    if not reached:
        return None if reached is False else (None, at(low))
    high, sure, tried = end, low, start + max(2 * (low - start), 2.0**-6)
    while high - low > 10.0**-_DIGITS / 2 * high and left[0] > 0:
        found = found_at(tried)
        low, high = (low, tried) if found else (tried, high)
        sure = tried if found is False else sure
        tried = (low + high) / 2 if high < end else min(start + 2 * (low - start), (low + end) / 2)
    return at(high), None if high - sure <= 10.0**-_DIGITS * high else at(sure)


def conflicts(asked: Guarantees, works: Works) -> tuple[Conflict, ...]:
    """Return why `works(asked)` is false: guarantees that rule it out alone, then the fewest that do so together.

    `works` must stay true when guarantees give way; it is None where nothing is known, which is no reason to rule a
    guarantee out. Nothing comes back when it is false without any guarantee.
    """
    if works(()) is False:
        return ()
    found: list[Conflict] = []
    left: list[Guarantee] = []
    for guarantee in asked:
        if works((guarantee,)) is not False:
            left.append(guarantee)
            continue
        eased = _eased(guarantee, (), works, [_TRIES])
        found.append(Conflict.of((guarantee,), eased))
        left += [g for g, _ in eased[:1] if g is not None]
    if works(tuple(left)) is not False and found:
        return tuple(found)
    core = left
    for guarantee in left:
        fewer = [g for g in core if g is not guarantee]
        core = fewer if works(tuple(fewer)) is False else core
    tries = [_TRIES]
    eased = tuple(e for g in core for e in _eased(g, tuple(h for h in core if h is not g), works, tries))
    return (*found, Conflict.of(tuple(core), eased))


def _rounded_up(value: float) -> Fraction:
    """Return the number with few digits just above."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    return math.ceil(Fraction(value) / unit) * unit
