"""What can be published of a table: counts, sums, means, proportions, variances and quantiles, as plain records."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

from divulge.errors import DivulgeError
from divulge.model.entries import rational

MOST_STEPS = 1 << 40
"""So many steps at most lie between two bounds."""

AUTO = "auto"
"""In the place of bounds: they are chosen from the table, with noise that is paid for."""

MOST_CANDIDATES = 100_000
"""Among so many values, at most, a quantile is chosen."""


_AMBIGUOUS = re.compile(r"\s*[-+]?[1-9][0-9]{0,2}(\.[0-9]{3})+\s*")
"""Such as 15.000, which is 15 in one country and 15000 in another."""

_CHOSEN = re.compile(r"(.+):auto(?::([^:]*))?", re.DOTALL)
"""A column whose bounds are chosen, and a step."""

_COMMA = re.compile(r"\s*[-+]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?\s*")
"""A number with a decimal comma."""


def _number(value: Any, name: str) -> Fraction:
    """Return a finite number exactly; text is read as it is written, a float at the decimal it prints as."""
    if isinstance(value, str) and _AMBIGUOUS.fullmatch(value):
        number = value.strip()
        raise DivulgeError.of(
            name, "be numbers that are read in one way", "one", repr(number)[:60],
            f"write {number.replace('.', '')} or {float(number.partition('.')[0]):g}, or say the decimal sign "
            "(--decimal . or --decimal ,)." if number.count(".") == 1 else "leave the signs between thousands out.",
        )  # fmt: skip
    try:
        return rational(str(value)) if isinstance(value, (str, float)) else Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise DivulgeError.of(name, "be a finite number", "it", repr(value)[:60]) from None


@dataclass(frozen=True)
class Reach:
    """How far a number may be off at most: one that is divided by rows, of so many or more; a quantile, in ranks."""

    width: Fraction
    rows: int = 0
    ranks: bool = False

    def __str__(self) -> str:
        return f"{float(self.width):,.15g}" + ("rows" if self.ranks else "") + (f"@{self.rows}" if self.rows else "")


def as_reaches(given: Any) -> tuple[Reach, ...]:
    """Return how far intervals reach at most: a positive number, several, or text with commas between them.

    For a mean, a variance or a share "2@100": off by 2 at most where 100 rows or more have a number. For quantiles
    "50rows": no more than 50 rows lie between.

    >>> as_reaches("500,2@100")
    (Reach(width=Fraction(500, 1), rows=0, ranks=False), Reach(width=Fraction(2, 1), rows=100, ranks=False))
    """
    several = given.split(",") if isinstance(given, str) else given if isinstance(given, (list, tuple)) else [given]
    found = tuple(map(_reach, several))
    if not found or any(isinstance(one, bool) for one in several) or not all(one.width > 0 for one in found):
        raise DivulgeError.of("interval", "be a positive number, or one for each statistic", "it", repr(given)[:60])
    return found


def _reach(given: Any) -> Reach:
    if isinstance(given, str) and (count := re.fullmatch(r"\s*(\S+?)\s*rows?\s*", given)):
        return Reach(_number(count[1], "interval"), ranks=True)
    width, at, rows = given.partition("@") if isinstance(given, str) else (given, "", "")
    if at and not re.fullmatch(r"\s*[1-9][0-9]{0,14}\s*", rows):
        raise DivulgeError.of("interval", "have a whole number of rows after @, such as 2@100", "it", repr(given)[:60])
    return Reach(_number(width, "interval"), int(rows) if at else 0)


def as_fills(given: Any) -> dict[str, Fraction]:
    """Return what missing numbers count as, by column: of {column: number}, or of texts COLUMN:NUMBER.

    >>> as_fills(["hours:0", "a:b:1.5"])
    {'hours': Fraction(0, 1), 'a:b': Fraction(3, 2)}
    """
    if isinstance(given, Mapping):
        pairs = [(str(name), value) for name, value in given.items()]
    else:
        texts = [given] if isinstance(given, str) else list(given or ())
        pairs = [(str(text).rpartition(":")[0], str(text).rpartition(":")[2]) for text in texts]
    if not all(name for name, _ in pairs) or len(dict(pairs)) != len(pairs):
        raise DivulgeError.of("fill", "be written COLUMN:NUMBER, once for a column", "it", repr(given)[:60])
    return {name: _number(value, "fill") for name, value in pairs}


def _columns(names: Any, argument: str) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, (list, tuple)) else (names,)
    if not all(isinstance(name, str) and name for name in found) or len(set(found)) != len(found):
        raise DivulgeError.of(argument, "be names of different columns", "it", repr(names)[:60])
    return found


class Statistic:
    """One statistic, of all rows or `by` groups of them; the subclasses say which."""

    kind: ClassVar[str]
    by: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the statistic reads.

        Examples
        --------
        >>> Mean("age", bounds=(0, 90), by="sex").columns
        ('sex', 'age')
        """
        own = getattr(self, "column", None)
        return self.by if own is None else (*self.by, own)

    def to_option(self) -> dict[str, Any]:
        """Return the statistic as JSON holds it: the kind, and what was given; numbers as exact text.

        Examples
        --------
        >>> Mean("age", bounds=(0, 90), by="sex").to_option()
        {'kind': 'mean', 'column': 'age', 'bounds': ['0', '90'], 'by': ['sex']}
        >>> statistic_of(Mean("age", bounds=(0, 90)).to_option())
        Mean('age', bounds=(0, 90))
        """
        usual = {f.name: None if f.default is MISSING else f.default for f in fields(self)}  # pyright: ignore[reportArgumentType]
        found = {name: getattr(self, name) for name in usual if getattr(self, name) != usual[name]}
        return {"kind": self.kind} | {name: _as_json(value) for name, value in found.items()}

    def typed(self) -> tuple[str, str]:
        """Return the statistic as it is typed: its option, and what follows.

        Examples
        --------
        >>> Quantiles("age", bounds=(0, 90), probabilities=(0.5,), step=5).typed()
        ('quantiles', 'age:0:90:1/2:5')
        """
        found = self.to_option()
        if self.kind in ("count", "people"):
            return {"people": "count-people"}.get(self.kind, self.kind), ",".join(map(_quoted, self.by))
        if self.kind == "proportion":
            return "proportion", f"{found['column']}:{found['value']}"
        parts = [found["column"], *([AUTO] if found["bounds"] == AUTO else found["bounds"])]
        if self.kind == "quantile":
            parts.append(",".join(map(str, self.probabilities)))  # pyright: ignore[reportAttributeAccessIssue]
        return {"quantile": "quantiles"}.get(self.kind, self.kind), ":".join(
            [*parts, *([found["step"]] if "step" in found else [])]
        )


