"""`divulge attack`: the worst adversaries of a mechanism, spelled out."""

from dataclasses import dataclass
from numbers import Rational
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from divulge.cli.common import emit, number, print_table, say, upper
from divulge.cli.options import ChannelArgument, JsonOption, PriorOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError, did_you_mean
from divulge.files import read_channel, read_prior
from divulge.model.labels import Labels
from divulge.model.shown import number as as_text
from divulge.model.shown import promised

if TYPE_CHECKING:
    from divulge.adversaries.adversary import Gain
    from divulge.model.channel import Channel

_MOST_NUMBERS = 10**7
"""Gains that are printed as JSON: 200 MB of text."""


@dataclass(frozen=True)
class Aim:
    """What one adversary wants, in place of the worst."""

    gain: Annotated[
        str | None,
        typer.Option(
            "--gain", metavar="FILE", help="What they want: a CSV or JSON table of gains, actions by secrets."
        ),
    ] = None
    tries: Annotated[int | None, typer.Option("--tries", metavar="K", help="They guess the secret in K tries.")] = None
    within: Annotated[
        str | None,
        typer.Option("--within", metavar="D", help="They guess a number, and are right within a distance of D."),
    ] = None
    distance: Annotated[
        bool, typer.Option("--distance", help="They guess a number; nearer guesses are worth more.")
    ] = False

    @property
    def named(self) -> tuple[str, ...]:
        """The options that were given."""
        return tuple(f"--{name}" for name, value in vars(self).items() if value is not None and value is not False)

    def over(self, secrets: Labels) -> "Gain":
        """Return the gain over the secrets of a channel."""
        from divulge.adversaries.adversary import Gain
        from divulge.guarantees.parameters import to_number

        if self.tries is not None:
            return Gain.identity(secrets) if self.tries == 1 else Gain.tries(secrets, self.tries)
        if self.gain is not None:
            return _read(self.gain, secrets)
        numbers = {x: to_number(str(x), "the secret") for x in secrets}

        def gap(a: Any, b: Any) -> Any:
            return abs(numbers[a] - numbers[b])

        if self.within is not None:
            return Gain.threshold(secrets, to_number(self.within, "--within"), gap)
        return Gain.distance(secrets, gap)


@dataclass(frozen=True)
class Correlation:
    """Something that becomes the secret by a channel, and how wrong that channel may be."""

    dalenius: Annotated[
        str | None,
        typer.Option(
            "--dalenius",
            metavar="CHANNEL",
            help="About something else, with --prior, that becomes the secret like this.",
        ),
    ] = None
    off: Annotated[
        str | None,
        typer.Option(
            "--off", metavar="D", help="With --dalenius: that channel may be off, in total variation of each row."
        ),
    ] = None
    factor: Annotated[
        str | None,
        typer.Option(
            "--factor",
            metavar="F",
            help="With --dalenius: each of its entries may be so many times too large or small.",
        ),
    ] = None


