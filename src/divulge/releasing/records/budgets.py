"""Budgets: what releases may spend together, kept on record until they are changed by name."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.dp.accounting.composition import compose
from divulge.dp.accounting.promises import ZcdpRelease
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import as_guarantee, as_typed
from divulge.model.entries import scalar
from divulge.model.shown import at_most
from divulge.releasing.records.adaptive import adaptively_together
from divulge.releasing.records.database import Database
from divulge.releasing.records.people import Scope
from divulge.releasing.records.promised import Spent, added, approximately_together
from divulge.releasing.records.receipt import now

KINDS = ("ldp", "dp", "pml", "pmc", "zcdp", "adp")
"""Guarantees that a budget can be in."""


@dataclass(frozen=True)
class Budget:
    """A budget that is kept.

    columns : what it is about; nothing for all that is told about a record
    budget : Guarantee, in nats
    created : since when, UTC
    aside : for (epsilon, delta) that holds whichever releases are chosen on the way, the part of delta for those that
        have one of their own; None where the list of releases is taken to be fixed beforehand
    """

    columns: tuple[str, ...]
    budget: Any
    created: str
    aside: float | None = None

    def __str__(self) -> str:
        way = "" if self.aside is None else ", chosen on the way" + (f", {self.aside:g} aside" if self.aside else "")
        return f"{self.budget}{way}"

    def concerns(self, columns: Sequence[str], whole: bool) -> bool:
        """Say whether a release of some columns, or one about whole records, counts for it."""
        return whole or not self.columns or bool(set(columns) & set(self.columns))


def budget_in(value: Any) -> Any:
    """Return a budget as a Guarantee of a kind that adds up."""
    wanted = as_guarantee(value, "budget")
    if wanted.kind not in KINDS:
        raise DivulgeError.of("budget", f"be of a kind that adds up ({', '.join(KINDS)})", "it", wanted.kind)
    return wanted


def budgets_of(connection: Any, database: Database, scope: Scope) -> list[Budget]:
    """Return the budgets that are kept for a scope."""
    if not database.holds(database.budgets):
        return []
    b = database.budgets.c
    query = database.sql.select(b.columns, b.budget, b.created).order_by(b.number)
    rows = connection.execute(query.where(b.people.in_(scope.keys), b.until.is_(None)))
    return [_budget(json.loads(columns), json.loads(text), created) for columns, text, created in rows]


def _budget(columns: Sequence[str], text: dict[str, str], created: str) -> Budget:
    aside = text.pop("aside", None)
    return Budget(tuple(columns), as_typed(text), created, None if aside is None else float(aside))


def aside_of(budget: Any, adaptive: Any, aside: Any) -> float | None:
    """Return the part of a delta that is set aside, for a budget of releases that are chosen on the way.

    Budgets of other kinds than "adp" hold for these as they are.

    >>> aside_of(dv.ADP(1, 1e-6), True, 1e-7), aside_of(dv.ADP(1, 1e-6), False, 0.0)
    (1e-07, None)
    """
    if not isinstance(adaptive, bool):
        raise DivulgeError.of("adaptive", "be True or False", "it", repr(adaptive)[:40])
    part = scalar(aside, "aside")
    most = float(getattr(budget, "delta", 0.0)) if adaptive and budget is not None and budget.kind == "adp" else 0.0
    if part != 0 and not 0 <= part < most:
        raise DivulgeError.of("aside", "be a part of the delta of an adp budget that is adaptive", "it", f"{part:g}")
    return part if most else None


def add_budget(
    connection: Any, database: Database, key: str, columns: Sequence[str], budget: Any, release: str = "",
    aside: float | None = None,
) -> None:  # fmt: skip
    """Keep a budget for people, or for a name; with the release that set it, if one did."""
    text = json.dumps({name: str(value) for name, value in budget.to_dict().items()}
                      | ({} if aside is None else {"aside": repr(aside)}))  # fmt: skip
    row = {"people": key, "columns": json.dumps(sorted(columns)), "kind": budget.kind, "budget": text, "created": now(),
           "release": release}  # fmt: skip
    connection.execute(database.budgets.insert().values(**row))


def replace_budgets(connection: Any, database: Database, scope: Scope, columns: Sequence[str]) -> None:
    """End the budgets of a scope for exactly these columns; they stay on record."""
    b = database.budgets
    change = b.update().where(
        b.c.people.in_(scope.keys), b.c.columns == json.dumps(sorted(columns)), b.c.until.is_(None)
    )
    connection.execute(change.values(until=now()))


def allow(
    budget: Any,
    total: Mapping[str, Fraction | float],
    releases: Sequence[Spent],
    kept: str = "",
    aside: float | None = None,
) -> None:
    """Refuse a release after which the total would pass the budget; where no prior is known, ldp bounds the others.

    With a part of delta `aside` only by what holds whichever releases were chosen on the way.
    """
    allowed = budget.values()
    ldp, rho = total["ldp"], total.get("zcdp", total["ldp"] ** 2 / 2)
    spent = total.get(budget.kind, ldp)
    if budget.kind == "zcdp":
        spent = rho
    elif budget.kind == "adp" and aside is not None:
        spent = min(ldp, adaptively_together(releases, allowed["delta"], aside))
    elif budget.kind == "adp":
        spent = min(ldp, approximately_together(releases, allowed["delta"]))
        if rho < math.inf:
            spent = min(spent, compose(ZcdpRelease(exact.double_above(rho))).epsilon(float(allowed["delta"])).upper)
    most = allowed.get("epsilon", allowed.get("rho", 0))
    if not spent <= most:
        needed = at_most(spent) if at_most(spent) != at_most(most) else str(exact.double_above(spent))
        if math.isinf(spent) and budget.kind == "adp":
            needed = f"with a delta of {exact.double_above(added(one.adp[1] for one in releases if one.adp)):.3g}"
        said = ["nothing was drawn"] if budget.kind == "zcdp" else ["nothing was drawn", "both are in nats"]
        if any(one.loss == one.rho == math.inf and one.adp is None for one in releases):
            said.append(
                "releases of single rows, or without a bound, keep nothing of a person with many, where nobody knows "
                "how many: `divulge ledger rows-per-person` puts it on record"
            )
        said += ["`divulge ledger budget` changes what is kept"] * bool(kept)
        is_now = str(budget).partition("=")[2] + kept
        raise DivulgeError.of("budget", f"allow {budget.kind} {needed} in all", "it", is_now, "; ".join(said) + ".")