@dataclass(frozen=True, init=False)
class Count(Statistic):
    """How many rows have each combination of values of some columns; without columns, how many rows there are.

    Parameters
    ----------
    columns : names of columns

    Examples
    --------
    >>> Count("race", "sex")
    Count('race', 'sex')
    """

    by: tuple[str, ...]
    kind = "count"

    def __init__(self, *columns: str) -> None:
        object.__setattr__(self, "by", _columns(columns, "columns"))

    def __repr__(self) -> str:
        return f"Count({', '.join(map(repr, self.by))})"


@dataclass(frozen=True, init=False)
class People(Statistic):
    """How many people have a row with each combination of values of some columns, each person once.

    Whose a row is says the option `person`. Somebody with rows in two groups is in both; without columns, it is how
    many people there are.

    Parameters
    ----------
    columns : names of columns

    Examples
    --------
    >>> People("ward")
    People('ward')
    """

    by: tuple[str, ...]
    kind = "people"

    def __init__(self, *columns: str) -> None:
        object.__setattr__(self, "by", _columns(columns, "columns"))

    def __repr__(self) -> str:
        return f"People({', '.join(map(repr, self.by))})"


@dataclass(frozen=True)
class Numeric(Statistic):
    """A statistic of a column of numbers between bounds, in whole multiples of a step."""

    column: str
    bounds: tuple[Any, Any] | str
    by: Any = ()
    step: Any = None

    def __post_init__(self) -> None:
        _columns(self.column, "column")
        object.__setattr__(self, "by", _columns(self.by, "by"))
        if self.column in self.by:
            raise DivulgeError.of("by", "group by other columns than the one that is summed up", "it", repr(self.by))
        if self.step is not None:
            step = _number(self.step, "step")
            if not step > 0:
                raise DivulgeError.of("step", "be positive", "it", str(self.step))
            object.__setattr__(self, "step", step)
        given: Any = self.bounds
        if given == AUTO:
            return
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise DivulgeError.of(
                "bounds", "be a pair (low, high)", "it", repr(self.bounds)[:60],
                "bounds come from what is known in public about the column, such as ages from 0 to 90; values beyond "
                'them count as the nearest bound. "auto" chooses them with noise, for a part of what is promised.',
            )  # fmt: skip
        low, high = (_number(bound, "bounds") for bound in self.bounds)
        if not low < high:
            raise DivulgeError.of("bounds", "rise from low to high", "the pair", f"{self.bounds[0]}, {self.bounds[1]}")
        object.__setattr__(self, "bounds", (low, high))
        self.lattice(self.step or Fraction(1))

    def lattice(self, step: Fraction) -> tuple[int, int]:
        """Return the bounds in whole steps.

        Examples
        --------
        >>> Mean("height", bounds=(1, 2.5), step="0.1").lattice(Fraction(1, 10))
        (10, 25)
        """
        given: Any = self.bounds
        low, high = (bound / step for bound in given)
        if low.denominator != 1 or high.denominator != 1:
            raise DivulgeError.of(
                "bounds", "be whole multiples of the step", "the step", f"{float(step):g}",
                "sums are added up in whole numbers of steps; give step=0.01, say.",
            )  # fmt: skip
        if not high - low <= MOST_STEPS or not max(abs(low), abs(high)) <= MOST_STEPS:
            raise DivulgeError.of("step", f"leave at most 2^40 steps between 0 and the bounds of {self.column!r}", "it",
                                  f"{float(step):g}", "take a coarser one.")  # fmt: skip
        return int(low), int(high)

    def __repr__(self) -> str:
        ends = repr(AUTO) if self.bounds == AUTO else "({:g}, {:g})".format(*map(float, self.bounds))
        parts = [repr(self.column), f"bounds={ends}"]
        parts += [f"by={self.by!r}"] if self.by else []
        parts += [f"step={float(self.step):g}"] if self.step is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class Sum(Numeric):
    """The sum of a column of numbers.

    Parameters
    ----------
    column : name
    bounds : (low, high), or "auto"
        What is publicly known of the values; those beyond count as the nearest bound. With "auto" they are chosen from
        the table by noisy counts of the numbers between 0, 1, 2, 5, 10, ... steps, which a quarter of what is promised
        pays for; which ones were chosen is told.
    by : names of columns to group by
    step : number, optional
        Values are rounded to whole multiples of it, so that everything adds up in whole numbers; 1 for a column of
        whole numbers, required for any other.

    Examples
    --------
    >>> Sum("income", bounds=(0, 100_000), step=100)
    Sum('income', bounds=(0, 100000), step=100)
    """

    kind = "sum"


