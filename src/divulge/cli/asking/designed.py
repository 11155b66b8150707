"""What `divulge design` asks for, and a design or a frontier for people and for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from divulge.cli.common import lower, number, print_table, say, upper
from divulge.errors import DivulgeError
from divulge.files.opening import source_name
from divulge.model.shown import size_text
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from divulge.designing.alternatives import Alternatives
    from divulge.designing.result import Design
    from divulge.designing.tradeoff.frontier import Frontier
    from divulge.guarantees.guarantee import Guarantee
    from divulge.model.metrics.metric import Metric
    from divulge.model.prior import Prior

_WIDE = 12
"""Outcomes up to which the matrix is printed: so many columns fit beside each other in a terminal."""
_MOST_LEVELS = 1000
"""Levels of a curve that are written FIRST:LAST:HOWMANY: each is a design of its own, and no picture shows more."""


@dataclass(frozen=True)
class Asked:
    """The guarantees that are kept, as written and in nats, and the kind whose level is looked for."""

    written: tuple["Guarantee", ...]
    kind: type["Guarantee"] | None
    utility: str
    unit: Unit

    @classmethod
    def of(cls, texts: Sequence[str], utility: str, unit: Unit, metric: "Metric | None" = None) -> "Asked":
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


@dataclass(frozen=True)
class Shown:
    """A design, for people and for programs."""

    found: "Design"
    asked: Asked
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
class Curve:
    """A frontier, for people and for programs."""

    curve: "Frontier"
    asked: Asked
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
            "late": list(curve.late),
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
        if self.curve.late:
            print(f"not tuned before the time limit was over: {', '.join(self.curve.late)}")
