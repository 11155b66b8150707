"""`divulge measure`: the leakage profile of a mechanism, or of two columns of a table."""

from divulge.cli.common import ChannelArgument, JsonOption, PriorOption, UnitOption, emit
from divulge.files import read_channel, read_prior


def command(
    channel: ChannelArgument, prior: PriorOption = None, unit: UnitOption = "nats", as_json: JsonOption = False
) -> None:
    """Measure what a mechanism gives away."""
    import divulge as dv

    mechanism = read_channel(channel)
    known = read_prior(prior, mechanism) if prior is not None else None
    emit({"ldp": dv.ldp(mechanism, unit=unit), "pml": None if known is None else dv.pml((known, mechanism)).max()})