@dataclass(frozen=True, repr=False)
class Mean(Numeric):
    """The mean of a column of numbers; parameters as for `Sum`.

    Examples
    --------
    >>> Mean("age", bounds=(0, 90), by="sex")
    Mean('age', bounds=(0, 90), by=('sex',))
    """

    kind = "mean"


@dataclass(frozen=True, repr=False)
class Variance(Numeric):
    """The variance of a column of numbers, sum (v - mean)^2 / rows; parameters as for `Sum`.

    Examples
    --------
    >>> Variance("age", bounds=(0, 90))
    Variance('age', bounds=(0, 90))
    """

    kind = "variance"


@dataclass(frozen=True, repr=False)
class Quantiles(Numeric):
    """Values of a column of numbers below which given shares of the rows lie.

    Parameters
    ----------
    column, bounds, by, step : as for `Sum`
        A quantile is chosen among the multiples of the step between the bounds.
    probabilities : numbers in (0, 1)
    intervals : bool
        Spend two thirds of what the quantiles may say on both ends of an interval. Without, nothing says how far off
        they are, and a group of nobody has a number as any other.

    Examples
    --------
    >>> Quantiles("age", bounds=(0, 90), probabilities=(0.25, 0.5, 0.75))
    Quantiles('age', bounds=(0, 90), probabilities=(0.25, 0.5, 0.75))
    """

    probabilities: Any = (0.25, 0.5, 0.75)
    intervals: bool = True
    kind = "quantile"

    def __post_init__(self) -> None:
        if self.bounds == AUTO:
            raise DivulgeError.of(
                "bounds", "be a pair (low, high) for quantiles", "it", repr(AUTO),
                "bounds that are surely wide cost a quantile little; take a coarser step with them.",
            )  # fmt: skip
        super().__post_init__()
        given = self.probabilities if isinstance(self.probabilities, (list, tuple)) else (self.probabilities,)
        found = tuple(_number(p, "probabilities") for p in given)
        if not found or len(set(found)) != len(found) or not all(0 < p < 1 for p in found):
            raise DivulgeError.of("probabilities", "be different numbers between 0 and 1", "it", repr(given)[:60])
        if max(p.denominator for p in found) > 10**6:
            raise DivulgeError.of("probabilities", "have at most six digits", "it", repr(given)[:60])
        object.__setattr__(self, "probabilities", found)

    def lattice(self, step: Fraction) -> tuple[int, int]:
        low, high = super().lattice(step)
        if high - low >= MOST_CANDIDATES:
            raise DivulgeError.of("step", f"leave at most {MOST_CANDIDATES:,} values to choose a quantile among", "it",
                                  f"{float(step):g}", "take a coarser one.")  # fmt: skip
        return low, high

    def __repr__(self) -> str:
        shown = ", ".join(f"{float(p):g}" for p in self.probabilities)
        return f"{super().__repr__()[:-1]}, probabilities=({shown}))"


