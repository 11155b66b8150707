"""What jobs do, each a call of the library: loaded once by the server that jobs are started from."""

import math
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import divulge as dv
from divulge.app.outlook import budget_in_words
from divulge.app.words import filled
from divulge.extras import require
from divulge.files.hierarchies import MOST_LEVELS, suggested
from divulge.files.opening import replacing
from divulge.files.tables.glance import glance
from divulge.files.tables.tidying import spellings
from divulge.files.tables.values import type_of_values, values_of
from divulge.model.shown import at_least, at_most, named
from divulge.protocols.choice import fitted
from divulge.protocols.information import most_information
from divulge.publishing.preparing import ready
from divulge.publishing.publication import without_noise
from divulge.publishing.published import Published, read_receipt
from divulge.publishing.request import Publish
from divulge.publishing.statistics import AUTO
from divulge.publishing.task import task
from divulge.releasing.output.archive import archived
from divulge.releasing.output.places import PAPERS
from divulge.releasing.planning.assumed import Assumed, around
from divulge.releasing.planning.choosing import left
from divulge.releasing.planning.listed import read_values
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.ran.quarters import beliefs
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.drawing import MOST_BITS
from divulge.releasing.request import Request, run
from divulge.reporting.statements.placed import APART, MOST_QUARTERS, PlaceFacts
from divulge.reporting.statements.reported import CANDIDATES, ReportFacts
from divulge.reporting.statements.voice import Voice, languages
from divulge.tables.assess import readable
from divulge.tables.columns import people_of, risks_of_people

Progress = Callable[[int, int | None], None]

MOST_PAIRED = 64
"""Up to so many columns are looked at two together as well."""

LISTED = 60
"""Up to so many values of a column are listed."""


def ingest(progress: Progress, path: str, name: str, options: Mapping[str, Any], into: str) -> dict[str, Any]:
    """Read a table of any format once, keep it as Parquet in the private folder, and tell what is in it."""
    pq = require("pyarrow.parquet", "tables")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        source = dv.open_table(path, **options)
        rows = 0
        with replacing(into, private=True) as stream, pq.ParquetWriter(stream, source.schema) as writer:
            for batch in source.batches():
                writer.write_batch(batch)
                rows += batch.num_rows
                progress(rows, source.rows)
    if not rows:
        raise dv.DivulgeError("The table has no rows.")
    table = dv.open_table(into)
    return {
        "name": name,
        "path": into,
        "rows": rows,
        "columns": [_column(table, field) for field in source.schema],
        "notes": [str(one.message) for one in told if issubclass(one.category, UserWarning)],
    }


def _column(table: Any, field: Any) -> dict[str, Any]:
    """Tell how many values a column has, how many are missing, and whether it can be a secret."""
    try:
        counts = dv.contingency(table, field.name).to_dict()
    except dv.DivulgeError:
        return {"name": field.name, "kind": str(field.type)[:40], "values": None, "missing": 0, "listed": [],
                "spelled": 0, "groups": []}  # fmt: skip
    missing = counts.pop(None, 0)
    listed = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:LISTED]
    return {
        "name": field.name,
        "kind": "numbers" if all(map(_is_number, counts)) else _kind(field.type),
        "values": len(counts),
        "missing": missing,
        "listed": [(str(value), count) for value, count in listed],
        "spelled": len(spellings(list(counts))),
        "groups": _groups(list(counts)),
    }


MOST_GUESSED = 100_000
"""Columns of more values are taken for names of people or things, for which no groups are offered."""

RARE = (5, 20, 100)
"""Answers of fewer rows are offered to be grouped together."""


def _groups(values: Sequence[Any]) -> list[tuple[str, str]]:
    """Return how values may be grouped: (rule, what it does)."""
    if not 2 < len(values) <= MOST_GUESSED:
        return []
    known = suggested(values)
    steps = known.arguments[0] if known.kind == "ladder" else known.arguments
    words = {"ladder": "ranges of {}", "dates": "by {}", "prefix": "the first {}"}
    first = "first:" if known.kind == "prefix" else ""
    found = [(f"{first}{step}", words[known.kind].format(step)) for step in steps]
    return [*found, *((f"rare:{rows}", f"fewer than {rows} rows: other") for rows in RARE)]


def looked(progress: Progress, path: str, options: Mapping[str, Any]) -> Any:
    """Return the first and the last rows of a file as they stand there; None where the file names its columns."""
    del progress
    return glance(Path(path), **{name: value for name, value in options.items() if name in _LOOKING})


