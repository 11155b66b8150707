"""`divulge calibrate`: the least noise, the largest sample or the most releases that keep a goal."""

from typing import Annotated

import typer

from divulge.cli.common import busy, emit, print_table
from divulge.cli.options import JsonOption, UnitOption
from divulge.errors import DivulgeError
from divulge.model.shown import promised


def command(
    family: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM",
            help="gaussian, laplace, discrete-gaussian, discrete-laplace, randomized-response, exponential, "
            "noisy-max or sparse-vector; shuffled for any local mechanism, with --people.",
        ),
    ],
    goal: Annotated[
        str,
        typer.Argument(
            metavar="GOAL",
            help="adp=EPS:DELTA, dp=EPS, gdp=MU, zcdp=RHO, rdp=ALPHA:EPS, tv=A (advantage), hits=TRUE:FALSE, pml=EPS, "
            "posterior=BEFORE:AFTER[:SHARE]; interval=REACH[:LEVEL] for the most noise.",
        ),
    ],
    count: Annotated[
        int | None, typer.Option("--count", metavar="N", help="How often it runs, 1 unless given.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="Q", help="Each time on a Poisson sample of this rate.")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option("--noise", metavar="X", help="Noise that is given: the most releases are sought, or the rate."),
    ] = None,
    sensitivity: Annotated[float, typer.Option("--sensitivity", metavar="S", help="Of the query, for noise.")] = 1.0,
    base_rate: Annotated[
        float, typer.Option("--base-rate", metavar="P", help="How probable it is beforehand that a record is in (pml).")
    ] = 0.5,
    beside: Annotated[
        str | None,
        typer.Option("--beside", metavar="RELEASES", help="Others about the same data, as for account; they count."),
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", metavar="N", help="Each run is the shuffled reports of so many people.")
    ] = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Find the least noise with which releases keep a goal; with --noise the most releases, or with --count the rate.

    The answer was checked by an upper bound of all releases together. A goal is a guarantee, or hits=0.1:0.01: at most
    10 % of the records that are in the data are named where 1 % of the others are, by the best attack.
    """
    from divulge.dp.accounting.records import from_records
    from divulge.dp.calibrate import calibrate, with_noise
    from divulge.dp.goals import goal_of
    from divulge.files import read_channel, read_records
    from divulge.guarantees.catalog import parse

    others = () if beside is None else from_records(read_records(beside), read_channel).releases
    if noise is not None and rate is not None and count is not None:
        raise DivulgeError.of("--rate", "be absent where --noise and --count are given", "it", f"{rate:g}")
    asked = goal_of(goal) or parse(goal).read_in(unit)
    with busy("looking for what just keeps the goal"):
        found = calibrate(
            family if noise is None else with_noise(family, noise, sensitivity), asked,
            1 if count is None and noise is None else count, rate,
            beside=others, sensitivity=sensitivity, base_rate=base_rate, people=people,
        )  # fmt: skip
    if as_json:
        emit(found.to_dict(unit))
        return
    shown = found.to_dict(unit)
    print_table(
        f"{shown['goal']} [{unit}]", ["", "value"],
        [[found.sought, found.text(unit)], ["releases", f"{found.count:,}"], ["comes to", promised(shown["level"], 9)]],
    )  # fmt: skip