@dataclass(frozen=True, repr=False)
class Cut(Numeric):
    """How many numbers of a column lie beyond its bounds, and were cut to them; parameters as for `Sum`.

    Asked for by the option `tell_cut`, for all columns that have bounds.

    >>> Cut("salary", bounds=(0, 90_000)).columns
    ('salary',)
    """

    kind = "cut"


@dataclass(frozen=True)
class Numbers(Statistic):
    """How many rows have a number in a column: of so many a mean is.

    Asked for by the option `tell_numbers`, for each statistic of numbers, in its groups.

    >>> Numbers("age", by=("sex",)).columns
    ('sex', 'age')
    """

    column: str
    by: tuple[str, ...] = ()
    kind = "numbers"


@dataclass(frozen=True)
class Proportion(Statistic):
    """The share of rows in which a column has a value.

    Parameters
    ----------
    column : name
    value : the value that is counted
    by : names of columns to group by

    Examples
    --------
    >>> Proportion("answer", "yes", by=("region",)).columns
    ('region', 'answer')
    """

    column: str
    value: Hashable
    by: Any = ()
    kind = "proportion"

    def __post_init__(self) -> None:
        _columns(self.column, "column")
        object.__setattr__(self, "by", _columns(self.by, "by"))
        if self.column in self.by:
            raise DivulgeError.of("by", "group by other columns than the one that is counted", "it", repr(self.by))
        if self.value is None:
            raise DivulgeError.of("value", "be a value of the column", "it", "None")


Statistics: TypeAlias = Statistic | Sequence[Statistic]
"""One statistic, or several."""


def as_statistics(given: Any) -> tuple[Statistic, ...]:
    """Return one statistic, or several, as a tuple; anything else is refused."""
    found = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if not found or not all(isinstance(one, Statistic) for one in found):
        wrong = next((one for one in found if not isinstance(one, Statistic)), "empty")
        raise DivulgeError.of(
            "statistics",
            "be Count, People, Sum, Mean, Proportion, Variance or Quantiles, or several",
            "it",
            repr(wrong)[:60],
        )
    if len(set(found)) != len(found):
        raise DivulgeError.of("statistics", "name each statistic once", "one of them", "there twice")
    return found


def _as_json(value: Any) -> Any:
    """Return a part of a statistic as JSON holds it."""
    if isinstance(value, (tuple, list)):
        return [_as_json(one) for one in value]
    return value if isinstance(value, (str, bool)) else str(value)


