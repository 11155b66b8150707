"""`divulge design`: the most useful mechanism under guarantees, the least guarantee for a utility, and the frontier."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli.asking.designed import Asked, Curve, Shown
from divulge.cli.common import counted, draw, emit
from divulge.cli.distance import DistanceOption, metric_of
from divulge.cli.options import ForceOption, JsonOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError
from divulge.files import column_names, read_channel, read_joint, read_prior, writable, write_channel
from divulge.files.formats import CHANNELS, listed
from divulge.files.opening import divided, keep_apart, refuse_taken, source_name
from divulge.model.shown import printable
from divulge.units import Unit

if TYPE_CHECKING:
    from divulge.designing.effort import Progress
    from divulge.model.channel import Channel
    from divulge.model.prior import Prior


@dataclass(frozen=True)
class Promises:
    """What is kept, about what, and how far secrets are apart."""

    guarantees: Annotated[
        list[str],
        typer.Option(
            "--guarantee",
            metavar="KIND=VALUE",
            help="pml, pmc, lip, ldp, dp, maximal-leakage=EPS, alip=LOWER:UPPER, lift, lift-capacity, bayes-capacity"
            "=RATIO. Several are kept at once. KIND alone is the one whose level is looked for.",
        ),
    ]
    protect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL",
            help="What the guarantees are about instead of the column that goes out: a channel file with P(s | x), or "
            "TABLE:COLUMN, another column of the table of the prior. May be repeated: all are protected.",
        ),
    ] = None
    distance: DistanceOption = None


@dataclass(frozen=True)
class Usefulness:
    """What a mechanism is to be useful for, and how useful."""

    utility: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is kept: mutual-information, total-variation, chi-squared, hellinger, le-cam, "
            "lautum-information; or a score of secret and outcome: hamming, worst-hamming, and to be small error, "
            "absolute-distance, squared-distance, worst-absolute-distance, estimation, worst-estimation; distance, "
            "under metric=EPS with --distance.",
        ),
    ] = "mutual-information"
    about: Annotated[
        str | None,
        typer.Option(
            metavar="CHANNEL",
            help="Keep what the release tells of another variable instead: a channel file with P(w | secret), or "
            "TABLE:COLUMN, another column of the table of the prior. Of a score, the releases are scored against w.",
        ),
    ] = None
    at_least: Annotated[
        float | None,
        typer.Option(metavar="U", help="The utility wanted: with KIND alone, the least level that reaches it."),
    ] = None
    at_most: Annotated[float | None, typer.Option(metavar="U", help="The same for a distortion.")] = None
    frontier: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS",
            help="With KIND alone: what can be kept at each level, such as 0.1,0.5,1 or FIRST:LAST:HOWMANY.",
        ),
    ] = None

    def goal(self, prior: str) -> Any:
        """Return the utility, about the other variable when there is one."""
        if self.about is None:
            return self.utility
        from divulge.designing.linear.scores import SCORES
        from divulge.designing.supports.correlated import About

        channel = _channel_of_another("--about", self.about, prior)
        score = SCORES.get(self.utility)
        return About(channel, self.utility) if score is None else replace(score(), about=channel)


@dataclass(frozen=True)
class Alphabet:
    """What may go out."""

    outcomes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="What may be released, also less than the best mechanism needs; or `values`: one outcome for each "
            "value, which raises it most; or `sets`: each outcome named after the values that it raises.",
        ),
    ] = None
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECRET:OUTCOME",
            help="What must never be released, repeated; without --outcomes they bear the names of the secrets.",
        ),
    ] = None

    def of(self, prior: "Prior") -> dict[str, Any]:
        """Return the outcomes and the pairs that never occur, both read as secrets where they are the text of one."""
        if self.outcomes in ("values", "sets") and not self.forbid:
            return {"outcomes": self.outcomes}
        by_text = {str(secret): secret for secret in prior.secrets}
        named = None if self.outcomes is None else [by_text.get(name, name) for name in self.outcomes.split(",")]
        pairs = [text.rpartition(":")[::2] for text in self.forbid or ()]
        for text, (secret, _) in zip(self.forbid or (), pairs, strict=True):
            if secret not in by_text:
                raise DivulgeError.of("--forbid", "be SECRET:OUTCOME, for a secret of the prior", "it", repr(text))
        return {"outcomes": named, "forbidden": [(by_text[x], by_text.get(y, y)) for x, y in pairs]}


@dataclass(frozen=True)
class Search:
    """How the mechanism is looked for."""

    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="closed-form, counting, enumeration, column-generation or linear-program, instead of the first that "
            "applies.",
        ),
    ] = None
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop then, with the best mechanism and its gap so far.")
    ] = None


@dataclass(frozen=True)
class Results:
    """What is told and written."""

    compare: Annotated[
        bool | None,
        typer.Option(
            "--compare/--no-compare",
            help="List the named mechanisms, such as randomized response, under the same guarantees.  "
            "[default: in the text, not in the JSON]",
        ),
    ] = None
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the frontier, with named mechanisms: .png, .svg or .pdf.")
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="CHANNEL",
            help="Where the mechanism goes, exactly; for several priors a folder, with a CSV file for each column.",
        ),
    ] = None
    force: ForceOption = False
    unit: UnitOption = "nats"
    as_json: JsonOption = False

    def refuse(self, priors: Sequence[str], promises: Promises, usefulness: Usefulness) -> None:
        """Refuse files that cannot be written, before anything is computed."""
        if self.plot is not None and (usefulness.frontier is None or len(priors) > 1):
            raise DivulgeError("`--plot` must come with --frontier and one --prior; it draws one curve.")
        if self.output is not None and usefulness.frontier is not None:
            raise DivulgeError("`--output` must come without --frontier; it writes one mechanism.")
        for name in priors if self.output is not None else ():
            place = self.place(name, len(priors))
            keep_apart({"--output": place}, {"--prior": name, "--about": usefulness.about})
            for one in promises.protect or ():
                keep_apart({"--output": place}, {"--protect": one})
            writable(place)
            refuse_taken(place, self.force)
        if self.plot is not None:
            refuse_taken(self.plot, self.force)

    def place(self, name: str, many: int) -> Path:
        """Return the file for the mechanism of a prior."""
        folder = Path(str(self.output))
        if many == 1:
            return folder
        if not folder.is_dir():
            raise DivulgeError("`--output` must be a folder when there are several priors; it is none.")
        return folder / f"{Path(name.rpartition(':')[2]).stem}.csv"


@with_records
def command(
    priors: Annotated[
        list[str],
        typer.Option(
            "--prior",
            metavar="PRIOR",
            help=f"What is known of the secret: a {listed(CHANNELS)} file, or TABLE:COLUMN, whose values are counted; "
            "TABLE:* is every column. May be repeated: one mechanism for each.",
        ),
    ],
    promises: Promises,
    usefulness: Usefulness,
    alphabet: Alphabet,
    search: Search,
    results: Results,
) -> None:
    """Design the mechanism that keeps the most utility under all guarantees, with a proved bound and exact entries."""
    names = [name for spec in priors for name in _expanded(spec)]
    metric = metric_of(promises.distance, read_prior(names[0]).secrets if promises.distance else None)
    asked = Asked.of(promises.guarantees, usefulness.utility, results.unit, metric)
    results.refuse(names, promises, usefulness)
    named = not results.as_json if results.compare is None else results.compare
    for name in names:
        prior, title = read_prior(name), source_name(name)
        with _watched(title) as progress, _said_in(results.unit):
            options = {
                "utility": usefulness.goal(name),
                "protect": tuple(_channel_of_another("--protect", one, name) for one in promises.protect or ()) or None,
                "progress": progress,
                **vars(search),
                **alphabet.of(prior),
            }
            if usefulness.frontier is None:
                found, unreached = asked.best(prior, usefulness.at_least, usefulness.at_most, options)
                table = found.compare(time_limit=search.time_limit) if named and not promises.protect else None
                shown = Shown(found, asked, unreached, table, title, tuple(promises.protect or ()))
            else:
                curve = asked.curve(prior, usefulness.frontier, results.compare is not False, options)
                shown = Curve(curve, asked, title)
        if isinstance(shown, Curve) and results.plot is not None:
            draw(shown.curve, results.plot, force=results.force, private=counted(name))
        if isinstance(shown, Shown) and results.output is not None:
            write_channel(shown.found.channel, results.place(name, len(names)), force=results.force)
        if results.as_json:
            emit(shown.report())
        else:
            shown.print()


def _channel_of_another(option: str, spec: str, prior: str) -> "Channel":
    """Return what the secret tells of another variable: a channel file, or another column of the table of the prior."""
    (table, column), (ours, secret) = divided(spec), divided(prior)
    if not table or Path(spec).exists():
        return read_channel(spec)
    if table != ours:
        raise DivulgeError.of(
            option, "be another column of the table of --prior", "its table", f"not that of {source_name(prior)}"
        )
    return read_joint(table, secret, column).channel


def _expanded(spec: str) -> list[str]:
    """Return TABLE:COLUMN for each column of TABLE:*."""
    table, column = divided(spec)
    return [f"{table}:{name}" for name in column_names(table)] if column == "*" and table else [spec]


@contextmanager
def _said_in(unit: Unit) -> Generator[None]:
    """Say in the unit why guarantees leave nothing."""
    from divulge.designing.infeasible import ConflictingGuarantees

    try:
        yield
    except ConflictingGuarantees as clash:
        raise clash.in_unit(unit) from None


@contextmanager
def _watched(name: str) -> "Generator[Callable[[Progress], object] | None]":
    """Show on a terminal where a long run is; yield the function that it tells."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status(f"designing for {escape(printable(name))}") as status:

        def tell(progress: "Progress") -> None:
            gap = progress.gap / abs(progress.bound) if progress.bound else 0.0
            status.update(
                f"designing for {escape(printable(name))}: {progress.seconds:.0f} s, round {progress.rounds}, "
                f"utility {progress.utility:.9g}, bound {progress.bound:.9g}, gap {gap:.1e}"
            )

        yield tell
