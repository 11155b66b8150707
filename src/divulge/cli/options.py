"""Options and arguments that several commands take."""

from typing import Annotated, Any, Literal

import typer

from divulge.files.formats import CHANNEL, CHANNELS, TABLE, listed
from divulge.units import Unit

UnitOption = Annotated[Unit, typer.Option("--unit", help="Unit of everything logarithmic.")]
ConfidenceOption = Annotated[float, typer.Option("--confidence", help="Of all bounds together.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object; infinity is the string inf.")]
EngineOption = Annotated[
    Literal["local", "spark"], typer.Option("--engine", help="Work on this machine in a stream, or with Spark.")
]
PriorOption = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help=f"What the adversary knows before: a {listed(CHANNELS)} file, the word uniform, or TABLE:COLUMN.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]

_CHANNEL: Any = typer.Argument(metavar="CHANNEL", help=f"{CHANNEL}.")
TABLE_HELP = f"{TABLE}."
ChannelArgument = Annotated[str, _CHANNEL]
OptionalChannel = Annotated[str | None, _CHANNEL]
