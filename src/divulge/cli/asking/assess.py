"""`divulge assess`: what a table tells those who know some columns, and whether claims about it hold."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from divulge.cli.common import busy, emit, lower, note, number, print_table, say, upper
from divulge.cli.names import names_between_commas
from divulge.cli.options import TABLE_HELP, EngineOption, JsonOption
from divulge.errors import DivulgeError, number_of, printable
from divulge.model.shown import at_least, at_most, named

SHOWN = 12
"""So many columns and pairs are printed, the most telling first; --json has all."""


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)],
    known: Annotated[
        str | None,
        typer.Option("--known", metavar="COLS", help="Columns that people may know: a,b,c; all others if absent."),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option("--secret", metavar="COLS", help="The sensitive columns; several are joined by commas."),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option("--claim", metavar="GUARANTEE", help="What the table claims: k=5, t=0.2, distinct-l=3, pml=1."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option("--hierarchy", metavar="COL=FILE", help="Of a sensitive column, for its hierarchical distance."),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population", metavar="TABLE|N", help="The population: a table of it, or how many people it has."
        ),
    ] = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="Also what each column, and each pair, tells and adds.")
    ] = (False),
    others: Annotated[
        int | None, typer.Option("--others", metavar="N", help="Also what is learned by who knows N others of a group.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bounds about people like these.")] = 0.95,
    engine: EngineOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Assess a table as it is: who could be found, and what would be learned; exit 1 when a claim does not hold."""
    import divulge as dv

    people: Any = int(population) if population is not None and population.isdecimal() else population
    with busy("assessing the table"):
        found = dv.assess(
            table, None if known is None else names_between_commas(known, "--known"),
            None if secret is None else names_between_commas(secret, "--secret"),
            hierarchies=columns_and_files(hierarchy or []), population=people, confidence=confidence, engine=engine,
        )  # fmt: skip
    verdicts = found.verdicts(claim) if claim else ()
    told = found.to_dict()
    if others is not None:
        told["others"] = {"known": others, "certainty": found.certainty_beside(others)}
    if columns:
        told["columns"] = [risk.to_dict() for risk in found.columns]
    if as_json:
        emit(told | {"claims": [verdict.to_dict() for verdict in verdicts]})
    else:
        _print(found, told)
        for verdict in verdicts:
            say(repr(verdict))
        for line in found.notes:
            note(f"note: {line}")
    if not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(1)


def columns_and_files(given: list[str], option: str = "--hierarchy", what: str = "FILE") -> dict[str, str]:
    """Return {column: file} of options COL=FILE, or what else is given for a column.

    >>> columns_and_files(["age=ages.csv"])
    {'age': 'ages.csv'}
    """
    found: dict[str, str] = {}
    for text in given:
        column, equals, file = text.rpartition("=")
        if not equals or not column or not file:
            raise DivulgeError.of(option, f"be written COLUMN={what}", "it", repr(text)[:80])
        if column in found:
            raise DivulgeError.of(option, "be given once for a column", f"{column!r}", "there twice")
        found[column] = file
    return found


_WORDS = {
    "rows": "rows", "groups": "groups of rows with the same known values", "k": "k: rows of the smallest group",
    "uniques": "share of rows that are alone", "marketer": "marketer risk: groups / rows",
    "journalist": "journalist risk: 1 / smallest group of the population", "lift": "largest lift",
    "least_lift": "smallest lift", "pml": "pml [nats]", "pmc": "pmc [nats]", "lip": "lip [nats]",
    "t": "t: total variation", "ordered_t": "t of ordered values", "hierarchical_t": "t over the hierarchy",
    "certainty": "largest share of a value in a group", "distinct_l": "distinct l", "entropy_l": "entropy l",
    "beta": "beta", "enhanced_beta": "enhanced beta", "information": "information about the secret [nats]",
}  # fmt: skip
_FROM_BELOW = frozenset({"k", "least_lift", "distinct_l", "entropy_l"})


def group_words(group: Mapping[str, Any]) -> str:
    """Return the known values of a group of rows as they are shown.

    >>> group_words({"town": "Jena", "age": None})
    'town Jena, age missing'
    """
    from divulge.files.hierarchies import MISSING

    return ", ".join(f"{printable(name)} {MISSING if value is None else named(value)}" for name, value in group.items())


def _print(found: Any, told: dict[str, Any]) -> None:
    rows = [[_WORDS[name], _number(name, value)] for name, value in found.measures().items()]
    about = f" about {', '.join(found.secret)}" if found.secret else ""
    print_table(f"What {', '.join(found.known) or 'nothing'} tells{about}", ["", "in this table"], rows)
    if found.secret:
        worst = found.worst
        shares = f"from {number(worst.before)} to {number(worst.after)}"
        say(f"worst: {named(worst.value)} goes {shares} in the group {group_words(worst.group)}")
        say(f"  {number_of(worst.rows, 'row')}; among people like these {at_least(worst.low)} to {at_most(worst.high)}")
    for one in found.alone:
        say(f"{printable(one.secret[0])} alone: largest lift {upper(one.lift)}, t {upper(one.t)}, "
            f"distinct l {one.distinct_l}")  # fmt: skip
    if "others" in told:
        share = upper(told["others"]["certainty"])
        say(f"who knows {told['others']['known']} others of the group is sure of a value with probability {share}")
    for name, estimate in told.get("population", {}).items():
        say(f"unique in the population, an estimate ({name}): {estimate:,.0f} people")
    if "columns" in told:
        listed = told["columns"][:SHOWN]
        header = ["known", "surely x", "lift", "alone", "certain", "adds alone", "adds nats"]
        print_table(
            f"By column, {len(listed)} of {len(told['columns'])}", header,
            [[" and ".join(one["columns"]), one["rise"], one["lift"], one["uniques"], one["certain"],
              one["added_uniques"], one["added_information"]] for one in listed],
        )  # fmt: skip
    for name, why in found.left_out.items():
        say(f"{printable(name)} is left out: {why}")


def _number(name: str, value: Any) -> str:
    if value is None:
        return "none holds"
    if isinstance(value, int):
        return f"{value:,}"
    return lower(value, 6) if name in _FROM_BELOW else upper(value, 6)
