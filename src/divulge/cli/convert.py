"""`divulge convert`: what a guarantee implies, and by which theorems."""

from typing import Annotated

import typer

from divulge.cli.common import JsonOption, PriorOption, UnitOption, emit, say
from divulge.files import read_prior


def command(
    guarantees: Annotated[
        list[str],
        typer.Argument(metavar="GUARANTEE...", help="kind=value, such as pml=0.5 or alip=0.3:0.5; or several."),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="KIND[,KIND...]",
            help="What to translate into, such as ldp,pmc or tail-pml=0.5:?; else all.",
        ),
    ] = None,
    p_min: Annotated[
        str | None, typer.Option("--p-min", metavar="P", help="Probability of the least likely secret, as 0.1 or 1/10.")
    ] = None,
    prior: PriorOption = None,
    n: Annotated[int | None, typer.Option("--n", metavar="N", help="Number of secrets.")] = None,
    uniform: Annotated[bool, typer.Option("--uniform", help="All secrets are equally likely (with --n).")] = False,
    general: Annotated[bool, typer.Option("--general", help="The secret is not finite: there is no p_min.")] = False,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Say what guarantees imply about others, with the derivation; unknown where no theorem applies."""
    from divulge.guarantees.calculus import consequences
    from divulge.guarantees.catalog import KINDS, parse, parse_query
    from divulge.guarantees.context import Context
    from divulge.guarantees.guarantee import Guarantee

    written = [parse(text) for text in guarantees]
    asked = [parse_query(name) for name in to.split(",")] if to else [(k, {}) for k in KINDS.values() if not k.index]
    known = None if prior is None else read_prior(prior)
    context = Context.of(known, p_min, n, uniform, general)
    found = consequences([g.read_in(unit) for g in written], asked, context, unit=unit)
    implied = [g for g in found if isinstance(g, Guarantee)]
    unknown = {g.kind.kind: g.reason for g in found if not isinstance(g, Guarantee)}
    if as_json:
        given = [g.to_dict() for g in written]
        proved = [{**g.to_dict(unit), "derivation": [step.to_dict(unit) for step in g.derivation]} for g in implied]
        emit(
            {
                "given": given[0] if len(given) == 1 else given,
                "unit": unit,
                "context": context.to_dict(),
                "implied": proved,
                "unknown": list(unknown),
                "reasons": unknown,
            }
        )
        return
    say(f"{' and '.join(map(str, written))} ({unit}), knowing {context.words}, implies")
    for guarantee in implied:
        say(f"\n  {guarantee.text(unit)}    {guarantee.title}")
        for step in guarantee.derivation:
            text = step.to_dict(unit)
            say(f"      {text['from']} => {text['to']}: {text['theorem']} [{text['source']}]")
    if unknown:
        say("\nUnknown:")
        for name, reason in unknown.items():
            say(f"  {name}: {reason}")
