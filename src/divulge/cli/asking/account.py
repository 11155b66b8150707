"""`divulge account`: what a list of releases adds up to."""

from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import busy, draw, emit, note, print_table
from divulge.cli.options import ForceOption, JsonOption, UnitOption
from divulge.errors import number_of
from divulge.model.shown import promised, reached

ORDERS = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def command(
    releases: Annotated[
        str, typer.Argument(metavar="RELEASES", help="A JSON list or CSV table of releases; - is standard input.")
    ],
    delta: Annotated[float | None, typer.Option("--delta", metavar="D", help="Ask for epsilon at this delta.")] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", metavar="E", help="Ask for delta at this epsilon, in the unit.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw delta over epsilon.")] = None,
    force: ForceOption = False,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="T", help="Aim at brackets on epsilon this wide, in nats.")
    ] = 1e-6,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Add up releases about the same data: epsilon and delta with bounds, pure epsilon, Renyi and zCDP.

    Of one record or value: what correlated ones tell of it, such as relatives or other days, is not covered.

    RELEASES is a list such as [{"mechanism": "gaussian", "sigma": 10, "sensitivity": 1, "count": 1000}]; a CSV table
    has a column for each parameter. Mechanisms: gaussian, laplace, discrete-gaussian, discrete-laplace,
    randomized-response, exponential, noisy-max, sparse-vector, tree-aggregation, channel (with "file"), adp, zcdp,
    renyi, shuffled ("n" reports of which each is "local"-LDP, to whoever trusts the shuffler and that all take part);
    "rate" samples the records (Poisson), "sample" and "population" draw so many. Of adp, zcdp, renyi and shuffled only
    the promise is known: no bounds from below.
    """
    from divulge.dp.accounting.records import from_records, summary, wide
    from divulge.files import read_channel, read_records
    from divulge.files.opening import refuse_taken

    if plot is not None:
        refuse_taken(plot, force)
    composed = from_records(read_records(releases), read_channel, tolerance)
    with busy("adding up releases"):
        found = summary(composed, delta, epsilon, ORDERS, unit)
    for row in wide(composed, found):
        width = row["epsilon"]["upper"] - row["epsilon"]["lower"]
        note(
            f"epsilon at delta = {row['delta']:g} is known to within {width:.3g} {unit}, not to the tolerance of "
            f"{found['tolerance']:.3g}: rely on its upper bound."
        )
    if plot is not None:
        draw(composed, plot, force=force)
    if as_json:
        emit(found)
        return
    print_table(f"{number_of(found['releases'], 'release')} [{unit}]", ["", "lower", "upper"], _rows(found))


def _rows(found: dict[str, Any]) -> list[list[Any]]:
    brackets = [(f"epsilon at delta = {row['delta']:g}", row["epsilon"]) for row in found.get("curve", [])]
    for name, given in (("epsilon", "delta"), ("delta", "epsilon")):
        if isinstance(found.get(name), dict):
            brackets.append((f"{name} at {given} = {found[given]:.6g}", found[name]))
    bounds = [("pure epsilon", found["pure_epsilon"]), ("zCDP rho", found["zcdp"]["rho"])]
    bounds += [(f"Renyi epsilon of order {row['alpha']:g}", row["epsilon"]) for row in found["renyi"]]
    return [
        *([label, reached(value["lower"], 10), promised(value["upper"], 10)] for label, value in brackets),
        *([label, "", promised(value)] for label, value in bounds),
    ]
