"""`divulge design`: the most useful mechanism under guarantees, the least guarantee for a utility, and the frontier."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli.common import counted, draw, emit, lower, number, print_table, say, upper
from divulge.cli.distance import DistanceOption, metric_of
from divulge.cli.options import ForceOption, JsonOption, UnitOption
from divulge.errors import DivulgeError
from divulge.files import column_names, read_channel, read_joint, read_prior, writable, write_channel
from divulge.files.formats import CHANNELS, listed
from divulge.files.opening import divided, keep_apart, refuse_taken, source_name
from divulge.model.shown import printable, size_text
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from divulge.designing.alternatives import Alternatives
    from divulge.designing.effort import Progress
    from divulge.designing.result import Design
    from divulge.designing.tradeoff.frontier import Frontier
    from divulge.guarantees.guarantee import Guarantee
    from divulge.model.channel import Channel
    from divulge.model.metrics.metric import Metric
    from divulge.model.prior import Prior

_WIDE = 12
"""Outcomes up to which the matrix is printed: so many columns fit beside each other in a terminal."""
_MOST_LEVELS = 1000
"""Levels of a curve that are written FIRST:LAST:HOWMANY: each is a design of its own, and no picture shows more."""


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
    guarantees: Annotated[
        list[str],
        typer.Option(
            "--guarantee",
            metavar="KIND=VALUE",
            help="pml, pmc, lip, ldp, dp, maximal-leakage=EPS, alip=LOWER:UPPER, lift, lift-capacity, bayes-capacity"
            "=RATIO. Several are kept at once. KIND alone is the one whose level is looked for.",
        ),
    ],
    utility: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is kept: mutual-information, total-variation, chi-squared, hellinger, le-cam, "
            "lautum-information; or a score of secret and outcome: hamming, worst-hamming, and to be small error, "
            "absolute-distance, squared-distance, worst-absolute-distance, estimation, worst-estimation; distance, "
            "under metric=EPS with --distance.",
        ),
    ] = "mutual-information",
    about: Annotated[
        str | None,
        typer.Option(
            metavar="CHANNEL",
            help="Keep what the release tells of another variable instead: a channel file with P(w | secret), or "
            "TABLE:COLUMN, another column of the table of the prior. Of a score, the releases are scored against w.",
        ),
    ] = None,
    protect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL",
            help="What the guarantees are about instead of the column that goes out: a channel file with P(s | x), or "
            "TABLE:COLUMN, another column of the table of the prior. May be repeated: all are protected.",
        ),
    ] = None,
    distance: DistanceOption = None,
    outcomes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="What may be released, also less than the best mechanism needs; or `values`: one outcome for each "
            "value, which raises it most; or `sets`: each outcome named after the values that it raises.",
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECRET:OUTCOME",
            help="What must never be released, repeated; without --outcomes they bear the names of the secrets.",
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(metavar="U", help="The utility wanted: with KIND alone, the least level that reaches it."),
    ] = None,
    at_most: Annotated[float | None, typer.Option(metavar="U", help="The same for a distortion.")] = None,
    frontier: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS",
            help="With KIND alone: what can be kept at each level, such as 0.1,0.5,1 or FIRST:LAST:HOWMANY.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the frontier, with named mechanisms: .png, .svg or .pdf.")
    ] = None,
    compare: Annotated[
        bool | None,
        typer.Option(
            "--compare/--no-compare",
            help="List the named mechanisms, such as randomized response, under the same guarantees.  "
            "[default: in the text, not in the JSON]",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="CHANNEL",
            help="Where the mechanism goes, exactly; for several priors a folder, with a CSV file for each column.",
        ),
    ] = None,
    force: ForceOption = False,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="closed-form, counting, enumeration, column-generation or linear-program, instead of the first that "
            "applies.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop then, with the best mechanism and its gap so far.")
    ] = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Design the mechanism that keeps the most utility under all guarantees, with a proved bound and exact entries."""
    names = [name for spec in priors for name in _expanded(spec)]
    asked = _Asked.of(
        guarantees, utility, unit, metric_of(distance, read_prior(names[0]).secrets if distance else None)
    )
    if plot is not None and (frontier is None or len(names) > 1):
        raise DivulgeError("`--plot` must come with --frontier and one --prior; it draws one curve.")
    if output is not None and frontier is not None:
        raise DivulgeError("`--output` must come without --frontier; it writes one mechanism.")
    if output is not None:
        for name in names:
            place = _place(output, name, len(names))
            keep_apart({"--output": place}, {"--prior": name, "--about": about})
            for one in protect or ():
                keep_apart({"--output": place}, {"--protect": one})
            writable(place)
            refuse_taken(place, force)
    if plot is not None:
        refuse_taken(plot, force)
    named = not as_json if compare is None else compare
    for name in names:
        prior, title = read_prior(name), source_name(name)
        with _watched(title) as progress, _said_in(unit):
            options = {
                "utility": _goal(utility, about, name),
                "method": method,
                "time_limit": time_limit,
                "progress": progress,
                "protect": tuple(_channel_of_another("--protect", one, name) for one in protect) if protect else None,
                **_alphabet(prior, outcomes, forbid or []),
            }
            if frontier is None:
                found, lower = asked.best(prior, at_least, at_most, options)
                table = found.compare() if named and not protect else None
                shown = _Shown(found, asked, lower, table, title, tuple(protect or ()))
            else:
                shown = _Curve(asked.curve(prior, frontier, compare is not False, options), asked, title)
        if isinstance(shown, _Curve) and plot is not None:
            draw(shown.curve, plot, force=force, private=counted(name))
        if isinstance(shown, _Shown) and output is not None:
            write_channel(shown.found.channel, _place(output, name, len(names)), force=force)
        if as_json:
            emit(shown.report())
        else:
            shown.print()


