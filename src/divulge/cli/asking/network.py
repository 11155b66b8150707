"""`divulge network`: what the outputs of a Bayesian network say about one of its variables."""

from typing import Annotated, Any

import typer

from divulge.cli.common import busy, emit, say, upper
from divulge.cli.correlated import ReportPage, TimeLimit, as_outcome, by_label, worst_record, worst_text
from divulge.cli.options import JsonOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError, did_you_mean
from divulge.files import read_channel
from divulge.files.formats import CHANNEL
from divulge.units import nats_per


@with_records
def command(
    model: Annotated[str, typer.Argument(metavar="MODEL.bif", help="A Bayesian network in BIF.")],
    release: Annotated[
        list[str],
        typer.Option("--release", metavar="VARIABLE[=FILE]", help=f"What goes out: as it is, or by {CHANNEL}."),
    ],
    secret: Annotated[
        str | None, typer.Option("--secret", metavar="VARIABLE", help="Whose value is secret; several with commas.")
    ] = None,
    outputs: Annotated[
        list[str] | None, typer.Option("--outputs", metavar="NAME=OUTCOME", help="What came out, instead of the worst.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Rows that miss 1 by no more than this are renormalized.")
    ] = 1e-9,
    *,
    page: ReportPage,
    time_limit: TimeLimit = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """What goes out of some variables, and says about others: the worst outputs, or those that were seen.

    Without --secret the greatest leakage about each variable.

    With --report also a page on the secret and all outputs, with what these say of every variable, to read and print.
    """
    from divulge.networks import Network

    if time_limit is not None and outputs is not None:
        raise DivulgeError("--time-limit ends a search for the worst outputs. Hint: leave it out with --outputs.")
    page.refuse(secret, outputs is not None, time_limit)
    network = Network.from_bif(model, tolerance)
    for one in release:
        name, _, path = one.partition("=")
        network = network.release(name, read_channel(path) if path else None)
    if secret is None:
        with busy("looking for the worst outputs of each variable"):
            found = network.by_variable(time_limit=time_limit)
        worsts = {name: worst.leakage.upper / nats_per(unit) for name, worst in found.items()}
        answer: Any = {"unit": unit, "pml": worsts}
        text = f"greatest pml about each variable [{unit}], at most\n" + "\n".join(
            f"  {name}: {upper(level, 6)}" for name, level in worsts.items()
        )
    elif outputs is None:
        with busy("looking for the worst outputs"):
            worst = {side: network.worst(_secret(secret), side, time_limit=time_limit) for side in ("pml", "pmc")}
        answer, text = worst_record(worst, secret, unit), worst_text(worst, unit)
    else:
        answer, text = _seen(network, secret, outputs, unit)
    if page.report is not None:
        page.write(network, _secret(str(secret)), unit)
    emit(answer) if as_json else say(text)


def _secret(text: str) -> Any:
    return tuple(text.split(",")) if "," in text else text


def _seen(network: Any, secret: str, outputs: list[str], unit: Any) -> tuple[Any, str]:
    labels: dict[str, Any] = {}
    for pair in outputs:
        name, _, outcome = pair.partition("=")
        if name not in network.outputs:
            hint = did_you_mean(name, network.outputs).strip()
            raise DivulgeError.of("--outputs", "name what --release puts out", "one", repr(name)[:60], hint)
        labels[name] = as_outcome(outcome, network.outputs[name].channel.outcomes)
    what = _secret(secret)
    prior, posterior = network.prior(what), network.posterior(what, labels)
    pml, pmc = network.pml(what, labels, unit), network.pmc(what, labels, unit)
    answer = {
        "secret": secret, "outputs": labels, "unit": unit, "pml": pml, "pmc": pmc,
        "before": by_label(prior), "after": by_label(posterior),
    }  # fmt: skip
    return answer, f"pml {upper(pml, 6)} {unit}, pmc {upper(pmc, 6)} {unit} about {secret}\n{posterior!r}"
