"""`divulge measure`: the leakage profile of a mechanism, or of two columns of a table."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from divulge.cli.common import WIDTH, emit, note, number, one_of, print_table, tell_of_itself, upper
from divulge.cli.options import TABLE_HELP, JsonOption, OptionalChannel, PriorOption, UnitOption
from divulge.errors import DivulgeError, number_of
from divulge.ties import falling

_MEANING: dict[str, str] = {
    "ldp": "local differential privacy: any two secrets, any outcome",
    "lift_capacity": "the same as a ratio: how much more likely a secret can become",
    "bayes_capacity": "how many times more often a guess is right, at worst (ratio)",
    "maximal_leakage": "the logarithm of the Bayes capacity",
    "maximal_cost_leakage": "the average lowering of an adversary's cost, at worst",
    "capacity": "Shannon capacity",
    "pml": "pointwise maximal leakage: the largest gain from any outcome",
    "pmc": "pointwise maximal cost: how surely a secret is ruled out",
    "lip": "local information privacy: the larger of the two",
    "alip.lower": "asymmetric local information privacy, downwards",
    "alip.upper": "asymmetric local information privacy, upwards",
    "lift": "the largest gain as a ratio",
    "mean_pml": "pointwise maximal leakage on average over outcomes",
    "mean_pmc": "pointwise maximal cost on average over outcomes",
    "mutual_information": "mutual information",
    "min_entropy_leakage": "gain of one guess, on average over outcomes",
    "maximal_realizable_cost": "the largest pointwise maximal cost",
}
_RATIOS = {"lift", "lift_capacity", "bayes_capacity"}
_MOST_OUTCOMES = 60
"""Outcomes of a printed table: a screen, those that tell most first; --json has all."""


def command(
    channel: OptionalChannel = None,
    prior: PriorOption = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="TABLE", help=f"In place of CHANNEL. {TABLE_HELP}")
    ] = None,
    secret: Annotated[
        str | None, typer.Option("--secret", metavar="COLUMN", help="The column to protect, with --data.")
    ] = None,
    released: Annotated[
        str | None, typer.Option("--released", metavar="COLUMN", help="The column made public, with --data.")
    ] = None,
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="With --data: the label for a missing value.")
    ] = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Print what a mechanism gives away: its leakage profile.

    Without a prior, what holds whatever the adversary knows. With one, also what each outcome reveals under it.

    With --data, the same for releasing one column of a table about another; the frequencies in the table are then an
    estimate, and the rows behind each number are shown.
    """
    from divulge.files import count_rows, estimated_joint, read_channel, read_prior
    from divulge.measures.profiles import profile
    from divulge.model.joint import Joint

    counts = None
    if one_of({"CHANNEL": channel, "--data": data}) == "CHANNEL":
        if secret is not None or released is not None or null_as is not None:
            raise DivulgeError("--secret, --released and --null-as are about a table. Hint: give --data TABLE as well.")
        mechanism: Any = read_channel(str(channel))
        if prior is not None:
            mechanism = Joint(read_prior(prior, mechanism), mechanism)
    else:
        if secret is None or released is None:
            raise DivulgeError("--data needs both columns. Hint: --secret COLUMN --released COLUMN.")
        tell_of_itself([secret], [released])
        counts = count_rows(str(data), secret, released, null_as=null_as)
        mechanism = estimated_joint(counts)
        if prior is not None:
            mechanism = Joint(read_prior(prior, mechanism.channel), mechanism.channel)
        note(_estimate(counts, mechanism))
    found = profile(mechanism, unit=unit)
    if as_json:
        emit(found.to_dict())
    else:
        _print(found, counts)


def _estimate(counts: dict[Any, int], joint: Any) -> str:
    cells = len(joint.secrets) * len(joint.outcomes)
    rows, never = number_of(sum(counts.values()), "row"), cells - len(counts)
    occurs = "occurs" if never == 1 else "occur"
    occur = (
        f"{never:,} of {cells:,} pairs of values never {occurs}" if never else f"all {cells:,} pairs of values occur"
    )
    seen = Counter[Any]()
    for (_, outcome), count in counts.items():
        seen[outcome] += count
    alone = sum(count == 1 for count in seen.values())
    stand = "stands for one row" if alone == 1 else "stand for one row each"
    told = f" {number_of(alone, 'released value')} {stand}: whoever holds the table reads the secret there."
    return (
        f"estimate: the shares among {rows} are taken for the truth (plug-in). {occur.capitalize()}; the rarest that "
        f"does has {number_of(min(counts.values()), 'row')}. About other people, what rests on few rows is mostly "
        f"chance.{told if alone else ''}"
    )


def _print(found: Any, counts: dict[Any, int] | None) -> None:
    named = found.to_dict()
    estimate = ", estimated" if counts is not None else ""
    told: Callable[[Any], Any] = upper if counts is None else number  # what is known is told as a bound would be
    _print_measures(f"Whatever the adversary knows{estimate} [{found.unit}]", named["channel"], found, told)
    if "joint" not in named:
        return
    _print_measures(f"Under the prior{estimate} [{found.unit}]", _flat(named["joint"]), found, told)
    rows = [named["by_outcome"][i] for i in falling([row["pml"] for row in named["by_outcome"]])]
    shown = rows[:_MOST_OUTCOMES]
    for name, most in (("pml", "most gained"), ("pmc", "most ruled out")):  # side by side they are wider than a page
        title = f"By outcome, {most}{estimate} [{found.unit}]"
        if counts is None:
            print_table(title, ["outcome", "probability", name, most], (_outcome(row, name) for row in shown), (0, 3))
        else:
            header = ["outcome", "probability", "rows", name, most, "rows"]
            print_table(title, header, _with_rows(shown, name, counts), (0, 4))
    if len(rows) > _MOST_OUTCOMES:
        note(f"{number_of(len(rows) - _MOST_OUTCOMES, 'outcome')} with a smaller pml not shown; --json has them all.")


def _print_measures(title: str, values: dict[str, Any], found: Any, told: Callable[[Any], Any]) -> None:
    exact = {name: getattr(found, name) for name in _RATIOS if name in values}
    print_table(
        title,
        ["measure", "value", "meaning"],
        [(name, told(exact.get(name, value)), _MEANING[name]) for name, value in values.items()],
        (0, 2),
        WIDTH,
    )


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name if part is None else f"{name}.{part}": number
        for name, value in values.items()
        for part, number in (value.items() if isinstance(value, dict) else [(None, value)])
    }


def _outcome(row: dict[str, Any], name: str, told: Callable[[Any], Any] = upper) -> list[Any]:
    """Return the cells of an outcome: how likely it is, its pml or pmc, and the secret that has it."""
    return [str(row["outcome"]), row["probability"], told(row[name]), str(row[f"{name}_secret"])]


def _with_rows(rows: list[dict[str, Any]], name: str, counts: dict[Any, int]) -> Iterator[list[Any]]:
    """Yield the cells of each outcome, with the number of rows that it, and the pair named with it, rests on."""
    of_outcome: Counter[Any] = Counter()
    for (_, outcome), count in counts.items():
        of_outcome[outcome] += count
    for row in rows:
        cells, pair = _outcome(row, name, number), counts.get((row[f"{name}_secret"], row["outcome"]), 0)
        yield [*cells[:2], str(of_outcome[row["outcome"]]), *cells[2:], str(pair)]
