"""`divulge convert`: what a guarantee implies, and by which theorems."""

import math
from typing import Annotated, Any

import typer

from divulge.cli.common import busy, emit, say
from divulge.cli.distance import DistanceOption, metric_of
from divulge.cli.options import JsonOption, PriorOption, UnitOption
from divulge.files import read_prior

USUAL = ("adp=?:1e-6", "adp=?:1e-9", "rdp=2:?", "rdp=32:?")
"""What is said of kinds with a chosen parameter where nothing is asked for."""


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
            help="Into what: ldp,pmc or adp=?:1e-6 (epsilon at a delta) or adp=1:? (delta at an epsilon); else all.",
        ),
    ] = None,
    p_min: Annotated[
        str | None, typer.Option("--p-min", metavar="P", help="Probability of the least likely secret, as 0.1 or 1/10.")
    ] = None,
    prior: PriorOption = None,
    n: Annotated[int | None, typer.Option("--n", metavar="N", help="Number of secrets.")] = None,
    uniform: Annotated[bool, typer.Option("--uniform", help="All secrets are equally likely (with --n).")] = False,
    general: Annotated[bool, typer.Option("--general", help="The secret is not finite: there is no p_min.")] = False,
    distance: DistanceOption = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Say what guarantees imply about others, with the derivation; unknown where no theorem applies."""
    from divulge.guarantees.calculus.context import Context
    from divulge.guarantees.calculus.implication import consequences
    from divulge.guarantees.catalog import KINDS, parse, parse_query
    from divulge.guarantees.guarantee import Guarantee

    usual: list[tuple[type[Guarantee], dict[str, Any]]] = [(k, {}) for k in KINDS.values() if not k.index]
    usual += [parse_query(text) for text in USUAL]
    known = None if prior is None else read_prior(prior)
    metric = metric_of(distance, None if known is None else known.secrets)
    written = [parse(text, metric) for text in guarantees]
    asked = [parse_query(name) for name in to.split(",")] if to else usual
    if metric is not None:
        asked = [(kind, index | ({"metric": metric} if "metric" in kind.index else {})) for kind, index in asked]
    context = Context.of(known, p_min, n, uniform, general)
    with busy("looking for what follows"):
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
    told = implied if to else [g for g in implied if _says_something(g)]
    for guarantee in told:
        say(f"\n  {guarantee.text(unit)}    {guarantee.title}")
        for step in guarantee.derivation:
            text = step.to_dict(unit)
            assumed = f", assuming that {text['assuming']}" if "assuming" in text else ""
            say(f"      {text['from']} => {text['to']}: {text['theorem']}{assumed} [{text['source']}]")
    if len(told) < len(implied):
        say(f"\nNo finite bound on: {', '.join(g.kind for g in implied if not _says_something(g))}")
    if unknown:
        say("\nUnknown:")
        for name, reason in unknown.items():
            say(f"  {name}: {reason}")


def _says_something(guarantee: Any) -> bool:
    """Return whether one of the bounds is finite."""
    return any(getattr(guarantee, name) != math.inf for name in guarantee.bounded())