def _quoted(name: str) -> str:
    """Return a name as it stands between commas, in quotation marks where it has a comma itself."""
    alone = not any(sign in name for sign in ',"') and name == name.strip()
    return name if alone else '"' + name.replace('"', '""') + '"'


def statistic_of(given: Mapping[str, Any]) -> Statistic:
    """Return the statistic that `to_option` described."""
    kinds = {one.kind: one for one in (Count, People, Sum, Mean, Variance, Quantiles, Proportion)}
    rest = {str(name): value for name, value in given.items() if name != "kind"}
    if given.get("kind") not in kinds:
        raise DivulgeError.unknown("kind", given.get("kind"), kinds)
    try:
        made = kinds[given["kind"]]
        return made(*rest.get("by", ())) if given["kind"] in ("count", "people") else made(**rest)
    except TypeError:
        raise DivulgeError.of("statistics", "have their parts", f"one of kind {given['kind']}", "without") from None


NUMERIC: dict[str, type[Numeric]] = {"sum": Sum, "mean": Mean, "variance": Variance, "quantiles": Quantiles}


def _parts(text: str, kind: str) -> list[str]:
    """Return the column and what follows: numbers, as many as may stand there, as a column's name may have colons."""
    parts = text.split(":")
    most = 4 if kind == "quantiles" else 3
    numbers = 0
    while numbers < min(most, len(parts) - 1) and re.match(r"\s*([-+.\d]|nan\b|inf)", parts[-1 - numbers], re.I):
        numbers += 1
    return [":".join(parts[: len(parts) - numbers]), *parts[len(parts) - numbers :]]


def _pointed(text: str, decimal: str | None) -> Any:
    """Return a number as it is meant: with a decimal comma 15.000 is 15000, and with a point 15.

    >>> _pointed("15.000", ","), _pointed("1.234,5", ","), _pointed("15.000", ".")
    ('15000', '1234.5', '15')
    """
    if decimal == "," and _COMMA.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    if decimal == "," and "." in text:
        raise DivulgeError.of("bounds", "be written with a decimal comma, as --decimal says", "one", repr(text)[:60])
    return (
        str(Fraction(text.strip())) if decimal == "." and _AMBIGUOUS.fullmatch(text) and text.count(".") == 1 else text
    )


def parse_numeric(kind: str, text: str, by: tuple[str, ...], decimal: str | None = None) -> Statistic:
    """Return the statistic written COLUMN:LOW:HIGH[:STEP] or COLUMN:auto[:STEP]; quantiles COLUMN:LOW:HIGH:P,P[:STEP].

    `decimal` is the sign that numbers are written with, where it was said; 15.000 is refused where it was not.

    >>> parse_numeric("mean", "age:0:90", ())
    Mean('age', bounds=(0, 90))
    >>> parse_numeric("mean", "salary:auto:100", ())
    Mean('salary', bounds='auto', step=100)
    >>> parse_numeric("quantiles", "age:0:90:0.25,0.5", ())
    Quantiles('age', bounds=(0, 90), probabilities=(0.25, 0.5))
    """
    if kind != "quantiles" and (auto := _CHOSEN.fullmatch(text)):
        step = auto.group(2)
        more = {} if step is None else {"step": _pointed(step, decimal)}
        return NUMERIC[kind](auto.group(1), bounds=AUTO, by=by, **more)
    form = "COLUMN:LOW:HIGH" + (":P,P,..." if kind == "quantiles" else "")
    least = form.count(":")
    parts = _parts(text, kind)
    if not least + 1 <= len(parts) <= least + 2 or not parts[0]:
        raise DivulgeError.of(f"--{kind}", f"be written {form}[:STEP]", "it", repr(text)[:80],
                              "bounds are what is publicly known of the column.")  # fmt: skip
    options: dict[str, Any] = {"step": _pointed(parts[least + 1], decimal)} if len(parts) == least + 2 else {}
    if kind == "quantiles":
        options["probabilities"] = tuple(parts[3].split(","))
    bounds = (_pointed(parts[1], decimal), _pointed(parts[2], decimal))
    return NUMERIC[kind](parts[0], bounds=bounds, by=by, **options)
