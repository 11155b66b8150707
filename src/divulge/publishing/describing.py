"""What will be published, without its numbers: its queries, what they promise, and what the ledger is told."""

import math
from fractions import Fraction
from typing import Any

from divulge import __version__, exact
from divulge.publishing.counting.unknown import MOST_VALUES
from divulge.publishing.noising.calibration import Calibration
from divulge.publishing.noising.estimates import draws_of
from divulge.publishing.noising.families import Laplace
from divulge.publishing.noising.leakage import concentration, largest_loss, loss_of
from divulge.publishing.noising.noise import each, half_width
from divulge.publishing.preparing import Ready
from divulge.publishing.published import Published
from divulge.publishing.queries import Query, Unit
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.receipt import now


def described(made: Ready, output: str | None = None, table_format: str | None = None) -> Published:
    """Return what will be published, without its numbers: what it promises can be recorded before anything is drawn."""
    asked, noise = made.task, made.noise
    prior = None if asked.prior is None else {
        "least": float(asked.prior.least), "secret": asked.prior.secret, "columns": list(asked.prior.about),
    }  # fmt: skip
    draws = MOST_VALUES if made.threshold else draws_of(made.plan.queries, noise.noises)
    miss = each(asked.level, draws)
    named_ = tuple(
        {"kind": "keys", "column": name, "by": [], "cells": None, "family": Laplace.name, "scale": one.scale,
         "loss": "inf", "threshold": one.least, "serves": []}
        for name, one in made.names
    )  # fmt: skip
    chosen = tuple(
        {"kind": "bins", "column": one.column, "by": [], "cells": one.query.cells, "family": one.noise.name,
         "scale": one.noise.scale, "loss": one.epsilon if one.epsilon < math.inf else "inf", "serves": [],
         "step": float(one.step)}
        for one in made.bounds
    )  # fmt: skip
    queries = named_ + chosen + tuple(
        {
            "kind": query.kind, "column": query.column, "by": list(query.by),
            "serves": sorted({one.kind for one, parts in made.served if place in parts}),
            "cells": None if made.threshold else query.cells, "family": one.name, "scale": one.scale,
            "loss": "inf" if made.threshold else _share(query, one, asked.unit),
            **({"threshold": made.threshold.least} if made.threshold else {}),
            **_bounds(query),
            **({"at": str(query.only)} if query.only is not None else {}),
            **({"draws": query.draws} if query.kind == "ranks" else {}),
            **({"half_width": half_width(one, miss)} if query.kind != "ranks" and one.scale else {}),
        }
        for place, (query, one) in enumerate(zip(made.plan.queries, noise.noises, strict=True))
    )  # fmt: skip
    loss, rho = _recorded(made)
    account = asked.account
    if account is not None:
        loss, rho = account.replaced
    kept = Aggregate(
        asked.columns, {"ldp": loss},
        math.inf if made.threshold or made.names else rho,
        None if asked.prior is None else asked.prior.least,
        None if account else _approximate(noise, asked.unit), asked.unit.person, account=account and account.text,
    )  # fmt: skip
    unit: dict[str, Any] = {"noun": asked.unit.noun, "person": asked.unit.person, "at_most": asked.unit.at_most,
                            "neighbors": asked.unit.neighbors}  # fmt: skip
    bounds = {"groups": asked.unit.groups, "per_group": asked.unit.per_group}
    unit |= {name: bound for name, bound in bounds.items() if bound is not None}
    return Published(
        table=None, guarantees=noise.guarantees, queries=queries, level=asked.level, protected=unit, prior=prior,
        others=asked.others, loss=exact.double_above(noise.loss), source=made.table.source.name, output=output,
        rows=None, columns=asked.columns, notes=made.notes, created=now(), version=__version__, aggregate=kept,
        table_format=table_format,
    )  # fmt: skip


def _recorded(made: Ready) -> tuple[float, float]:
    """Return what the ledger is told: the loss, and rho of zCDP; before bounds are drawn, no less than after that."""
    unit, asked = made.task.unit, {one.kind: one for one in made.task.guarantees}
    before = made.drawn_before
    queries = [*(query for query, _ in before), *made.plan.queries]
    noises = [*(noise for _, noise in before), *made.noise.noises]
    loss, rho = made.noise.loss, concentration(queries, noises, unit, unit.secrets)
    if not made.pending or made.unnamed:
        return exact.double_above(loss), exact.double_above(rho)
    if unit.secrets != unit.neighbors:  # how much more a replaced unit tells than one that comes depends on the bounds
        loss = 2 * largest_loss(queries, noises, unit)
        rho = loss**2 / 2 if isinstance(loss, Fraction) else 4 * concentration(queries, noises, unit)
        return exact.double_above(loss) * _ROUNDED, exact.double_above(rho) * _ROUNDED
    known = {kind: next(iter(one.values().values())) for kind, one in asked.items()}
    return (min(exact.double_above(loss) * _ROUNDED, float(known.get("dp", math.inf))),
            min(exact.double_above(rho) * _ROUNDED, float(known.get("zcdp", math.inf))))  # fmt: skip


_ROUNDED = 1 + 2.0**-48
"""Scales are rounded up to doubles, so that the same shares of a total take the same but for a few roundings."""


def _approximate(noise: Calibration, unit: Unit) -> tuple[float, float] | None:
    """Return (epsilon, delta) of a replaced record, where there is no bound at every outcome and it was asked for."""
    asked = noise.guarantees.get("adp")
    if asked is None or noise.loss < math.inf or unit.secrets != "replaced":
        return None
    return float(asked["epsilon"]), float(asked["delta"])


def _bounds(query: Query) -> dict[str, Any]:
    """Return what one row adds at least and at most, where that is no count of all rows, and how numbers were cut."""
    if query.kind in ("rows", "people"):
        return {} if query.low or query.cells > 1 else {"low": query.low}  # among several cells nothing depends on it
    ends = [float((query.bottom + more) * query.step) for more in (0, query.candidates - 1)]
    added = {} if query.kind == "ranks" else {"low": query.low, "high": query.high}
    filled = {} if query.fill is None else {"fill": float(query.fill * query.step)}
    return {"step": float(query.step), **added, "bounds": ends, **filled}


def _share(query: Any, noise: Any, unit: Unit) -> Any:
    """Return the most that the query's outcome changes its log-likelihood with one unit, or "inf"."""
    found = float(loss_of(query, noise, unit))
    return "inf" if math.isinf(found) else found
