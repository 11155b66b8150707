"""What is asked of a column of a table: the options of `release` and `preview`."""

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Annotated, Any

from divulge.errors import DivulgeError, number_of
from divulge.files.distances import of_file
from divulge.guarantees.catalog import as_guarantees
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.model.metrics.metric import Metric
from divulge.model.metrics.quantities import unit_of_rates
from divulge.protocols.families import lengths_of
from divulge.protocols.record import NAMES
from divulge.releasing.options import Option, as_columns, as_names, as_several
from divulge.releasing.planning.purposes import PURPOSES
from divulge.releasing.request import Place, Request

OUTCOMES = ("values", "sets")
"""What outcomes are: one for each value and called after it, or sets of values, called after all that they raise."""

PROTOCOLS = ("auto", *NAMES)
"""The frequency protocols that draw reports, and "auto" for the one to take."""

Names = str | Sequence[str]


def grouped(prior: Any) -> bool:
    """Say whether a prior is the shares in groups of rows that are alike in known columns: groups=A,B.

    >>> grouped("groups=age,sex"), grouped("uniform"), grouped(None)
    (True, False, False)
    """
    return isinstance(prior, str) and prior.partition("=")[0] == "groups"


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Request):
    """What is asked of a column: which one, through which mechanism, and what goes out of it; see `release`.

    >>> asked = Release(column=["faith", "sex"], guarantee="ldp=1", unit="bits")
    >>> asked.columns, asked.kept
    (('faith', 'sex'), (LDP(0.693147180...),))
    """

    action = "release"
    door = "divulge.releasing.release:carry_out"

    column: Annotated[Names, Option("The sensitive column; several are one secret together.", list[str], "C")]
    guarantee: Annotated[
        Any, Option("Such as ldp=1. Alone: make a mechanism for it. With one: check it.", list[str], "GUARANTEE")
    ] = ()
    protect: Annotated[
        Any,
        Option(
            "What the guarantee is about in place of the column: another column, or a public file of P(s | x).",
            metavar="COLUMN|FILE",
        ),
    ] = None
    mechanism: Annotated[
        Any,
        Option(
            "A channel file, or with --epsilon or --ratio: randomized-response, geometric, exponential, "
            "subset-selection, extremal, resample, erasure, symmetric; without: identity, constant.",
            metavar="FILE_OR_NAME",
        ),
    ] = None
    epsilon: Annotated[float | None, Option("The strength of a mechanism given by its name.", float)] = None
    ratio: Annotated[Any, Option("The same, exactly: e^epsilon, such as 3 or 3/2.")] = None
    protocol: Annotated[
        str | None,
        Option(
            "A frequency protocol, for columns of many values: auto, local-hashing (any text, without --values), "
            "prefix-extension (finds frequent texts without a list), hadamard, projective, randomized-response, "
            "optimized-unary, symmetric-unary, subset-selection; of several columns one each: auto,auto.",
            metavar="NAME",
        ),
    ] = None
    prefixes: Annotated[
        Any,
        Option(
            "With prefix-extension: the lengths in bytes of prefixes, one of which each row tells, such as 2,3,4,6; or "
            "the last of 2, 3, ... [default: 16]",
            metavar="LENGTHS",
        ),
    ] = None
    grid: Annotated[
        str | None,
        Option(
            "With metric=1/km: the side of a cell, such as 500m; columns are latitude and longitude, or one of "
            "numbers, dates or times.",
            metavar="SIDE",
        ),
    ] = None
    box: Annotated[
        Any,
        Option(
            "With --grid: the public region, SOUTH,WEST,NORTH,EAST in degrees, or LOW,HIGH, numbers or dates.",
            metavar="REGION",
        ),
    ] = None
    quarters: Annotated[
        Any,
        Option(
            "With --grid: a public table of who lives where, with columns quarter, people, and latitude and longitude "
            "of its middle, called as those of the table.",
            metavar="FILE",
        ),
    ] = None
    distance: Annotated[
        Any,
        Option(
            "With metric=1/step: how far answers are apart: a matrix of distances (CSV or JSON, answers on both axes), "
            "line for --values that are numbers, or grid:WxH:STEP for cells, x fastest.",
            metavar="FILE|line|grid:WxH:STEP",
        ),
    ] = None
    chain: Annotated[
        Any,
        Option(
            "With --person and --rows-per-person: a public file of P(next answer | answer), for how one row of a "
            "person follows another; the statement says what all of them tell of one. With --grid answers are the "
            "numbers of cells, 0 in the south-west, eastward first.",
            metavar="FILE",
        ),
    ] = None
    purpose: Annotated[
        str, Option("statistics: best estimates; record: each row as often right as can be; information.")
    ] = "statistics"
    outcomes: Annotated[
        str, Option("values: one outcome for each, called after it; sets: the best, called after sets.")
    ] = "values"
    prior: Annotated[
        Any,
        Option(
            "What attackers are taken to know: a public file, TABLE:COLUMN of another table, uniform "
            "(the default), lower=P (no value is rarer), noisy=E (an estimate with noise, which spends E), groups=A,B "
            "(the shares among rows alike in these columns; the mechanism tells of them).",
            metavar="PRIOR",
        ),
    ] = None
    within: Annotated[
        Any,
        Option(
            "With --prior groups=A,B: what the groups keep by themselves, pml=1 or t=0.2; it is checked, and what both "
            "tell together is said.",
            list[str],
            "GUARANTEE",
        ),
    ] = ()
    prior_from_data: Annotated[bool, Option("Take the column's own shares; the mechanism tells them.", bool)] = False
    values: Annotated[
        Any,
        Option(
            'The answers there can be: a table with a column C of them, text with one a line, JSON {"C": [...]} or a '
            "codebook. Else they are taken from the table.",
            metavar="FILE",
        ),
    ] = None
    other: Annotated[
        str | None, Option("What an answer that is not listed counts as.  [default: other]", metavar="NAME")
    ] = None
    rule_out: Annotated[bool, Option("Allow outcomes that rule values out.", bool)] = False
    null_as: Annotated[Hashable, Option("The mechanism's label for a missing value.", metavar="LABEL")] = None
    raise_small: Annotated[bool, Option("Raise entries below 2^-53 to 2^-53 instead of refusing them.", bool)] = False
    time_limit: Annotated[float, Option("Of a design; then the best one so far is taken.", float, "SECONDS")] = 60.0
    released_as: Annotated[
        Names | None, Option("The name of the column in OUT.  [default: C_perturbed]", list[str], "NAME", ("--as",))
    ] = None
    keep: Annotated[Sequence[str] | None, Option("Other columns that go out; all when not given.", list[str], "C")] = (
        None
    )
    only_column: Annotated[bool, Option("Drop all other columns.", bool)] = False
    archive: Annotated[Place, Option("One .zip with all public files, and nothing else.", Path, "FILE.zip")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.distance, (str, os.PathLike)) and of_file(os.fspath(self.distance)):
            given = self.guarantee
            unit_of_rates(given if isinstance(given, (list, tuple)) else [given], "guarantee")
        changed = {
            "column": as_columns(self.column), "guarantee": as_several(self.guarantee, self.about_distance),
            "within": as_guarantees(self.within, "within") if self.within else (),
        }  # fmt: skip
        for name in ("keep", "released_as"):
            if getattr(self, name) is not None:
                changed[name] = as_names(getattr(self, name), name)
        if self.keep == () or self.keep == []:
            changed |= {"keep": None, "only_column": True}
        for name, value in changed.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        """Refuse options that are none, or do not go together."""
        if not (isinstance(self.time_limit, Real) and self.time_limit >= 0):
            raise DivulgeError.of("time_limit", "be a number of seconds that is at least 0", "it",
                                  repr(self.time_limit))  # fmt: skip
        for name, known in (("purpose", tuple(PURPOSES)), ("outcomes", OUTCOMES)):
            if getattr(self, name) not in known:
                raise DivulgeError.unknown(name, getattr(self, name), known)
        if self.mechanism is None and not self.guarantee:
            raise DivulgeError(
                "give a mechanism or a guarantee; there is neither. Hint: guarantee='ldp=1' (--guarantee ldp=1) lets "
                "odds change by 2.72 times at most; a preview shows what that means for your table."
            )
        if (self.epsilon is not None or self.ratio is not None) and not isinstance(self.mechanism, str):
            raise DivulgeError.of("epsilon", "come with the name of a mechanism", "it", "given without one",
                                  "a guarantee such as ldp=1 has its own.")  # fmt: skip
        if self.within and not grouped(self.prior):
            raise DivulgeError.of("within", "come with prior='groups=A,B' (--prior)", "it", "given without it")
        if self.values is not None and (grouped(self.prior) or self.prior_from_data):
            if grouped(self.prior):
                raise DivulgeError.of("prior", "be no shares of groups with a list of answers: they tell which occur",
                                      "it", "groups=COLUMNS")  # fmt: skip
            raise DivulgeError.of("prior_from_data", "be left out with a list of answers: it tells which of them occur",
                                  "it", "given")  # fmt: skip
        if (
            self.values is not None
            and self.mechanism is not None
            and not isinstance(self.mechanism, (str, os.PathLike))
        ):
            raise DivulgeError.of("values", "be left out with a mechanism, which names its answers", "it", "given")
        if self.prefixes is not None and self.protocol != "prefix-extension":
            raise DivulgeError.of("prefixes", "come with the protocol prefix-extension", "it", "given without it")
        if self.protocol is not None:
            self._check_protocol()
        if self.distance is not None:
            self._check_distance()
        elif self.about_distance:
            self._check_grid()
        if self.protect is not None:
            self._check_protected()
        if self.chain is not None:
            self._check_chain()
        if self.only_column and self.keep:
            raise DivulgeError.of("keep", "be left out with only_column", "it", "given as well")

    def _check_protocol(self) -> None:
        """Refuse what a release through a frequency protocol does not know."""
        names = str(self.protocol).split(",")
        for name in names:
            if name not in PROTOCOLS:
                raise DivulgeError.unknown("protocol", name, PROTOCOLS)
        if len(names) not in (1, len(self.columns)):
            raise DivulgeError.of("protocol", "be one for all columns together, or one for each, such as auto,auto",
                                  "their number", f"{len(names)} for {number_of(len(self.columns), 'column')}",
                                  "one each: they go out apart, each with an equal share of the promise.")  # fmt: skip
        if self.prefixes is not None:
            lengths_of(self.prefixes)
        self._check_usual("protocol", {})

    def _check_grid(self) -> None:
        """Refuse what noise about a distance does not know."""
        if self.grid is None or self.box is None:
            missing, there = ("box", "grid") if self.box is None else ("grid", "box")
            raise DivulgeError.of(
                missing, f"be given with {there}", "it", "absent",
                "--grid 500m --box SOUTH,WEST,NORTH,EAST name cells and region, whatever the data are.",
            )  # fmt: skip
        if len(self.guarantee) != 1 or not isinstance(self.guarantee[0], MetricPrivacy):
            raise DivulgeError.of("guarantee", "be one of distances, such as metric=1/km, with a grid", "it",
                                  ", ".join(map(str, self.guarantee)) or "absent")  # fmt: skip
        if len(self.columns) > 2:
            raise DivulgeError.of("column", "be latitude and longitude, or one number", "their number",
                                  str(len(self.columns)))  # fmt: skip
        if self.quarters is not None and len(self.columns) != 2:
            raise DivulgeError.of("quarters", "come with latitude and longitude", "it", "given with one column")
        self._check_usual("grid", {"protocol": None, "values": None, "other": None, "prior": None, "null_as": None})

    def _check_distance(self) -> None:
        """Refuse what a mechanism about distances of answers does not know."""
        if not isinstance(self.distance, (str, os.PathLike, Metric)):
            raise DivulgeError.of("distance", "be a Metric, the file of one, line or grid:WxH:STEP", "it",
                                  f"a {type(self.distance).__name__}")  # fmt: skip
        if len(self.guarantee) != 1 or not isinstance(self.guarantee[0], MetricPrivacy):
            raise DivulgeError.of("guarantee", "be one of distances, such as metric=1/step, with distance", "it",
                                  ", ".join(map(str, self.guarantee)) or "absent")  # fmt: skip
        if len(self.columns) > 1:
            raise DivulgeError.of("column", "be one, for distances of its answers", "their number",
                                  str(len(self.columns)), "--grid moves latitude and longitude.")  # fmt: skip
        line = isinstance(self.distance, str) and self.distance.startswith("line")
        if self.values is not None and not line:
            raise DivulgeError.of("values", "be left out with distances, which name the answers", "it", "given")
        names = ("grid", "box", "quarters", "protocol")
        self._check_usual("distance", dict.fromkeys(names), spared=("purpose",))

    def _check_usual(self, beside: str, more: dict[str, Any], spared: Sequence[str] = ()) -> None:
        """Refuse options of matrices beside one that makes none."""
        usual = {"mechanism": None, "protect": None, "epsilon": None, "ratio": None, "purpose": "statistics",
                 "outcomes": "values", "prior_from_data": False, "rule_out": False, "raise_small": False}  # fmt: skip
        for name, value in (usual | more).items():
            if name not in spared and getattr(self, name) != value:
                raise DivulgeError.of(name, f"be left out with a {beside}", "it", "given")

    def _check_chain(self) -> None:
        """Refuse a model of the rows of a person where there are none that follow each other."""
        if not (self.rows_per_person or 1) > 1:
            raise DivulgeError.of("chain", "come with several rows of a person", "their number",
                                  str(self.rows_per_person or 1), "--person C --rows-per-person N")  # fmt: skip
        for name in ("protocol", "protect"):
            if getattr(self, name) is not None:
                raise DivulgeError.of("chain", f"be left out with {name}", "it", "given")
        if len(self.columns) > 1 and self.grid is None:
            raise DivulgeError.of("chain", "go with one column", "their number", str(len(self.columns)))

    def _check_protected(self) -> None:
        """Refuse what no release that protects another variable knows."""
        if not self.guarantee:
            raise DivulgeError.of("guarantee", "be given with protect, and be about what is protected", "it", "absent")
        if self.values is not None:
            raise DivulgeError.of("values", "be left out where another variable is protected", "it", "given",
                                  "the law of both has all answers.")  # fmt: skip
        if (self.rows_per_person or 1) > 1:
            raise DivulgeError.of("rows_per_person", "be 1 where another variable is protected", "it", "more",
                                  "one_answer=True (--one-answer) draws once a person.")  # fmt: skip
        if isinstance(self.protect, str) and (self.protect in (self.keep or ()) or self.protect in self.columns):
            raise DivulgeError.of("protect", "be a column that does not go out", "it", repr(self.protect))

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return as_columns(self.column)

    @property
    def about_distance(self) -> bool:
        """Whether the guarantee is about a distance: of answers, or of cells that are laid over a region."""
        return any(one is not None for one in (self.grid, self.box, self.quarters, self.distance))

    @property
    def kept(self) -> tuple[Guarantee, ...]:
        """The guarantees in nats."""
        several = as_several(self.guarantee, self.about_distance)
        return tuple(one.read_in(self.unit, to_keep=True) for one in several)