@dataclass(frozen=True)
class _Asked:
    """The guarantees that are kept, as written and in nats, and the kind whose level is looked for."""

    written: tuple["Guarantee", ...]
    kind: type["Guarantee"] | None
    utility: str
    unit: Unit

    @classmethod
    def of(cls, texts: Sequence[str], utility: str, unit: Unit, metric: "Metric | None" = None) -> "_Asked":
        """Read the guarantees."""
        from divulge.guarantees.catalog import kind_named, parse

        kinds = [kind_named(text) for text in texts if "=" not in text]
        if len(kinds) > 1:
            raise DivulgeError("`--guarantee` must be KIND=VALUE for all but one; several come without a value.")
        written = tuple(parse(text, metric) for text in texts if "=" in text)
        return cls(written, kinds[0] if kinds else None, utility, unit)

    @property
    def kept(self) -> tuple["Guarantee", ...]:
        """The guarantees in nats."""
        return tuple(guarantee.read_in(self.unit, to_keep=True) for guarantee in self.written)

    @property
    def per_utility(self) -> float:
        """Nats in the unit, where the utility is a logarithm."""
        from divulge.designing.polytope.utilities import SUBCONVEX

        known = SUBCONVEX.get(self.utility)
        return nats_per(self.unit) if known is not None and known.logarithmic else 1.0

    @property
    def per_level(self) -> float:
        """Nats in the unit, where the level that is looked for is a logarithm."""
        from divulge.guarantees.parameters import PARAMETERS

        logarithmic = self.kind is not None and PARAMETERS[self.kind.bounded()[0]].logarithmic
        return nats_per(self.unit) if logarithmic else 1.0

    def best(
        self, prior: "Prior", at_least: float | None, at_most: float | None, options: dict[str, Any]
    ) -> tuple["Design", float | None]:
        """Return the design, and the level at which nothing reaches the utility when one is looked for."""
        from divulge.designing.design import design
        from divulge.designing.tradeoff.frontier import least_epsilon

        wanted = {"at_least": at_least, "at_most": at_most}
        options |= {key: value * self.per_utility for key, value in wanted.items() if value is not None}
        if self.kind is None:
            return design(prior, *self.kept, **options), None
        if at_least is None and at_most is None:
            raise DivulgeError(
                f"`--guarantee` must have a value; {self.kind.kind} has none. Hint: write {self.kind.kind}=0.5, or "
                "give --at-least U for the least that reaches a utility, or --frontier LEVELS."
            )
        found = least_epsilon(prior, self.kind, *self.kept, **options)
        return found.design, found.lower / self.per_level

    def curve(self, prior: "Prior", levels: str, named: bool, options: dict[str, Any]) -> "Frontier":
        """Return the frontier at the levels."""
        from divulge.designing.tradeoff.frontier import frontier

        if self.kind is None:
            raise DivulgeError("`--frontier` must come with one --guarantee KIND without a value; there is none.")
        each = [level * self.per_level for level in _levels(levels)]
        return frontier(prior, self.kind, each, *self.kept, named=None if named else (), **options)

    def shown(self, found: "Design") -> list["Guarantee"]:
        """Return the guarantees that were kept, as they were written; the level that was found first."""
        return [*found.guarantees[: len(found.guarantees) - len(self.written)], *self.written]

    def words(self, found: "Design") -> str:
        """Return the guarantees in words, in the unit."""
        looked_for = len(found.guarantees) - len(self.written)
        texts = [g.text(self.unit) if k < looked_for else str(g) for k, g in enumerate(self.shown(found))]
        return (", ".join(texts) or "no guarantee") + ("" if self.unit == "nats" else f" ({self.unit})")