@with_records
def command(
    channel: ChannelArgument,
    prior: PriorOption = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", metavar="Y", help="Only the attacks at this outcome.")
    ] = None,
    *,
    aim: Aim,
    case: Annotated[
        Literal["average", "max"], typer.Option("--case", help="Judged on average over outcomes, or at the best one.")
    ] = "average",
    worst_prior: Annotated[
        bool, typer.Option("--worst-prior", help="The prior under which these gains grow most, in place of --prior.")
    ] = False,
    correlation: Correlation,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """The worst adversaries at each outcome, spelled out: who gains most, who errs least, and how they play.

    The opportunistic adversary attains pml, the risk-averse one pmc. --json gives the gains of the first, actions x
    secrets, and the randomized function of the secret that the other guesses, secrets x symbols; what is exact also as
    text such as "1/3", under "exact". With --gain, --tries, --within or --distance one adversary, whose aim is known.
    """
    from divulge.model.joint import Joint

    mechanism = read_channel(channel)
    if correlation.dalenius is None and (correlation.off is not None or correlation.factor is not None):
        raise DivulgeError("--off and --factor are about how wrong a channel is. Hint: --dalenius CHANNEL.")
    if len(aim.named) > 1:
        raise DivulgeError.of("attack", "have one aim", "what was asked for", " and ".join(aim.named))
    if correlation.dalenius is not None:
        if aim.named or worst_prior:
            given = (*aim.named, "--worst-prior")[0]
            raise DivulgeError.of("--dalenius", "come without an aim", "it", f"given with {given}")
        _show_dalenius(mechanism, prior, correlation, as_json)
        return
    if worst_prior:
        if not aim.named:
            raise DivulgeError.of("--worst-prior", "come with an aim", "it", "absent", "such as --tries 1.")
        if prior is not None:
            raise DivulgeError.of("--worst-prior", "come in place of --prior", "it", "given as well")
        _show_worst_prior(mechanism, aim.over(mechanism.secrets), case, unit, as_json)
        return
    joint = Joint(read_prior(_needed(prior), mechanism), mechanism)
    if aim.named:
        at = None if outcome is None else _label(joint, outcome)
        _show_aim(joint, aim.over(mechanism.secrets), case, at, unit, as_json)
        return
    _show_worst(joint, outcome, unit, as_json)


def _needed(prior: str | None) -> str:
    if prior is None:
        raise DivulgeError.of("--prior", "say what the adversary knows before", "it", "absent", "try --prior uniform.")
    return prior


def _show_worst(joint: Any, outcome: str | None, unit: Any, as_json: bool) -> None:
    """Print the worst adversaries at each outcome, or at one."""
    from divulge.adversaries.worst import worst_function, worst_gain

    chosen = (
        [y for y, seen in zip(joint.outcomes, joint.occurring, strict=True) if seen]
        if outcome is None
        else [_label(joint, outcome)]
    )
    attacks = [(worst_gain(joint, y), worst_function(joint, y)) for y in chosen]
    if as_json:
        _refuse_floods(len(joint.secrets) ** 2 * len(chosen))
        emit({"outcomes": [_as_json(gain, function, unit) for gain, function in attacks]})
        return
    rows = [[str(gain.outcome), upper(gain.log(unit)), upper(function.log(unit))] for gain, function in attacks]
    print_table("worst adversaries by outcome", ["outcome", f"pml [{unit}]", f"pmc [{unit}]"], rows)
    for gain, function in attacks:
        say(f"opportunistic: {gain.words}\nrisk-averse:   {function.words}")
    if outcome is not None:
        for one in (attacks[0][0].adversary, attacks[0][1].function):
            say(f"\n{one!r}")


def _read(path: str, secrets: Labels) -> "Gain":
    """Return the gain of a file, over these secrets."""
    from divulge.adversaries.adversary import Gain
    from divulge.files.channels.payoffs import read_payoffs

    payoffs = read_payoffs(path)
    widths = {len(row) for row in payoffs.matrix}
    if payoffs.secrets is None and widths != {len(secrets)}:
        found = " and ".join(f"{width} wide" for width in sorted(widths))
        raise DivulgeError.of("--gain", f"have one column for each of the {len(secrets)} secrets", "it", found)
    missing = [] if payoffs.secrets is None else [x for x in secrets if str(x) not in map(str, payoffs.secrets)]
    if missing or (payoffs.secrets is not None and len(payoffs.secrets) != len(secrets)):
        found = f"{len(payoffs.secrets or ())} wide" + (f", without {missing[0]!r}" if missing else "")
        raise DivulgeError.of("--gain", f"have one column for each of the {len(secrets)} secrets", "it", found)
    named = None if payoffs.secrets is None else [{str(x): x for x in secrets}[str(x)] for x in payoffs.secrets]
    return Gain(payoffs.matrix, payoffs.actions, secrets if named is None else named)


