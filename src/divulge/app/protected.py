"""What jobs do where another column is protected: what is said of it, before anything goes out."""

import math
import warnings
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import divulge as dv
from divulge.releasing.beside import MOST_ALIKE, after
from divulge.releasing.column import Release
from divulge.releasing.engine import Progress
from divulge.releasing.records.ledger import Expected
from divulge.releasing.release import expected
from divulge.releasing.request import Request


def outlook_of_protected(source: Any, asked: Release, made: Expected) -> dict[str, Any]:
    """Return what a release says of the column that it protects, alone and with all on record, and with the columns
    beside it, as factors."""
    keep, loss = list(asked.keep or ()), float(made.receipt.guarantees["ldp"])
    before = 0.0 if made.earlier is None else float(made.earlier["guarantees"]["ldp"])
    return {
        "own": 0.0, "notes": list(made.private), "protect": asked.protect, **_in_all(source, asked, made),
        "keep": keep, "beside": _tells(source, keep, asked.protect) if keep else 1.0,
        "with_all": _tells(source, keep, asked.protect, loss + before) if keep else 1.0,
    }  # fmt: skip


def _in_all(source: Any, asked: Release, made: Expected) -> dict[str, Any]:
    """Return how many times as likely a protected value becomes, at most: by a release alone, and with all on record.

    i(s; y, z) = i(s; y) + i(s; z | y), and what others say beside, whatever is known, is their ldp at most. Nothing
    makes a value likelier than certain.
    """
    assert asked.protect is not None
    alone = float(made.receipt.about["guarantees"]["pml"])
    before = 0.0 if made.earlier is None else float(made.earlier["guarantees"]["ldp"])
    certain = _tells(source, [asked.protect], asked.protect)
    return {
        "rise": math.exp(alone), "all": min(certain, math.exp(min(alone + before, MOST_LOG))),
        "releases": 1 if made.earlier is None else 1 + made.earlier["releases"],
    }  # fmt: skip


MOST_LOG = 700.0
"""The exponential of more is no float."""


def _tells(source: Any, columns: Sequence[str], protect: str, loss: float = 0.0) -> float:
    """Return how many times as likely these columns, as they are, make a value of another; of very many, any value.

    Beside them goes out what changes the odds of anything by e^loss at most.
    """
    if len(columns) > MOST_ALIKE:
        counts = dv.contingency(source, protect).to_dict()
        return sum(counts.values()) / min(counts.values())
    counts: dict[Any, int] = dv.contingency(source, [*columns, protect]).to_dict()
    alike, values = Counter[Any](), Counter[Any]()
    for (*seen, value), count in counts.items():
        alike[tuple(seen)] += count
        values[value] += count
    rows = sum(values.values())
    shares = {(count / alike[tuple(seen)], values[value]) for (*seen, value), count in counts.items()}
    return max(rows * after(share, loss) / held for share, held in shares)


def shield(progress: Progress, path: str, options: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a column would say of a protected one, as it is and as it would go out, and what stays of it.

    `record` says where releases are on record, and what the table is called there.
    """
    source = dv.open_table(path)
    asked: Any = Request.of("release", path, "protected.csv", keep=[], **options, **record)
    if options.get("one_answer"):
        _require_one_answer(source, options["person"], (options["column"], options["protect"]))
    with warnings.catch_warnings(), _protecting_in_words():
        warnings.simplefilter("ignore")
        expect = expected(asked, source)
        made = expect.receipt
        progress(1, 2)
        level = dv.preview(source, levels=(1.0,), **options).to_dict()["levels"][0]
    told: Any = made.about

    def times(level: float | str) -> float:
        return math.exp(float(level))

    return {
        "column": options["column"], "protect": options["protect"],
        "plain": _tells(source, [options["column"]], options["protect"]),
        **_in_all(source, asked, expect), "notes": list(expect.private), "fall": times(told["guarantees"]["pmc"]),
        "off": [{"radius": 100 * float(Fraction(one["radius"])), "times": times(one["pml"])} for one in told["off"]],
        "within": [{"factor": float(Fraction(one["factor"])), "times": times(one["pml"])} for one in told["within"]],
        "always": times(told["always"]), "ruled_out": math.isinf(float(told["always"])),
        "stays": level["stays"], "values": level["values"],
    }  # fmt: skip


def _require_one_answer(source: Any, person: str, columns: Sequence[str]) -> None:
    """Refuse people with several answers in a column, before anything is chosen."""
    for column in columns:
        pairs: dict[Any, int] = dv.contingency(source, [person, column]).to_dict()
        several = Counter(who for who, _ in pairs)
        if max(several.values()) > 1:
            raise dv.DivulgeError(
                "Some people have more than one answer in these columns, so that one draw cannot stand in all their "
                "rows. Write their answers alike, or say that the promise is about a row alone."
            )


@contextmanager
def _protecting_in_words() -> Generator[None]:
    """Turn the refusal of a purpose that leaves nothing to tell into words of the page."""
    try:
        yield
    except dv.DivulgeError as error:
        if not str(error).startswith("`guarantee` must leave"):
            raise
        raise dv.DivulgeError(
            "Nothing of this column can go out that way: take “most informative”, or let values become more likely."
        ) from None
