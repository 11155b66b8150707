"""`divulge compare`: which of two mechanisms is safer against whom."""

from typing import Annotated

import typer

from divulge.cli.common import busy, emit, say
from divulge.cli.options import JsonOption, PriorOption, UnitOption
from divulge.files import read_channel, read_prior
from divulge.files.formats import CHANNEL
from divulge.files.opening import name_of

FileArgument = Annotated[str, typer.Argument(help=f"A channel. {CHANNEL}.")]


def command(
    a: FileArgument,
    b: FileArgument,
    prior: PriorOption = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 unless B is as safe as A against every average-case adversary.")
    ] = False,
) -> None:
    """Which channel is safer against whom: every average-case adversary, every max-case adversary, and by each measure.

    A no comes with the adversary to whom the other leaks more. Exact channels (fractions) get proved answers.
    """
    from divulge.adversaries.orders.comparison import compare

    first, second = read_channel(a), read_channel(b)
    known = None if prior is None else read_prior(prior, first)
    with busy("comparing"):
        comparison = compare(first, second, known, unit=unit)
    if as_json:
        emit({"A": name_of(a), "B": name_of(b), **comparison.to_dict()})
    else:
        say(f"A = {name_of(a)}\nB = {name_of(b)}\n{comparison!r}")
    if exit_code and comparison.safer("average_case") not in ("B", "both"):
        raise typer.Exit(1)