def _show_aim(joint: Any, gain: Any, case: Any, outcome: Any, unit: Any, as_json: bool) -> None:
    """Print what one adversary expects before and after, and what they do at each outcome."""
    from divulge.adversaries.leakages import before_and_after, leakage, log_leakage

    before, after = before_and_after(joint, gain, case, outcome)
    found = {
        "adversary": gain.name,
        "case": case if outcome is None else "outcome",
        "before": before,
        "after": after,
        "leakage": leakage(joint, gain, case, outcome=outcome),
        "log_leakage": log_leakage(joint, gain, case, outcome=outcome, unit=unit),
    }
    seen = [y for y, occurs in zip(joint.outcomes, joint.occurring, strict=True) if occurs]
    actions = [(y, gain.best_action(joint.posterior(y)), before_and_after(joint, gain, case, y)[1]) for y in seen]
    if as_json:
        by_outcome = [
            {"outcome": y, "action": action, "after": value, **_exact(after=value)} for y, action, value in actions
        ]
        known = {name: found[name] for name in ("before", "after", "leakage")}
        emit({**found, "unit": unit, **_exact(**known), "by_outcome": by_outcome})
        return
    say(f"{gain.name}: expects {number(before)} before, {number(after)} after: {upper(found['leakage'])} times")
    rows = [[str(y), str(action), value] for y, action, value in actions]
    print_table("what they do", ["outcome", "action", "expects"], rows, left=(0, 1))


def _show_worst_prior(mechanism: Any, gain: Any, case: Any, unit: Any, as_json: bool) -> None:
    """Print the prior under which a gain grows most."""
    from divulge.adversaries.classes import worst_prior

    found = worst_prior(mechanism, gain, case)
    if as_json:
        prior = {str(x): p for x, p in found.prior.to_dict().items()}
        emit({"adversary": gain.name, "case": case, "leakage": found.leakage, "upper": found.upper, "prior": prior})
        return
    say(repr(found))


def _show_dalenius(mechanism: "Channel", prior: str | None, correlation: Correlation, as_json: bool) -> None:
    """Print what the release says about something that the secret is correlated with, also if the channel is wrong."""
    from divulge.adversaries.correlated import dalenius
    from divulge.model.joint import Joint

    becomes = read_channel(str(correlation.dalenius))
    found = dalenius(Joint(read_prior(_needed(prior), becomes), becomes), mechanism)
    told = {
        "lift": found.lift,
        "lift_of_correlation": found.lift_of_correlation,
        "lift_of_release": found.lift_of_release,
        "bound": found.bound,
    }
    text = repr(found)
    for name, size in {"radius": correlation.off, "factor": correlation.factor}.items():
        if size is not None:
            wrong: Any = {name: size}
            lift, inverse = (found.if_wrong(side, **wrong) for side in ("pml", "pmc"))
            told |= {f"lift_if_off_by_{name}": lift, f"inverse_lift_if_off_by_{name}": inverse}
            what = "off by" if name == "radius" else "within a factor of"
            text += (
                f"\nif the correlation is {what} {size}: belief rises at most {_most(lift)} times, "
                f"falls at most {_most(inverse)} times"
            )
    if as_json:
        emit({**told, **_exact(**told)})
        return
    say(text)


def _most(ratio: Any) -> str:
    """Return a ratio as it is while short, else rounded up."""
    text = as_text(ratio)
    return text if "/" in text or text == "inf" else promised(ratio)


def _exact(**values: Any) -> dict[str, Any]:
    """Return {"exact": values as text such as "1/3"} where all of them are fractions."""
    if all(isinstance(value, Rational) for value in values.values()):
        return {"exact": {name: str(value) for name, value in values.items()}}
    return {}


def _texts(matrix: Any) -> list[list[str]] | None:
    return [[str(v) for v in row] for row in matrix.tolist()] if matrix.dtype == object else None


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


def _as_json(gain: Any, function: Any, unit: Any) -> dict[str, Any]:
    kernel = function.function.kernel
    told = {
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
    numbers = {name: told[name] for name in ("gain_before", "gain_after", "error_before", "error_after")}
    exactly = _exact(**numbers)
    if exactly:
        exactly["exact"]["gain"] = _texts(gain.adversary.matrix)
        exactly["exact"]["kernel"] = _texts(kernel.matrix)
    return {**told, **exactly}
