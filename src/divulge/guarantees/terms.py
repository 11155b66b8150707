"""What a guarantee says: its kind and parameters, in a unit, as text and in a sentence."""

import math
from abc import ABC
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from divulge import exact
from divulge.guarantees.deciding.levels import LOGARITHMS
from divulge.guarantees.parameters import PARAMETERS, checked, number_text
from divulge.model.arraylike import Number
from divulge.model.shown import at_most, promised, reached
from divulge.units import Unit, factor, nats_per

_Kind = TypeVar("_Kind")


def number(value: Number) -> Any:
    """Return a parameter as it is given: a number or its text, of which `checked` makes a float or a Fraction."""
    return value


def parameter(*, converter: Callable[[Number], Any], default: Any = MISSING) -> Any:
    """Return the field of a parameter; what it may be given as, type checkers read from its converter."""
    return field(default=default)


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, field))
def kind_of_guarantee(kind: type[_Kind]) -> type[_Kind]:
    """Return a kind of guarantee as a frozen dataclass with its parameters."""
    return dataclass(frozen=True, repr=False)(kind)


@dataclass(frozen=True, repr=False)
class Terms(ABC):
    """A kind of guarantee and its parameters: equal kind and parameters are equal terms.

    Numbers may be floats, ints, Fractions or text such as "1/3"; a float counts at its exact value.

    A kind says: `kind` (its name on the command line), `title`, `sentence` (what it means, with its parameters in
    braces), `index` (parameters that are chosen and not measured) and `forms` (the ways of writing its parameters,
    where there is more than one).
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    sentence: ClassVar[str]
    index: ClassVar[tuple[str, ...]] = ()
    forms: ClassVar[tuple[tuple[str, ...], ...]] = ()

    derivation: tuple[Any, ...] = field(default=(), compare=False, kw_only=True)
    """How it follows from what was given, when it was derived."""

    def __post_init__(self) -> None:
        for name in self.parameters():
            object.__setattr__(self, name, checked(getattr(self, name), name))

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Return the names of the parameters, in order.

        Examples
        --------
        >>> dv.ALIP.parameters()
        ('lower', 'upper')
        """
        return _parameters(cls)

    @classmethod
    def bounded(cls) -> tuple[str, ...]:
        """Return the names of the parameters that bound something: all but the index.

        Examples
        --------
        >>> dv.guarantees.TailPML.parameters(), dv.guarantees.TailPML.bounded()  # the threshold epsilon is chosen
        (('epsilon', 'delta'), ('delta',))
        """
        return _bounded(cls)

    def values(self) -> dict[str, Any]:
        """Return {parameter: value}, as given (float or Fraction).

        Examples
        --------
        >>> dv.PML("1/4").values(), dv.PML(0.25).values()
        ({'epsilon': Fraction(1, 4)}, {'epsilon': 0.25})
        """
        return {name: getattr(self, name) for name in self.parameters()}

    @property
    def logarithmic(self) -> tuple[str, ...]:
        """The names of the parameters that are logarithms, and so have a unit."""
        return tuple(name for name in self.parameters() if PARAMETERS[name].logarithmic)

    @property
    def meaning(self) -> str:
        """What the guarantee promises, in one sentence with its numbers."""
        return self.told_by(self.sentence)

    def told_by(self, sentence: str, written: Callable[[str], str] = str) -> str:
        """Return a sentence with the numbers of the guarantee in the places of their names, each as it is `written`.

        Examples
        --------
        >>> dv.PML("0.5").told_by("höchstens {epsilon}", lambda text: text.replace(".", ","))
        'höchstens 0,5'
        """
        values = self.values()
        shown = {
            name: promise_text(name, value) if isinstance(value, Real) else str(value) for name, value in values.items()
        }
        grown = {
            f"exp_{name}": at_most(factor(value)) for name, value in values.items() if PARAMETERS[name].logarithmic
        }
        return sentence.format(**{name: written(text) for name, text in (shown | grown).items()})

    def read_in(self, unit: Unit, to_keep: bool = False) -> Self:
        """Return the guarantee in nats whose parameters, in `unit`, are these.

        Where they are irrational they are rounded up, as for a guarantee that is given, or down for one `to_keep`.

        Examples
        --------
        >>> round(dv.PML(1).read_in("bits").epsilon, 9)  # log 2, rounded up
        0.693147181
        """
        return self._read_in(unit, self.parameters(), to_keep)

    def _read_in(self, unit: Unit, names: tuple[str, ...], to_keep: bool = False) -> Self:
        nats_per(unit)
        rounded = exact.round_down if to_keep else exact.round_up
        return replace(self, **{name: _times(value, unit, 1, rounded) for name, value in self._logarithmic(names)})

    def _logarithmic(self, names: tuple[str, ...]) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in names if PARAMETERS[name].logarithmic]

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return {"kind", parameters as floats}; what was derived, and logarithms in another unit, rounded up.

        Examples
        --------
        >>> dv.ALIP(1, "1/2").to_dict()
        {'kind': 'alip', 'lower': 1.0, 'upper': 0.5}
        """
        nats_per(unit)
        logarithms = {name: _times(value, unit, -1) for name, value in self._logarithmic(self.parameters())}
        values = {**self.values(), **logarithms}
        up = self.bounded() if self.derivation else ()
        safe = {
            n: -exact.double_above(-v) if PARAMETERS[n].at_least else exact.double_above(v)
            for n, v in values.items()
            if n in up
        }
        floats = {n: float(v) if isinstance(v, Real) else str(v) for n, v in (values | safe).items()}
        return {"kind": self.kind, **floats}

    def __str__(self) -> str:
        """Return the text that `parse` reads as this guarantee, to the last digit of each number."""
        return self._written(lambda _, value: number_text(value))

    def text(self, unit: Unit = "nats") -> str:
        """Return the guarantee as it is written on the command line, its logarithmic parameters in `unit`.

        Floats that are no short decimal are rounded to the next one that promises less; `str` has all their digits.

        Examples
        --------
        >>> dv.PML("1/4").text(), dv.PML(1).text("bits")
        ('pml=0.25', 'pml=1.442695040...')
        """
        return self._in(unit)._written(_rounded_text)

    @property
    def label(self) -> str:
        """The guarantee in short, for people: floats as `meaning` has them, rounded to the side that promises less.

        Examples
        --------
        >>> dv.PML(0.1).label, dv.PML("1/3").label, dv.PML(2 / 3).label
        ('pml=0.1', 'pml=1/3', 'pml=0.666667')
        """
        return self.label_in("nats")

    def label_in(self, unit: Unit) -> str:
        """Return the guarantee in short, its logarithmic parameters in `unit`.

        Examples
        --------
        >>> dv.PML(1).label_in("bits")
        'pml=1.4427'
        """
        return self._in(unit)._written(lambda k, v: promise_text(k, v) if isinstance(v, float) else number_text(v))

    def _in(self, unit: Unit) -> Self:
        if unit == "nats":
            return self
        return replace(self, **{k: v for k, v in self.to_dict(unit).items() if k != "kind"})

    def _written(self, text: Callable[[str, Any], str]) -> str:
        values = self.values()
        form = next((f for f in self.forms if all(values[n] == 0 for n in values if n not in f)), tuple(values))
        return f"{self.kind}={':'.join(text(name, values[name]) for name in form)}"

    def __repr__(self) -> str:
        shown = [repr(v) if isinstance(v, (float, str)) else _argument(v) for v in self.values().values()]
        return f"{type(self).__name__}({', '.join(shown)})"


def promise_text(name: str, value: Any) -> str:
    """Return a parameter as text, rounded to the side that promises less."""
    return reached(value) if PARAMETERS[name].at_least else promised(value)


def _argument(value: Any) -> str:
    return str(value) if value.denominator == 1 else repr(number_text(value))


def _times(value: Any, unit: Unit, power: int, rounded: Callable[[Any], float] = exact.round_up) -> Any:
    """Return value * (nats in a unit) ** power, rounded; nats change nothing."""
    import flint

    if unit == "nats" or value in (0, math.inf):
        return value
    with flint.ctx.workprec(192):
        return rounded(exact.ball(value) * LOGARITHMS[unit]() ** power)


def _rounded_text(name: str, value: Any) -> str:
    """Return a number as text; a float as the decimal of the first double at which the text promises no more."""
    if not isinstance(value, float) or math.isinf(value):
        return number_text(value)
    weaker, written = -math.inf if PARAMETERS[name].at_least else math.inf, value
    while math.copysign(1.0, weaker) * (Fraction(str(written)) - Fraction(value)) < 0:
        written = math.nextafter(written, weaker)
    return str(written)


@cache
def _parameters(kind: type[Terms]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.name != "derivation")


@cache
def _bounded(kind: type[Terms]) -> tuple[str, ...]:
    return tuple(name for name in kind.parameters() if name not in kind.index)