def _goal(utility: str, about: str | None, prior: str) -> Any:
    """Return the utility, about the other variable when there is one."""
    if about is None:
        return utility
    from divulge.designing.linear.scores import SCORES
    from divulge.designing.supports.correlated import About

    channel = _channel_of_another("--about", about, prior)
    return replace(SCORES[utility](), about=channel) if utility in SCORES else About(channel, utility)


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


def _alphabet(prior: "Prior", outcomes: str | None, forbid: Sequence[str]) -> dict[str, Any]:
    """Return the outcomes and the pairs that never occur, both read as secrets where they are the text of one."""
    by_text = {str(secret): secret for secret in prior.secrets}
    if outcomes in ("values", "sets") and not forbid:
        return {"outcomes": outcomes}
    named = None if outcomes is None else [by_text.get(name, name) for name in outcomes.split(",")]
    pairs = [text.rpartition(":")[::2] for text in forbid]
    for text, (secret, _) in zip(forbid, pairs, strict=True):
        if secret not in by_text:
            raise DivulgeError.of("--forbid", "be SECRET:OUTCOME, for a secret of the prior", "it", repr(text))
    return {"outcomes": named, "forbidden": [(by_text[x], by_text.get(y, y)) for x, y in pairs]}


def _expanded(spec: str) -> list[str]:
    """Return TABLE:COLUMN for each column of TABLE:*."""
    table, column = divided(spec)
    return [f"{table}:{name}" for name in column_names(table)] if column == "*" and table else [spec]


def _levels(text: str) -> list[float]:
    """Return the levels written FIRST:LAST:HOWMANY or with commas."""
    try:
        if ":" not in text:
            return [float(level) for level in text.split(",")]
        first, last, many = text.split(":")
        steps = range(int(many))
        if not 2 <= len(steps) <= _MOST_LEVELS:
            raise ValueError(many)
        return [float(first) + (float(last) - float(first)) * step / (len(steps) - 1) for step in steps]
    except ValueError:
        raise DivulgeError.of(
            "--frontier", f"be written 0.1,0.5,1 or FIRST:LAST:HOWMANY (at most {_MOST_LEVELS})", "it", repr(text)
        ) from None


def _place(output: str, name: str, many: int) -> Path:
    """Return the file for the mechanism of a prior."""
    if many == 1:
        return Path(output)
    if not Path(output).is_dir():
        raise DivulgeError("`--output` must be a folder when there are several priors; it is none.")
    return Path(output) / f"{Path(name.rpartition(':')[2]).stem}.csv"


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


