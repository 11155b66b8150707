"""`divulge attack`: the worst adversaries of a mechanism, spelled out."""

from typing import Annotated, Any

import typer

from divulge.cli.common import ChannelArgument, JsonOption, UnitOption, emit, print_table, say
from divulge.errors import DivulgeError, did_you_mean
from divulge.files import read_channel, read_prior

_MOST_NUMBERS = 10**7

NeededPrior = Annotated[
    str,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help="What the adversary knows before: a CSV, Parquet or JSON file, the word uniform, or TABLE:COLUMN.",
    ),
]
OutcomeOption = Annotated[str | None, typer.Option("--outcome", metavar="Y", help="Only the attacks at this outcome.")]


def command(
    channel: ChannelArgument,
    prior: NeededPrior,
    outcome: OutcomeOption = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """The worst adversaries at each outcome, spelled out: who gains most, who errs least, and how they play.

    The opportunistic adversary attains pml, the risk-averse one pmc. --json gives the gains of the first, actions x
    secrets, and the randomized function of the secret that the other guesses, secrets x symbols.
    """
    from divulge.adversaries.worst import worst_function, worst_gain
    from divulge.model.joint import Joint

    mechanism = read_channel(channel)
    joint = Joint(read_prior(prior, mechanism), mechanism)
    chosen = (
        [y for y, seen in zip(joint.outcomes, joint.occurring, strict=True) if seen]
        if outcome is None
        else [_label(joint, outcome)]
    )
    attacks = [(worst_gain(joint, y), worst_function(joint, y)) for y in chosen]
    if as_json:
        _refuse_floods(len(joint.secrets) ** 2 * len(chosen))
        emit({"outcomes": [_told(gain, function, unit) for gain, function in attacks]})
        return
    rows = [[str(gain.outcome), gain.log(unit), function.log(unit)] for gain, function in attacks]
    print_table("worst adversaries by outcome", ["outcome", f"pml [{unit}]", f"pmc [{unit}]"], rows)
    for gain, function in attacks:
        say(f"opportunistic: {gain.words}\nrisk-averse:   {function.words}")
    if outcome is not None:
        for one in (attacks[0][0].adversary, attacks[0][1].function):
            say(f"\n{one!r}")


def _label(joint: Any, text: str) -> Any:
    """Return the outcome that is written like this."""
    for label in joint.outcomes:
        if str(label) == text:
            return label
    shown = ", ".join(str(label) for label in list(joint.outcomes)[:6])
    meant = did_you_mean(text, joint.outcomes).strip()
    hint = f"{meant} The outcomes are {shown}.".strip()
    raise DivulgeError.of("--outcome", "be an outcome of the channel", "it", repr(text), hint)


def _refuse_floods(numbers: int) -> None:
    if numbers > _MOST_NUMBERS:
        raise DivulgeError.of(
            "--json", f"print at most {_MOST_NUMBERS} gains", "their number", str(numbers), "choose one with --outcome."
        )


def _told(gain: Any, function: Any, unit: Any) -> dict[str, Any]:
    kernel = function.function.kernel
    return {
        "outcome": gain.outcome,
        "pml": gain.log(unit),
        "gain": {"actions": list(gain.adversary.actions), "matrix": gain.adversary.matrix.tolist()},
        "gain_before": gain.before,
        "gain_after": gain.after,
        "pmc": function.log(unit),
        "function": {"symbols": list(kernel.outcomes), "kernel": kernel.matrix.tolist()},
        "error_before": function.before,
        "error_after": function.after,
        "words": f"{gain.words}; {function.words}",
    }
