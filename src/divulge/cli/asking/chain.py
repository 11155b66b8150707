"""`divulge chain`: what a chain of releases says about a state, the trajectory or an event."""

from typing import Annotated, Any

import typer

from divulge.cli.common import busy, emit, lower, say, upper
from divulge.cli.correlated import ReportPage, TimeLimit, as_outcome, by_label, worst_record, worst_text
from divulge.cli.options import JsonOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError
from divulge.files import read_channel, read_prior
from divulge.files.formats import CHANNEL
from divulge.units import Unit, nats_per


@with_records
def command(
    transition: Annotated[
        str, typer.Option("--transition", metavar="FILE", help=f"P(next state | state), square. {CHANNEL}.")
    ],
    release: Annotated[
        str, typer.Option("--release", metavar="FILE", help=f"What goes out of a state at each step. {CHANNEL}.")
    ],
    steps: Annotated[int, typer.Option("--steps", help="The number of steps.")],
    initial: Annotated[
        str, typer.Option("--initial", metavar="PRIOR", help="The first state: a file, or the word uniform.")
    ] = "uniform",
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            metavar="SECRET",
            help="A step from 0, steps as 0,2, all, ever=STATE, never=STATE or differ=0,2.",
        ),
    ] = None,
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="Y,Y,...", help="What came out, in place of the worst outputs.")
    ] = None,
    calibrate: Annotated[
        float | None, typer.Option("--calibrate", metavar="EPSILON", help="The level of each release that keeps this.")
    ] = None,
    *,
    page: ReportPage,
    time_limit: TimeLimit = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """What releases along a Markov chain say about a state, from all outputs: a table by step, or one secret.

    Without --secret: each state's own release, all outputs so far, and all there are, with the bounds of Cao et al.

    With --report also a page on the secret and all outputs, with a table and a picture by step, to read and to print.
    """
    from divulge.networks import Chain

    page.refuse(secret, outputs is not None or calibrate is not None, time_limit)
    moves, per = read_channel(transition), nats_per(unit)
    chain = Chain(read_prior(initial, moves), moves, read_channel(release), steps=steps)
    if calibrate is not None:
        with busy("looking for the level of each release"):
            level = chain.calibrate(calibrate * per, time_limit=time_limit) / per
        answer: Any = {"epsilon": calibrate, "local": {"lower": level}}
        text = f"LDP of at most {lower(level, 9)} {unit} a release keeps {calibrate:g} {unit} for every state forever"
    elif secret is None and outputs is None:
        with busy("looking for the worst outputs of each step"):
            table = chain.over_time(time_limit=time_limit)
        answer, text = {"unit": unit, "steps": [_scaled(row, per) for row in table.to_dict()]}, repr(table)
    elif outputs is None:
        with busy("looking for the worst outputs"):
            worst = {
                side: chain.worst(parsed(chain, str(secret)), side, time_limit=time_limit) for side in ("pml", "pmc")
            }
        answer, text = worst_record(worst, str(secret), unit), worst_text(worst, unit)
    else:
        with busy("working out what was seen"):
            answer, text = _seen(chain, "0" if secret is None else secret, outputs.split(","), unit, time_limit)
    if page.report is not None:
        page.write(chain, parsed(chain, str(secret)), unit)
    emit(answer) if as_json else say(text)


def _scaled(row: Any, per: float) -> Any:
    """Return a row with its leakages divided by what a unit is in nats."""
    if isinstance(row, dict):
        return {key: value if key == "step" else _scaled(value, per) for key, value in row.items()}
    return row / per


def _seen(chain: Any, secret: str, outputs: list[str], unit: Unit, time_limit: float | None) -> tuple[Any, str]:
    """Return what these outputs say about a secret, as a record and as text."""
    alphabets = [None if channel is None else channel.outcomes for channel in chain.models[0].channels]
    labels = [None if known is None else as_outcome(one, known) for one, known in zip(outputs, alphabets, strict=False)]
    if len(outputs) > len(alphabets):
        raise DivulgeError.of("--outputs", f"have at most {len(alphabets)} outcomes", "their number", str(len(outputs)))
    what = parsed(chain, secret)
    pml, pmc = (ask(what, labels, unit, time_limit=time_limit) for ask in (chain.pml, chain.pmc))
    answer: dict[str, Any] = {"secret": secret, "outputs": labels, "unit": unit, "pml": pml, "pmc": pmc}
    text = f"after {', '.join(map(str, labels))}: pml {upper(pml, 6)} {unit}, pmc {upper(pmc, 6)} {unit} about {secret}"
    if secret != "all":
        posterior = chain.posterior(what, labels, time_limit=time_limit)
        prior = chain.posterior(what, [], time_limit=time_limit)
        answer |= {"before": by_label(prior), "after": by_label(posterior)}
        text += f"\n{posterior!r}"
    return answer, text


def parsed(chain: Any, text: str) -> Any:
    """Return a secret of a chain from its text."""
    from divulge.networks import differ, ever, never

    kind, _, rest = text.partition("=")
    if text == "all":
        return "all"
    if kind in ("ever", "never") and rest:
        return (ever if kind == "ever" else never)(as_outcome(rest, chain.states))
    numbers = (rest if kind == "differ" else text).split(",")
    if not all(one.strip().isdigit() for one in numbers) or (kind == "differ" and len(numbers) != 2):
        raise DivulgeError.of(
            "--secret",
            "be a step, steps such as 0,2, all, ever=STATE, never=STATE or differ=0,2",
            "it",
            repr(text)[:60],
        )
    places = tuple(int(one) for one in numbers)
    return differ(*places) if kind == "differ" else places[0] if len(places) == 1 else places
