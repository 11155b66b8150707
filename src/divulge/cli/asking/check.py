"""`divulge check`: does a mechanism keep a guarantee?"""

from typing import Annotated

import typer

from divulge.cli.common import emit, say
from divulge.cli.distance import DistanceOption, parsed
from divulge.cli.options import ChannelArgument, JsonOption, PriorOption, UnitOption
from divulge.files import read_channel, read_prior
from divulge.ties import first_smallest


def command(
    channel: ChannelArgument,
    guarantees: Annotated[
        list[str], typer.Option("--guarantee", metavar="KIND=VALUE", help="Such as pml=0.5 or ldp=1; may be repeated.")
    ],
    prior: PriorOption = None,
    distance: DistanceOption = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Check whether a mechanism keeps guarantees: exit 0 when all hold, 1 when one does not, with the witness."""
    from divulge.errors import DivulgeError
    from divulge.model.joint import Joint

    mechanism = read_channel(channel)
    asked = parsed(guarantees, distance, mechanism.secrets)
    if prior is None:
        needy = [g.kind for g in asked if g.about == "joint"]
        if needy:
            raise DivulgeError.of("--prior", f"be given to check {needy[0]}", "it", "absent", "try --prior uniform.")
        verdicts = [g.holds_for(mechanism, unit) for g in asked]
    else:
        joint = Joint(read_prior(prior, mechanism), mechanism)
        verdicts = [g.holds_for(joint, unit) for g in asked]
    broken = [v for v in verdicts if not v.holds] or verdicts
    hardest = broken[first_smallest([v.slack for v in broken])]
    if as_json:
        emit({**hardest.to_dict(), "unit": unit, "checks": [v.to_dict() for v in verdicts]})
    else:
        say("\n".join(map(str, verdicts)))
    if not hardest.holds:
        raise typer.Exit(1)
