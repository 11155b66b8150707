"""`divulge noise`: what noise on a number gives away about one record."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import busy, draw, emit, lower, number, print_table, say, upper
from divulge.cli.options import ForceOption, JsonOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError

_KINDS = "laplace, gaussian, staircase, student-t, logistic, discrete-laplace or discrete-gaussian"


@dataclass(frozen=True)
class Shape:
    """Parameters of the noise."""

    scale: Annotated[
        float | None, typer.Option("--scale", help="b of Laplace, sigma of Gaussian; for the named kinds.")
    ] = None
    df: Annotated[float | None, typer.Option("--df", help="Degrees of freedom of student-t (3).")] = None
    sensitivity: Annotated[float | None, typer.Option("--sensitivity", help="Step width of staircase (1).")] = None
    gamma: Annotated[float | None, typer.Option("--gamma", help="Share of the upper step of staircase.")] = None
    step: Annotated[float | None, typer.Option("--step", help="Lattice step of discrete noise (1).")] = None


@dataclass(frozen=True)
class Mean:
    """What the noise is added to: the mean of records."""

    records: Annotated[int, typer.Option("--records", help="Release the mean of so many records.")] = 1
    clip: Annotated[str | None, typer.Option("--clip", metavar="LOW,HIGH", help="Clip records first.")] = None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends that records are clipped to."""
        if not self.clip:
            return None
        ends = _numbers(self.clip, "--clip")
        if len(ends) != 2:
            raise DivulgeError.of("--clip", "be two numbers LOW,HIGH", "it", repr(self.clip))
        return ends[0], ends[1]


@dataclass(frozen=True)
class Results:
    """What is told and drawn."""

    at: Annotated[str | None, typer.Option("--at", metavar="Y[,Y...]", help="Leakage of these outcomes.")] = None
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="E[,E...]", help="Probability that pml exceeds these.")
    ] = None
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw pml(y) and pmc(y) to FILE.")] = None
    force: ForceOption = False
    unit: UnitOption = "nats"
    as_json: JsonOption = False


@with_records
def command(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f'{_KINDS}; or a scipy.stats name with arguments: "gumbel_r(0, 2)".')
    ],
    secret: Annotated[
        str,
        typer.Option(
            "--secret",
            metavar="SECRET",
            help="values(0:0.5, 1:0.5), bernoulli(0.3), rademacher(), uniform(-1, 1), normal(0, 1), "
            "any scipy.stats name with its arguments, or TABLE:COLUMN.",
        ),
    ],
    shape: Shape,
    mean: Mean,
    results: Results,
) -> None:
    """Tell what noise on a number gives away about one record: pml and pmc, per outcome and at most."""
    from divulge.files.opening import refuse_taken
    from divulge.noise.mechanism import NoiseMechanism

    parameters = {name: value for name, value in vars(shape).items() if value is not None}
    bounds, plot, unit = mean.bounds, results.plot, results.unit
    if plot is not None:
        refuse_taken(plot, results.force)
    distribution = _secret(secret)
    with busy("measuring the noise"):
        mechanism = NoiseMechanism(kind, distribution, records=mean.records, clip=bounds, **parameters)
        found = mechanism.to_dict(_numbers(results.at, "--at"), _numbers(results.epsilon, "--epsilon"), unit)
    if plot is not None:
        draw(mechanism, plot, force=results.force, private=not isinstance(distribution, str), unit=unit)
    if results.as_json:
        emit(found)
    else:
        _print(found, mechanism.ldp.exact)


def _secret(text: str) -> Any:
    """Return the secret a name stands for, or the column of numbers of TABLE:COLUMN."""
    if "(" in text or ":" not in text:
        return text
    from divulge.files import count_rows
    from divulge.files.opening import divided, source_name
    from divulge.noise.secrets.secret import counted

    table, column = divided(text)
    return counted({value: count for (value,), count in count_rows(table, column).items()}, source_name(text))


def _numbers(text: str | None, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")] if text else []
    except ValueError:
        raise DivulgeError.of(option, "be numbers separated by commas", "it", repr(text)) from None


def _print(found: dict[str, Any], ldp_exact: bool) -> None:
    unit, noise, secret = found["unit"], found["noise"], found["secret"]
    arguments = ", ".join(f"{k} {v:g}" for k, v in noise.items() if k != "kind")
    about = f"mean of {secret['records']} records of " if secret["records"] > 1 else ""
    say(f"{noise['kind']} noise ({arguments}) on {about}{secret['distribution']}; leakage about one record [{unit}]")
    rows = [
        [
            name,
            upper(found[name]["value"]),
            f"[{lower(found[name]['lower'], 6)}, {upper(found[name]['upper'], 6)}]",
            _place(found[name]["at"]),
        ]
        for name in ("pml", "pmc")
    ]
    print_table("At most, over all outcomes", ["measure", "value", "bracket", "at y"], rows)
    for name in ("pml", "pmc"):
        if found[name]["reason"]:
            say(f"{name}: {found[name]['reason']}.")
    kind = "" if ldp_exact else " (an upper bound)"
    print_table(
        "In all",
        ["measure", "value", "error"],
        [
            [f"ldp{kind}", upper(found["ldp"]), ""],
            ["mean pml", found["mean_pml"], _error(found["mean_pml_error"], found["mean_pml_certified"])],
            [
                "mutual information",
                found["mutual_information"],
                _error(found["mutual_information_error"], found["mutual_information_certified"]),
            ],
        ],
    )
    for verdict in found["theorems"]:
        say(verdict["words"] + ".")
    if "points" in found:
        rows = [[y, upper(pml), upper(pmc), p] for y, pml, pmc, p, *_ in map(dict.values, found["points"])]
        print_table("By outcome", ["y", "pml", "pmc", "density"], rows, left=())
    if "tail" in found:
        rows = [[p["epsilon"], upper(p["delta"]), _error(p["error"], p["certified"])] for p in found["tail"]]
        print_table("Tail", ["epsilon", "P(pml > epsilon)", "error"], rows, left=())


def _error(error: float, certified: bool) -> str:
    return upper(error, 1) + ("" if certified else " (estimated)")


def _place(at: float) -> str:
    return {float("inf"): "-> inf", float("-inf"): "-> -inf"}.get(at, number(at, 6))
