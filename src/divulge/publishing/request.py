"""What is asked of a table as a whole: the options of `publish`."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from divulge.errors import DivulgeError
from divulge.publishing.statistics import Count, People, Proportion, Statistic, as_statistics, statistic_of
from divulge.releasing.options import Option, as_several
from divulge.releasing.request import Place, Request


@dataclass(frozen=True, kw_only=True, eq=False)
class Publish(Request):
    """What is asked of a table as a whole: which statistics, under which promise; see `publish`.

    >>> asked = Publish(source="t.csv", statistics=[dv.Count("sex"), dv.Mean("age", (0, 90), "sex")], guarantee="dp=1")
    >>> print(asked.command())
    divulge publish t.csv --count sex --mean age:0:90 --by sex --guarantee dp=1 --no-ledger
    >>> Request.from_dict(asked.to_dict()) == asked
    True
    """

    action = "publish"
    door = "divulge.publishing.publish:carry_out"
    renamed = {"at_most": "rows_per_person"}  # noqa: RUF012

    statistics: Annotated[Any, Option("Counts, sums, means, variances, quantiles, proportions.")]
    guarantee: Annotated[
        Any, Option("Such as dp=1, adp=1:1e-6, zcdp=0.1, pml=1; may be repeated.", list[str], "GUARANTEE")
    ] = ()
    interval: Annotated[
        Any,
        Option(
            "In place of --guarantee: so far are numbers off at most, what is divided by N rows or more, quantiles in "
            "ranks; the promise follows.",
            metavar="W|W@N|Wrows,...",
        ),
    ] = None
    groups_per_person: Annotated[
        int | None, Option("In so many groups, at most, rows of a person count.", int, "N")
    ] = None
    rows_per_group: Annotated[int | None, Option("So many rows of a person count in one group.", int, "N")] = None
    values: Annotated[
        Any,
        Option(
            'JSON {"race": ["White", ...]}, or a codebook; under adp alone, noise names what is not listed.',
            metavar="FILE",
        ),
    ] = None
    values_from_data: Annotated[bool, Option("Take the values that occur; which ones do is not protected.", bool)] = (
        False
    )
    null_as: Annotated[Any, Option("The value that a missing value counts as.", metavar="LABEL")] = None
    no_other: Annotated[bool, Option("Nobody has an unlisted or missing value: no cells for these.", bool)] = False
    fill: Annotated[
        Any, Option("What a missing number of a column counts as; may be repeated.", list[str], "C:NUMBER")
    ] = ()
    tell_cut: Annotated[bool, Option("Publish, with noise of its own, how many numbers were cut.", bool)] = False
    tell_numbers: Annotated[bool, Option("Publish how many rows have a number: of so many a mean is.", bool)] = False
    accounts: Annotated[
        Any,
        Option(
            "An account for each person: who has spent so much over all releases is left out; with --person, --ledger.",
            metavar="dp=E|zcdp=R",
        ),
    ] = None
    neighbors: Annotated[str, Option("What may change unseen, one person.", metavar="replaced|added")] = "replaced"
    record_prior: Annotated[Any, Option("What is known before of a secret of one record.", metavar="lower=P|FILE")] = (
        None
    )
    others: Annotated[str, Option("What is known of all other records.", metavar="known|independent")] = "known"
    noise: Annotated[str | None, Option("The law of the noise.", metavar="laplace|gaussian")] = None
    split: Annotated[Any, Option("need, mean-squared, relative, equal, or a weight a query.", metavar="RULE|W,W")] = (
        "need"
    )
    level: Annotated[float, Option("Probability that all intervals hold together.", float)] = 0.95
    non_negative: Annotated[bool, Option("Raise negative counts to 0.", bool)] = False
    whole: Annotated[bool, Option("Round counts to whole numbers.", bool)] = False
    publisher: Annotated[str | None, Option("Who publishes, as the codebook says it.")] = None
    source_text: Annotated[str | None, Option("What the codebook calls the source, if not by its file's name.")] = None
    archive: Annotated[Place, Option("One .zip with all public files, and nothing else.", Path, "FILE.zip")] = None
    consistent: Annotated[bool, Option("Move counts so that tables with common columns agree.", bool)] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.statistics if isinstance(self.statistics, (list, tuple)) else (self.statistics,)
        made = as_statistics([statistic_of(one) if isinstance(one, Mapping) else one for one in given])
        object.__setattr__(self, "statistics", made)
        object.__setattr__(self, "guarantee", as_several(self.guarantee))
        filled: Any = self.fill
        if isinstance(filled, Mapping):
            filled = [f"{column}:{value}" for column, value in cast(Mapping[Any, Any], filled).items()]
        texts = [filled] if isinstance(filled, str) else list(filled or ())
        object.__setattr__(self, "fill", tuple(map(str, texts)))
        for name in ("split", "interval"):
            if isinstance(given := getattr(self, name), list):
                object.__setattr__(self, name, tuple(cast(list[Any], given)))

    def _words_of(self, name: str, value: Any) -> Iterator[str]:
        if name in ("split", "interval") and isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if name != "statistics":
            yield from super()._words_of(name, value)
            return
        several: tuple[Statistic, ...] = self.statistics
        groups = {one.by for one in several if not isinstance(one, (Count, People))}
        if len(groups) > 1:
            raise DivulgeError.of(
                "statistics", "be grouped by the same columns to stand in a command", "they", "grouped by several",
                "--save-request FILE and divulge run FILE take any.",
            )  # fmt: skip
        for one in several:
            kind, text = one.typed()
            yield f"--{kind} {shlex.quote(text)}"
        if any(groups):
            yield f"--by {shlex.quote(Count(*groups.pop()).typed()[1])}"

    def _call_of(self, name: str, value: Any) -> str:
        return f"[{', '.join(map(call, value))}]" if name == "statistics" else super()._call_of(name, value)


def call(one: Statistic) -> str:
    """Return a statistic as Python makes it, with every digit.

    >>> call(dv.Mean("age", (0, "2.5"), step="0.1"))
    "dv.Mean('age', bounds=('0', '5/2'), step='1/10')"
    """
    found = one.to_option()
    kind = type(one).__name__
    if isinstance(one, (Count, People)):
        return f"dv.{kind}({', '.join(map(repr, one.by))})"
    first = [found["column"], found["value"]] if isinstance(one, Proportion) else [found["column"]]
    rest = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in found.items()
        if name not in ("kind", "column", "value")
    }
    return f"dv.{kind}({', '.join([*map(repr, first), *(f'{name}={value!r}' for name, value in rest.items())])})"