_LOOKING = ("delimiter", "decimal", "encoding", "sheet")
"""Options that change how a file looks before any row is taken for names."""


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def _kind(kind: Any) -> str:
    types = require("pyarrow.types", "tables")
    kind = type_of_values(kind)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    return "dates" if types.is_temporal(kind) else "yes or no" if types.is_boolean(kind) else "text"


@dataclass(frozen=True)
class Exposed:
    """What known columns say about the secret: of rows, or of people where a column says who and answers are one."""

    secret: tuple[str, ...]
    columns: Sequence[Any]
    rows: int
    confidence: float
    left_out: Mapping[str, str]
    people: bool


def expose(progress: Progress, path: str, secret: str, columns: Sequence[str], person: str | None) -> Exposed:
    """Return what the public columns say about the secret; of many columns each alone.

    With a column that says who, people are counted.
    """
    source = dv.open_table(path)
    known, left_out = readable(source, [name for name in columns if name != person])
    progress(0, source.rows)
    pairs = len(known) <= MOST_PAIRED
    if person is None or not known:
        found = dv.assess(source, known, secret, pairs=pairs)
        return Exposed(found.secret, found.columns, found.rows, found.confidence, left_out, False)
    found = dv.assess(source, [*known, person], secret, pairs=False)
    risks = risks_of_people(found.by_group, person, found.confidence, pairs)
    everybody = people_of(found.by_group, person)
    return Exposed(found.secret, risks, everybody.rows, found.confidence, left_out, True)


