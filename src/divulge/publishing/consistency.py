"""What follows from other numbers of a receipt of statistics, computed again when it is read: loss, levels, notes.

How much one unit changes the cells follows from kind, bounds and groups of each query, the loss from that and the
scale, and what is promised from all losses together.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.guarantees.kinds.loss import ADP
from divulge.model.entries import rational
from divulge.publishing.counting.naming import Spent, rest_of
from divulge.publishing.counting.unknown import MOST_VALUES, Threshold
from divulge.publishing.noising.composed import adp_epsilon
from divulge.publishing.noising.estimates import draws_of
from divulge.publishing.noising.families import FAMILIES, Laplace, Noise, above
from divulge.publishing.noising.leakage import RecordPrior, concentration, largest_loss, leakages, loss_of
from divulge.publishing.noising.noise import each, half_width
from divulge.publishing.queries import Query, Unit
from divulge.publishing.remarks import of_bounds, of_chosen, of_fill, of_names, of_unit
from divulge.releasing.records.levels import ROUNDING, contradiction, near

_STATED = 1e-3
"""Where noise keeps what was asked for within this share, the level that was asked for is what is stated."""

_CHOICES = 3
"""Choices by rank that a quantile with its interval takes; without an interval it is one."""


_DECIDED = {"note_rows", "note_person", "note_added", "note_replaced", "note_threshold", "note_independent",
            "note_groups_per_person", "note_keys", "note_rows_per_group", "note_chosen"}  # fmt: skip
"""Notes that stand where the numbers say so, and nowhere else."""


def refuse_contradictions(found: Any) -> None:
    """Refuse published statistics in which something does not follow from the rest."""
    given = found.protected
    names = [one for one in found.queries if one["kind"] == "keys"]
    by = tuple(sorted({name for one in found.queries for name in one["by"]}))
    unit = Unit(given["person"], given["at_most"], given["neighbors"], given.get("groups"), given.get("per_group"), by)
    if given["noun"] != unit.noun:
        raise contradiction("the unit that is protected", given["noun"], unit.noun)
    asked = [one for one in found.queries if one["kind"] != "keys"]
    bins = [one for one in asked if one["kind"] == "bins"]
    slack = list(found.guarantees) == ["adp"] and bool(bins)
    noises = [_family(one["family"])(float(one["scale"])) for one in asked]
    queries = [_query(one, noise, unit) for one, noise in zip(asked, noises, strict=True)]
    shown = [one for one in asked if "threshold" in one]
    if shown:
        _refuse_threshold(found, shown[0], unit)
    else:
        for one, query, noise in zip(asked, queries, noises, strict=True):
            _refuse_loss(one, query, noise, unit)
        if names or (slack and found.loss == math.inf):
            _refuse_names(found, names, queries, noises, unit)
        else:
            _refuse_levels(found, queries, noises, unit)
    _refuse_widths(found, asked, queries, noises)
    _refuse_notes(found, unit)
    missing = {name for one in found.queries for name in (*one["by"], one["column"]) if name} - set(found.columns)
    if missing:
        raise contradiction("the list of columns that were read", "without one", "with it")


def _family(name: str) -> type[Noise]:
    if name not in FAMILIES:
        raise contradiction("a family of noise", name, " or ".join(FAMILIES))
    return FAMILIES[name]


def _query(one: Mapping[str, Any], noise: Noise, unit: Unit) -> Query:
    """Return the query as far as its receipt tells it: enough for what one unit changes."""
    kind, cells = one["kind"], one["cells"] or 2
    if kind == "people":
        return Query("people", tuple(one["by"]), (cells,), low=int(one.get("low", 1)))
    if kind == "rows":
        alone = "at" in one and cells == 1
        low = int(one.get("low", 0 if alone else 1))
        return Query("rows", tuple(one["by"]), (cells,), one["column"], low, only=one.get("at"))
    if kind == "bins":
        return Query("bins", (), (cells,), one["column"], low=0)
    if kind in ("values", "squares", "cut"):
        low, high = int(one.get("low", 0)), int(one.get("high", 1))
        return Query(kind, tuple(one["by"]), (cells,), one["column"], low, high)
    if kind != "ranks":
        raise contradiction("a kind of query", kind, "rows, people, values, squares, cut, bins or ranks")
    p = rational(one["at"])
    if not 0 < p < 1:
        raise contradiction("the probability of a quantile", one["at"], "between 0 and 1")
    sharp = (max(p.numerator, p.denominator - p.numerator), p.denominator)
    query = Query("ranks", tuple(one["by"]), (cells,), one["column"], sharpness=sharp, only=p)
    several = replace(query, draws=one.get("draws", _CHOICES))
    if "draws" in one:
        return several
    return several if near(float(one["loss"]), _loss(several, noise, unit)) else query  # older receipts leave it open


def _loss(query: Query, noise: Noise, unit: Unit) -> float:
    """Return the most that the outcome of a query changes its log-likelihood with one unit."""
    if not noise.scale:
        return math.inf if query.changes(unit)[0] else 0.0
    return float(loss_of(query, noise, unit))


def _refuse_loss(one: Mapping[str, Any], query: Query, noise: Noise, unit: Unit) -> None:
    if query.kind in ("values", "squares") and "low" not in one:  # older receipts leave out bounds that are one apart
        return
    if not near(float(one["loss"]), _loss(query, noise, unit)):
        raise contradiction("the loss of a query", float(one["loss"]), _loss(query, noise, unit))


def _refuse_levels(found: Any, queries: list[Query], noises: list[Noise], unit: Unit) -> None:
    """Refuse what is promised and does not follow from the noise."""
    asked = [pair for pair in zip(queries, noises, strict=True) if pair[0].changes(unit)[0] and pair[1].scale]
    bare = any(query.changes(unit)[0] and not noise.scale for query, noise in zip(queries, noises, strict=True))
    of, by = [query for query, _ in asked], [noise for _, noise in asked]
    pure = math.inf if bare else float(largest_loss(of, by, unit))
    rho = math.inf if bare else float(concentration(of, by, unit))
    loss = math.inf if bare else float(largest_loss(of, by, unit, unit.secrets))
    older = any(one["kind"] in ("values", "squares") and "low" not in one for one in found.queries)
    if not older and not near(found.loss, loss):
        raise contradiction("the loss of all queries", found.loss, loss)
    for kind, stated in found.guarantees.items() if not older else ():
        values = stated if isinstance(stated, Mapping) else {"epsilon": stated}
        wanted = float(values["epsilon"])
        if kind == "dp":
            least = pure
        elif kind == "zcdp":
            least = rho
        elif kind == "rdp":
            least = min(rho * float(values["alpha"]), pure)
        elif kind == "adp":
            delta = float(values["delta"])
            least = math.inf if bare else adp_epsilon(tuple(of), tuple(by), unit, delta)
        elif kind in ("pml", "pmc", "lip"):
            _refuse_told(found, kind, wanted, loss, of, by)
            continue
        else:
            raise contradiction("a kind of guarantee", kind, "none that follows from the noise")
        if not least * (1 - ROUNDING) <= wanted <= least * (1 + 2 * _STATED) + ROUNDING:
            raise contradiction(kind, wanted, least)
    if not older and not bare and asked and not found.guarantees:
        raise contradiction("the list of guarantees", "empty", "not")


def _refuse_told(found: Any, kind: str, stated: float, loss: float, of: list[Query], by: list[Noise]) -> None:
    """Refuse what is told of one record; where a prior of whole records was known, here is only the worst case."""
    if found.prior is None:
        raise contradiction(kind, stated, "nothing without a prior of a record")
    most = leakages(loss, RecordPrior(Fraction(found.prior["least"])))[kind]
    rows = all(query.kind == "rows" and query.only is None for query in of)
    records = rows and all(noise.bounded for noise in by)
    least = 0.0 if records and found.prior["columns"] else most
    if not least * (1 - ROUNDING) <= stated <= most * (1 + 2 * _STATED) + ROUNDING:
        raise contradiction(kind, stated, most)


def _refuse_threshold(found: Any, one: Mapping[str, Any], unit: Unit) -> None:
    """Refuse a promise of counts that show themselves which scale and threshold do not keep."""
    stated = found.guarantees.get("adp", {"epsilon": 0.0, "delta": 0.0})
    if (
        list(found.guarantees) != ["adp"]
        or len(found.queries) != 1
        or one["loss"] != "inf"
        or one["family"] != Laplace.name
    ):
        raise contradiction("what is promised of counts that show themselves", ", ".join(found.guarantees), "adp")
    kept = Threshold.of(float(one["scale"]), int(one["threshold"]), unit)
    for name in ("epsilon", "delta"):
        if not near(stated[name], getattr(kept, name)):
            raise contradiction(name, stated[name], getattr(kept, name))


def _refuse_names(
    found: Any, names: list[Mapping[str, Any]], queries: list[Query], noises: list[Noise], unit: Unit
) -> None:
    """Refuse a promise that naming values, and the noise on statistics about them, do not keep."""
    if list(found.guarantees) != ["adp"] or found.loss < math.inf:
        raise contradiction("what is promised of values that were named", ", ".join(found.guarantees), "adp")
    if any(one["family"] != Laplace.name or one["loss"] != "inf" or "threshold" not in one for one in names):
        raise contradiction("the noise by which values were named", "of another kind", "laplace, with a threshold")
    kept: list[Any] = [Threshold.of(float(one["scale"]), int(one["threshold"]), unit) for one in names]
    pairs = list(zip(queries, noises, strict=True))
    kept += [Spent(above(Fraction(loss_of(query, noise, unit)))) for query, noise in pairs if query.kind == "bins"]
    queries = [query for query, _ in pairs if query.kind != "bins"]
    noises = [noise for query, noise in pairs if query.kind != "bins"]
    stated = ADP(*(float(found.guarantees["adp"][name]) for name in ("epsilon", "delta")))
    left = rest_of(stated, kept).values()
    least = adp_epsilon(tuple(queries), tuple(noises), unit, float(left["delta"]))
    if not least * (1 - ROUNDING) <= float(left["epsilon"]) <= least * (1 + 2 * _STATED) + ROUNDING:
        raise contradiction("epsilon", float(stated.values()["epsilon"]), least)


def _refuse_widths(found: Any, asked: list[Mapping[str, Any]], queries: list[Query], noises: list[Noise]) -> None:
    """Refuse half-widths that are not the least ones at the level, all together."""
    shown = any("threshold" in one for one in asked)
    pairs = [pair for pair in zip(queries, noises, strict=True) if pair[0].kind != "bins"]
    miss = each(found.level, MOST_VALUES if shown else draws_of(*map(list, zip(*pairs, strict=True))))
    for one, query, noise in zip(asked, queries, noises, strict=True):
        if query.kind not in ("ranks", "bins") and noise.scale:
            least, most = (half_width(noise, miss * (1 + sign * ROUNDING)) for sign in (1, -1))
            if "half_width" not in one or not least <= float(one["half_width"]) <= most:
                raise contradiction("the half-width of an interval", one.get("half_width", "missing"), most)


def _refuse_notes(found: Any, unit: Unit) -> None:
    """Refuse notes that say something else than the numbers beside them."""
    said = {note.name: note.values for note in found.notes}
    counted = any(one["kind"] == "cut" for one in found.queries)
    cut = {of_bounds(one["column"], one["bounds"], one["step"], counted) for one in found.queries if "bounds" in one}
    if cut != {note for note in found.notes if note.name in ("note_cut", "note_cut_told")}:
        raise DivulgeError("must say in its notes what its numbers say; one about bounds is missing, or says more.")
    filled = {of_fill(one["column"], float(one["fill"])) for one in found.queries if "fill" in one}
    if filled != {note for note in found.notes if note.name == "note_fill"}:
        raise DivulgeError("must say in its notes what its numbers say; one about missing numbers does not.")
    wanted = {note.name: note.values for note in of_unit(unit)}
    if "note_left_out" not in said:  # in older receipts
        wanted.pop("note_left_out", None)
    for one in found.queries:
        if "threshold" in one and one["kind"] != "keys":
            wanted["note_threshold"] = {"least": one["threshold"]}
    names = [one for one in found.queries if one["kind"] == "keys"]
    if names:
        wanted["note_keys"] = dict(of_names([one["column"] for one in names], names[0]["threshold"]).values)
    chosen = [one["column"] for one in found.queries if one["kind"] == "bins"]
    if chosen:
        wanted["note_chosen"] = dict(of_chosen(chosen).values)
    if found.others == "independent":
        wanted["note_independent"] = {}
    clamped = sorted(
        {
            one["column"]
            for one in found.queries
            if one["kind"] not in ("rows", "people", "keys", "bins") and "bounds" not in one
        }
    )
    wanted |= {"note_clamped": {"columns": clamped}} if clamped else {}
    if (_DECIDED - set(wanted)) & set(said):
        raise DivulgeError("must say in its notes what its numbers say; one of them says something else.")
    for name, values in wanted.items():
        if name not in said or dict(said[name]) != values:
            raise DivulgeError("must say in its notes what its numbers say; one is missing, or says something else.")
