"""What is asked of a table that is to be coarsened: the options of `generalize`."""

import csv
import io
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from divulge.errors import DivulgeError
from divulge.files.hierarchies import as_hierarchy
from divulge.guarantees.guarantee import Guarantee
from divulge.model.entries import rational
from divulge.releasing.options import Option, as_several
from divulge.releasing.request import Request, typed
from divulge.tables.assess import columns_of, mapping_of
from divulge.tables.levels.conditions import guarantees_of
from divulge.tables.levels.losses import loss_named

RECODINGS = ("global", "local")
"""One level of a column for all rows, or levels that differ from group to group."""

Names = str | Sequence[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Generalize(Request):
    """What is asked of a table that is to be coarsened: its columns, and what their groups must keep.

    >>> asked = Generalize(source="t.csv", known=["age", "sex"], secret="ill", guarantees="k=5", suppress=0.04)
    >>> print(asked.command())
    divulge generalize t.csv --known age,sex --guarantee k=5 --secret ill --suppress 1/25 --no-ledger
    >>> Request.from_dict(asked.to_dict()) == asked
    True
    """

    action = "generalize"
    door = "divulge.tables.generalize:carry_out"

    known: Annotated[Names, Option("Columns that people may know: a,b,c.", metavar="COLS")]
    guarantees: Annotated[
        Any, Option("k=5, t=0.2, distinct-l=3, pml=1; may be repeated.", list[str], "GUARANTEE", ("--guarantee",))
    ]
    secret: Annotated[Names | None, Option("The sensitive columns, with commas between.", metavar="COLS")] = None
    hierarchies: Annotated[
        Any,
        Option("How a column is coarsened, as ARX writes it; else guessed.", list[str], "COL=FILE", ("--hierarchy",)),
    ] = None
    levels: Annotated[
        Any,
        Option(
            "A level chosen beforehand, 0 the value itself; others are searched.", list[str], "COL=N", ("--levels",)
        ),
    ] = None
    loss: Annotated[
        str,
        Option("entropy, granularity, discernibility, class-size, mutual-information or information.", metavar="LOSS"),
    ] = "entropy"
    recoding: Annotated[
        str,
        Option("global: a column has one level; local: each group its own, with a bound, not the best.", metavar="HOW"),
    ] = "global"
    perturb: Annotated[
        Any,
        Option(
            "Then perturb the sensitive column under this, for all groups at once: pml=0.5. The true values stay here.",
            list[str],
            "GUARANTEE",
        ),
    ] = ()
    suppress: Annotated[Any, Option("The share of rows that may lose all known columns.", metavar="SHARE")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        changed: dict[str, Any] = {
            "known": columns_of(self.known, "known"), "guarantees": guarantees_of(self.guarantees),
            "suppress": _share(self.suppress), "perturb": as_several(self.perturb),
        }  # fmt: skip
        if self.secret is not None:
            changed["secret"] = columns_of(self.secret, "secret") or None
        if self.hierarchies is not None:
            given = mapping_of(self.hierarchies)
            changed["hierarchies"] = {
                name: os.fspath(one) if isinstance(one, (str, os.PathLike)) else as_hierarchy(one, name)
                for name, one in given.items()
            } or None
        if self.levels is not None:
            changed["levels"] = _levels(self.levels) or None
        for name, value in changed.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        """Refuse options that are none, or do not go together."""
        loss_named(self.loss)
        if self.recoding not in RECODINGS:
            raise DivulgeError.of("recoding", 'be "global" or "local"', "it", repr(self.recoding)[:40])
        for name in ("levels", "suppress") if self.recoding == "local" else ():
            if getattr(self, name):
                raise DivulgeError.of(name, 'be left out with recoding="local"', "it", "given",
                                      "each group is as fine as its rows allow, and none is left out.")  # fmt: skip
        if not self.known:
            raise DivulgeError.of("known", "name at least one column", "it", "empty")
        both = [name for name in self.columns if name in self.secrets]
        if both:
            raise DivulgeError.of("known", "have none of the sensitive columns", "one", repr(both[0]))
        if self.perturb:
            self._check_perturbed()
        if not self.secrets and any(one.kind != "k" for one in self.guarantees):
            raise DivulgeError.of("secret", "be named for guarantees other than k", "it", "absent")
        for option in ("hierarchies", "levels"):
            for name in getattr(self, option) or ():
                if name not in self.columns:
                    raise DivulgeError.of(option, "be of known columns", "one", f"of {name!r}")

    def _check_perturbed(self) -> None:
        """Refuse what does not go with a perturbed sensitive column."""
        if not self.secrets:
            raise DivulgeError.of("secret", "be named with perturb", "it", "absent")
        if self.one_answer and not self.per_row:
            raise DivulgeError.of(
                "one_answer", "be left out with perturb: a coarser table does not say who", "it", "given",
                "rows_per_person=N (--rows-per-person N) shares the promise among the rows of a person.",
            )  # fmt: skip
        if self.person is not None and self.rows_per_person is None and not self.per_row:
            raise DivulgeError.of(
                "person", "come with rows_per_person or per_row where perturb is asked", "it", "alone",
                "rows_per_person=N (--rows-per-person N) shares the promise among the rows of a person, 1 where each "
                "has one.",
            )  # fmt: skip
        if self.engine == "spark":
            raise DivulgeError.of("perturb", "be left out with Spark", "it", "given")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that somebody may know."""
        return tuple(self.known)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return tuple(self.secret or ())

    @property
    def kept(self) -> tuple[Guarantee, ...]:
        """The guarantees in nats."""
        return tuple(one.read_in(self.unit, to_keep=True) for one in self.guarantees)

    def _words_of(self, name: str, value: Any) -> Iterator[str]:
        if name in ("known", "secret"):
            yield f"--{name} {shlex.quote(between_commas(value))}"
        elif name == "hierarchies":
            for column, one in value.items():
                yield f"--hierarchy {shlex.quote(f'{column}={typed(one, name)}')}"
        elif name == "levels":
            for column, level in value.items():
                yield f"--levels {shlex.quote(f'{column}={level}')}"
        else:
            yield from super()._words_of(name, value)


def between_commas(names: Sequence[str]) -> str:
    """Return names with commas between, one that has a comma itself in quotation marks."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _levels(given: Any) -> dict[str, int]:
    """Return levels by column; refuse what is no whole number."""
    if not isinstance(given, Mapping):
        raise DivulgeError.of("levels", "map columns to levels", "they", f"a {type(given).__name__}")
    for name, level in given.items():
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise DivulgeError.of("levels", "be whole numbers, at least 0", f"that of {name!r}", repr(level)[:40])
    return dict(given)


def _share(value: Any) -> Fraction:
    try:
        share = rational(str(value))
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if isinstance(value, bool) or not 0 <= share < 1:
        raise DivulgeError.of("suppress", "be a number in [0, 1)", "it", str(value)[:40])
    return share