def preview(progress: Progress, path: str, options: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the preview of each choice, or why there is none."""
    found: list[dict[str, Any]] = []
    for i, choice in enumerate(options):
        progress(i, len(options))
        try:
            found.append(dv.preview(dv.open_table(path), levels=(1.0,), **foreseen(path, choice)).to_dict())
        except dv.DivulgeError as error:
            found.append({"refused": str(error)})
    return found


def foreseen(path: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return a choice as it can be looked at without spending: an estimate with noise, as if the noise were 0."""
    kind, _, spent = str(choice.get("prior", "")).partition("=")
    if kind != "noisy":
        return dict(choice)
    found = dv.contingency(dv.open_table(path), choice["column"]).to_dict()
    counts = {choice.get("null_as") if value is None else value: count for value, count in found.items()}
    if "values" in choice:
        listed = [*read_values(choice["values"], choice["column"])[choice["column"]], choice["other"]]
        counts = {
            value: counts.get(value, 0) for value in dict.fromkeys([*listed, *filter(None, [choice.get("null_as")])])
        }
    expected = around(counts, sum(counts.values()), Fraction(spent)).priors
    (promise,) = left((dv.guarantees.parse(choice["guarantee"]),), float(spent))
    return dict(choice) | {"prior": expected, "guarantee": promise}


def simulate(progress: Progress, path: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    """Release in memory, estimate as a receiver would, and forget the rows: what one receiver might see."""
    asked = foreseen(path, choice)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        looked = dv.preview(dv.open_table(path), levels=(1.0,), **asked).to_dict()
        level = looked["levels"][0]
        receipt = dv.release(dv.open_table(path), progress=progress, keep=(), ledger=None, **asked)
        found = dv.estimate_frequencies(receipt.table, receipt)
    lower, upper = (
        (np.zeros_like(found.lower), np.ones_like(found.upper)) if found.empty else (found.lower, found.upper)
    )
    guesses = {
        str(value): (float(share), float(low), float(high))
        for value, share, low, high in zip(found.values, found.frequency, lower, upper, strict=True)
    }
    values = [value | dict(zip(("simulated", "low", "high"), guesses[value["value"]], strict=True))
              for value in level["values"]]  # fmt: skip
    mechanism = receipt.channel
    worst = dv.worst_gain((dv.Prior.uniform(mechanism.secrets), mechanism))
    guess = worst.adversary.best_action(worst.joint.posterior(worst.outcome))
    return {
        "column": choice["column"], "stays": level["stays"], "values": values,
        "worst": {"sees": named(worst.outcome), "guess": named(guess), "times": float(worst.leakage)},
        "notes": [*looked["notes"], *(found.warnings if found.empty else ())],
    }  # fmt: skip


def release(progress: Progress, path: str, folder: str, asked: Request) -> dict[str, Any]:
    """Carry out what was asked, of the table at `path`: all files in the folder, and what is to be known of them.

    It is carried out in the folder, beside the lists that go out with it: the keeper's record names files as the
    command of the page does, and none that only this process knows.
    """
    notes: list[str] = []
    out = Path(folder) / str(asked.sink)
    lists = {
        name: given for name in ("values", "quarters") if isinstance(given := getattr(asked, name, None), (str, Path))
    }
    beside = {name: Path(shutil.copy(given, folder)).name for name, given in lists.items()}
    table = dv.open_table(path)
    called = table.name if asked.source is None else Path(str(asked.source)).name  # and not what holds it here
    with chdir(folder), warnings.catch_warnings(record=True) as told, budget_in_words():
        warnings.simplefilter("always")
        done = run(replace(asked, **beside), replace(table, name=called), progress=progress, warn=notes.append)
    notes += [str(one.message) for one in told if issubclass(one.category, UserWarning)]
    files = {"table": out} | {kind: out.with_name(f"{out.stem}.{kind}") for kind in PAPERS}
    files = {kind: file for kind, file in files.items() if file.is_file()}
    if failed := archived(out.with_suffix(".zip"), files):
        notes.append(failed)
    else:
        files = {"archive": out.with_suffix(".zip"), **files}
    papers = {kind: str(file) for kind, file in files.items()}
    done = getattr(done, "perturbed", None) or done  # of a coarser table whose answers were drawn
    together = {
        language: _together(done, language) if isinstance(done, Receipt) else dv.statement(done, language).together
        for language in languages()
    }
    return {"papers": papers, "together": together, "notes": list(dict.fromkeys(notes))}


def _together(done: Receipt, language: str) -> str:
    """Return what all releases on record about the column add up to: for a chance of 1 in 100, or as a factor."""
    spent = done.together
    if spent is None or spent["releases"] < 2:
        return ""
    if math.isinf(spent["guarantees"]["ldp"]):
        return dv.statement(done, language).together
    bounds = dv.guarantees.posterior_bounds(dv.LDP(spent["guarantees"]["ldp"]), "1/100")
    most, least = map(Voice(language).numeral, (at_most(100 * bounds.upper), at_least(100 * bounds.lower)))
    return filled(language, _TOGETHER, spent["releases"], most, least)


_TOGETHER = (
    "With what was released of this column before, {1} releases in all: before 1 in 100, after at most {2} and at "
    "least {3} in 100."
)


def coarsen(progress: Progress, path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table now and with coarser columns: the best levels, or, where they are given, whether these do."""
    source = dv.open_table(path)
    progress(0, source.rows)
    before = dv.assess(source, options["known"], options["secret"], pairs=False)
    notes: list[str] = []
    kept = True
    try:
        found = dv.generalize(source, warn=notes.append, **options)
    except dv.DivulgeError as error:
        if not str(error).startswith("`guarantees` must hold"):
            raise
        kept = False
        dropped = ("guarantees", "suppress", "levels", "recoding", "perturb")
        anyhow = {name: value for name, value in options.items() if name not in dropped}
        top = dict.fromkeys(options["known"], MOST_LEVELS)
        found = _at(source, anyhow, options.get("levels") or top)
    choice = found.minimality
    worse = choice is not None and choice.lift > found.assessment.lift
    return {
        "kept": kept, "nodes": found.certificate.nodes, "suppressed": found.suppressed,
        "before": _of_groups(before), "after": _of_groups(found.assessment),
        "choice": float(choice.lift) if choice is not None and worse else None,
        "columns": [_levelled(found, name) for name in found.levels],
        "gap": None if found.local is None else found.local.gap, "drawn": _drawn(found),
    }  # fmt: skip


def _drawn(found: Any) -> dict[str, float] | None:
    """Return what group and drawn answer tell together, and the share of rows that keep their answer on average."""
    if found.perturbed is None:
        return None
    groups, channel = found.assessment.by_group, found.perturbed.matrix_of(found.assessment.secret).channel
    stays = {s: w[channel.outcomes.index(s)] for s, w in zip(channel.secrets, channel.weights, strict=True)
             if s in channel.outcomes}  # fmt: skip
    rows = sum(int(n) * int(stays.get(s, 0)) for s, n in zip(groups.values, groups.totals, strict=True))
    return {"lift": float(found.both), "stays": rows / groups.rows / 2.0**channel.bits}


def _at(source: Any, options: Mapping[str, Any], levels: Mapping[str, int]) -> Any:
    """Return a table at levels, whatever it keeps: each as coarse as is said, or as it can be."""
    free = dv.generalize(source, guarantees="k=1", **options)
    least = {name: min(level, free.hierarchies[name].height) for name, level in levels.items()}
    return dv.generalize(source, guarantees="k=1", levels=least, **options)


def _of_groups(found: Any) -> dict[str, Any]:
    """Return what groups of rows tell, and who is told most of."""
    worst = found.worst
    group = {name: None if value is None else named(value) for name, value in worst.group.items()}
    return {
        "k": found.k, "groups": found.groups, "alone": int(found.uniques * found.rows),
        "certainty": float(found.certainty), "lift": float(found.lift), "sizes": found.by_group.sizes.tolist(),
        "worst": {"group": group, "value": named(worst.value), "before": float(worst.before),
                  "after": float(worst.after)},
    }  # fmt: skip


SAMPLED = 3
"""So many values of a level are shown."""


def _levelled(found: Any, name: str) -> dict[str, Any]:
    """Return at which level a column stands, and the values that it then has."""
    values = found.rows.column(name).unique().to_pylist()
    shown = ["" if value is None else str(value) for value in values[:SAMPLED]]
    level = found.levels[name]
    return {"name": name, "level": level, "finest": level if found.local is None else found.local.finest[name],
            "height": found.hierarchies[name].height, "values": shown, "more": len(values) > SAMPLED}  # fmt: skip


MOST_DRAWN = 300
"""So many places are drawn in a picture."""


def blur(progress: Progress, path: str, far: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far off places are, what a point makes of the odds by distance, and places of one simulation.

    Distances are those around the one for which odds were asked, in km.
    """
    source = dv.open_table(path)
    lat, lon = options["column"]
    receipt = dv.release(source, progress=progress, keep=(), ledger=None, **options)
    noise = receipt.mechanisms[0]
    assert isinstance(noise, MetricNoise)
    facts = PlaceFacts(noise, receipt.rows)
    south, west, north, east = noise.region
    found, outside, rows = list[tuple[float, float]](), 0, 0
    for batch in source.stream([lat, lon], ()):
        both = np.array([values_of(batch.column(name)) for name in (lat, lon)], dtype=float)
        along = (both[1] - west) % 360.0 > (east - west) % 360.0
        outside += int(((both[0] < south) | (both[0] > north) | along).sum())
        rows += both.shape[1]
        found += list(map(tuple, both.T[: MOST_DRAWN - len(found)].tolist()))
    moved = [receipt.table.column(name).to_pylist()[:MOST_DRAWN] for name in receipt.table.column_names[:2]]
    odds = [(distance, facts.odds(distance)) for distance in (multiple * Fraction(far) for multiple in APART)]
    half, most = noise.radii
    return {
        "half": half, "most": most, "times": noise.times, "quarters": _quarters(noise, facts),
        "mean": None if noise.times == 1 else noise.radii_of_mean(noise.times),
        "rows": rows, "outside": outside, "true": found,
        "moved": list(zip(*moved, strict=True)),
        "odds": [{"far": float(far), "factor": factor, "after": 100 * factor / (factor + 99)} for far, factor in odds],
    }  # fmt: skip


def _quarters(noise: MetricNoise, facts: PlaceFacts) -> list[dict[str, Any]]:
    """Return of 1,000 people how many live in a quarter, and the most that a point makes of it; the surest first."""
    if not noise.quarters or noise.box is None:
        return []
    shares = beliefs(noise.quarters, noise.box, noise.step, float(facts.total))
    named = [(one.name, *(1000 * float(share) for share in pair))
             for one, pair in zip(noise.quarters, zip(*shares, strict=True), strict=True)]  # fmt: skip
    surest = sorted(named, key=lambda row: -float(row[2]))[:MOST_QUARTERS]
    return [dict(zip(("name", "before", "after"), row, strict=True)) for row in surest]


def reports(
    progress: Progress, column: str, rows: int, listed: int, values: int, level: float, times: int, once: bool
) -> dict[str, Any]:
    """Return protocols side by side under an epsilon: how far off estimates are, how long reports, what they tell.

    Of a list of so many answers, or, where there are none, of any text; `once` where one draw stands in several rows.
    """
    progress(0, None)
    share = dv.LDP(level / times * (1 - 2**-40))
    size = listed or max(2, values)
    compared = dv.protocols.choose(size, share, n=max(1, rows))
    ways = [_way(column, one.protocol, rows, "" if listed else "list") for one in compared if one.compact]
    ways += [_way(column, fitted(name, None, [share]), rows, why)
             for name, why in (("local-hashing", ""), ("prefix-extension", "once" * once)) if not listed]  # fmt: skip
    ways = [one for one in ways if one["name"] != "local-hashing" or listed or not one["why"]]
    best = compared.best.protocol.name if listed else "local-hashing"
    for one in ways:
        one["best"] = one["name"] == best
    return {"rows": rows, "times": times, "ways": ways, "asked": listed or CANDIDATES,
            "after": 100 * float(dv.guarantees.posterior_bounds(dv.LDP(level), 0.01).upper)}  # fmt: skip


def _way(column: str, protocol: Any, rows: int, why: str) -> dict[str, Any]:
    """Return a protocol, and why it cannot run, in a word."""
    long = protocol.name.endswith("unary") and rows * protocol.size > MOST_BITS
    why = why or "bits" * long
    off = ReportFacts(FrequencyOracle.of((column,), protocol, Assumed()), rows).off
    return {
        "name": protocol.name, "bits": math.ceil(protocol.bits), "tells": most_information(protocol) / math.log(2),
        "off": tuple(min(math.ceil(one), rows) for one in off), "can": not why, "why": why,
    }  # fmt: skip


MOST_GROUPS = 1000
"""Columns of up to so many values group a table of statistics."""

NUMERIC = {"sum": dv.Sum, "mean": dv.Mean, "variance": dv.Variance}


def statistic(one: Mapping[str, Any]) -> Any:
    """Return the statistic that a form described."""
    by = tuple(one["by"])
    if one["kind"] == "count":
        return dv.Count(*by)
    if one["kind"] == "share":
        return dv.Proportion(one["column"], one["value"], by=by)
    bounds, step = AUTO if one.get("auto") else (one["low"], one["high"]), one.get("step")
    if one["kind"] == "quantiles":
        return dv.Quantiles(one["column"], bounds=bounds, by=by, step=step, probabilities=tuple(one["at"]))
    return NUMERIC[one["kind"]](one["column"], bounds=bounds, by=by, step=step)


def simulate_statistics(
    progress: Progress, path: str, asked: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the statistics of one simulated publication beside the true ones; nothing is kept."""
    wanted = [statistic(one) for one in asked]
    found = dv.publish(dv.open_table(path), wanted, **options)
    result: dict[str, Any] = found.to_dict() | {"notes": [], "together": "", "papers": {}}
    progress(1, 2)
    untreated = {key: value for key, value in options.items() if key not in _TREATED}
    untreated["guarantee"] = f"dp={_EXACT}"
    unblurred = task(Publish(statistics=wanted, **untreated))
    exact = without_noise(ready(unblurred, dv.open_table(path), "local"))
    for one, true in zip(result["statistics"], exact.statistics(), strict=True):
        one["true"] = true["value"]
    return result


_EXACT = 10**8
"""At this epsilon the value with the true rank is chosen but for odds that nobody will meet."""


def widths(progress: Progress, path: str, several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how far off the first statistic is at most, of the widest of its groups, for several promises."""
    off: list[float] = []
    first: dict[str, Any] = {}
    for i, given in enumerate(several):
        progress(i, len(several))
        asked = [statistic(one) for one in given["asked"]]
        found = dv.publish(
            dv.open_table(path), asked, **{k: v for k, v in given["options"].items() if k not in _TREATED}
        )
        first = next(iter(found.statistics()))
        same = [one for one in found.statistics() if all(one.get(k) == first.get(k) for k in ("statistic", "column"))]
        wide = [(float(one["high"]) - float(one["low"])) / 2 for one in same if one["value"] is not None]
        off.append(max(wide, default=math.nan))
    of = f" of {first['column']}" if "column" in first else ""
    return {"off": off, "what": f"{first['statistic']}{of}"}


_TREATED = ("non_negative", "consistent", "whole")


def audit(progress: Progress, path: str, secret: str, released: str, claim: str | None) -> Any:
    """Return what the rows show about leakage, and whether a claim survives them."""
    return dv.audit(dv.open_table(path), secret=secret, released=released, claim=claim).to_dict()


def report(progress: Progress, path: str, into: str) -> str:
    """Write the report on a receipt; on one of statistics, the statement that it stands for."""
    found = read_receipt(path)
    matrixless = isinstance(found, Receipt) and not all(isinstance(one, Mechanism) for one in found.mechanisms)
    if matrixless or isinstance(found, Published | dict):
        with replacing(into, private=True) as stream:
            stream.write(dv.statement(found).html().encode())
    elif any(part.assumed.prior is not None for part in found.mechanisms):
        dv.report(found).save(into)
    else:
        alike = dv.Prior.uniform(found.channel.secrets)
        dv.report(found, prior=alike, prior_source="all equally likely, as the receipt has no prior").save(into)
    return into


def compare(progress: Progress, first: str, second: str) -> str:
    """Return which of two mechanisms is safer, in words."""
    return repr(dv.compare(dv.read_channel(first), dv.read_channel(second)))