@dataclass(frozen=True)
class _Shown:
    """A design, for people and for programs."""

    found: "Design"
    asked: _Asked
    lower: float | None
    table: "Alternatives | None"
    title: str
    protects: tuple[str, ...] = ()

    def report(self) -> dict[str, Any]:
        """Return the JSON object of the contract; entries are exact text."""
        found, asked, per, unit = self.found, self.asked, self.asked.per_utility, self.asked.unit
        looked_for = len(found.guarantees) - len(asked.written)
        kept = [g.to_dict(unit) if k < looked_for else g.to_dict() for k, g in enumerate(asked.shown(found))]
        return {
            "secrets": list(found.prior.secrets),
            "outcomes": list(found.outcomes),
            "matrix": [[str(entry) for entry in row] for row in found.channel.matrix.tolist()],
            "utility": {"name": found.objective, "value": found.utility / per},
            "bound": found.bound / per,
            "gap": found.gap / per,
            "guarantee": kept[0] if len(kept) == 1 else kept,
            "achieved": [g.to_dict(unit) for g in found.achieved],
            "method": found.method,
            "unit": unit,
            **({"protects": [source_name(one) for one in self.protects]} if self.protects else {}),
            **({} if self.lower is None else {"lower": self.lower}),
            **({} if self.table is None else {"named": self._named(self.table)}),
        }

    def _named(self, table: "Alternatives") -> dict[str, dict[str, float]]:
        """Return utility and leakage of the named mechanisms, in the unit."""
        per = nats_per(self.asked.unit)
        return {
            name: {key: value / (self.asked.per_utility if key == "utility" else per) for key, value in row.items()}
            for name, row in table.to_dict().items()
            if name != "design"
        }

    def print(self) -> None:
        """Print the mechanism, what it keeps, and the named ones beside it."""
        from divulge.designing.result import rounded_ends

        found, per, unit = self.found, self.asked.per_utility, self.asked.unit
        objective = found.objective + (f" [{unit}]" if found.logarithmic else "")
        rows = [[str(x), *row] for x, row in zip(found.prior.secrets, found.channel.floats.tolist(), strict=True)]
        if found.integers.shape[1] <= _WIDE:
            print_table(f"mechanism for {self.title}", ["", *map(str, found.outcomes)], rows)
        else:
            say(f"mechanism for {self.title}: {size_text(*found.integers.shape)}")
        reached, bound = rounded_ends(found, per)
        say(f"{objective}: {reached}, {found.side} {bound} possible")
        say(f"gap: {found.relative_gap:.1e} of the bound, by {found.method}")
        about = f", about {' and '.join(map(source_name, self.protects))}" if self.protects else ""
        say(f"kept exactly: {self.asked.words(found)}{about}")
        if self.lower is not None:
            say(f"no mechanism has as much at {found.guarantees[0].kind}={lower(self.lower, 9)}")
        if self.table is not None:
            say("")
            header = ["", objective, *(f"{key} [{unit}]" for key in self.table.measured)]
            named = {name: list(row.values()) for name, row in self._named(self.table).items()}
            rows = [[name, utility, *map(upper, levels)] for name, (utility, *levels) in named.items()]
            print_table("named mechanisms that keep the same", header, rows)


@dataclass(frozen=True)
class _Curve:
    """A frontier, for people and for programs."""

    curve: "Frontier"
    asked: _Asked
    title: str

    def report(self) -> dict[str, Any]:
        """Return the JSON object: utility and bound of the design at each level, and what named mechanisms keep."""
        curve, per = self.curve, self.asked.per_utility
        levels = [level / self.asked.per_level for level in curve.epsilons.tolist()]
        return {
            "kind": curve.kind.kind,
            "unit": self.asked.unit,
            "utility": curve.designs[0].objective,
            "levels": [
                {"level": e, "value": d.utility / per, "bound": d.bound / per, "gap": d.gap / per, "method": d.method}
                for e, d in zip(levels, curve.designs, strict=True)
            ],
            "named": {name: [row.utility / per for row in rows] for name, rows in curve.named.items()},
        }

    def print(self) -> None:
        """Print one row a level."""
        found = self.report()
        names = list(found["named"])
        rows = [
            [number(at["level"], 6), at["value"], at["bound"], *(found["named"][name][k] for name in names)]
            for k, at in enumerate(found["levels"])
        ]
        print_table(
            f"{found['utility']} kept for {self.title}", [self.curve.kind.kind, "design", "bound", *names], rows
        )
