"""The codebook beside what is published: what each column and entry means, and how to use it."""

import json
from collections.abc import Hashable, Mapping
from decimal import Decimal
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from divulge.model.labels import key_of
from divulge.model.prior import Prior
from divulge.model.shown import printable, printable_json
from divulge.publishing.counting.groups import NO_ANSWER, OTHER
from divulge.publishing.published import LEADING, TRAILING, Published
from divulge.publishing.request import Publish
from divulge.releasing.estimating.estimate import rank, right_inverse
from divulge.releasing.planning.naming import raised, str_of
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements import placed
from divulge.reporting.statements.promised import distances_of
from divulge.reporting.statements.reported import book_column, book_texts
from divulge.reporting.statements.statistics import note_text, reading, summary, using
from divulge.reporting.statements.telling import before_use
from divulge.reporting.statements.voice import BASE, Label, Text, Voice, plain
from divulge.tables import papers
from divulge.tables.generalization import Generalization

FORMAT = "divulge codebook 1"
STATISTICS = "divulge codebook of statistics 1"
MOST_INVERTED = 100
"""Up to so many values the codebook holds the matrix of the estimator itself."""
MOST_TABLED = 12
"""Up to so many values the readable codebook has a table of the channel."""

MOST_NAMED = 12
"""So many labels are listed; how many more there are is said."""

_MOST_NUMBERS = 1 << 14
"""So many numbers of a matrix are remembered as text, two megabytes: a design has few, noise has as many as entries."""

MOST_VALUES = 60
"""So many values of a coarsened column are listed in the readable codebook; the other one has all."""

_USE = ("book_use_row", "book_use_counts", "book_use_groups")


def described(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Return, for each outcome, which values it makes likelier, which most, and which it rules out."""
    channel = mechanism.channel
    matrix, weights = channel.weights / 2.0**channel.bits, channel.weights
    prior = mechanism.assumed.prior if mechanism.assumed.public else None
    shares = (Prior.uniform(list(channel.secrets)) if prior is None else prior).floats
    up, found, texts = raised(matrix, shares), list[dict[str, Any]](), list(map(str_of, channel.secrets))
    for j, outcome in enumerate(channel.outcomes):
        column = weights[:, j]
        chosen = {"raises": up[:, j], "raises_most": column == column.max(), "rules_out": column == 0}
        named = {name: [texts[x] for x in np.flatnonzero(ones).tolist()] for name, ones in chosen.items()}
        found.append({"outcome": str_of(outcome), **named})
    return found


def as_json(receipt: Receipt, language: str = "en") -> bytes:
    """Return the codebook as a JSON file."""
    found = as_data(receipt, Voice(language))
    channels = [one["channel"] for one in found["columns"] if "matrix" in one.get("channel", {})]
    places = [token_hex(16) for _ in channels]  # where the matrices will stand, whose numbers are few and slow to write
    texts = [_matrix(channel["matrix"]).encode() for channel in channels]
    for channel, place in zip(channels, places, strict=True):
        channel["matrix"] = place
    written = _file(found)
    for place, text in zip(places, texts, strict=True):
        written = written.replace(f'"{place}"'.encode(), text, 1)
    return written


class _Numbers(dict[float, str]):
    """Number -> its JSON, made when it is first asked for."""

    def __missing__(self, number: float) -> str:
        text = self[number] = json.dumps(number)
        return text


def _matrix(rows: list[list[float]]) -> str:
    """Return the JSON of a matrix of numbers that are at least 0."""
    numbers, lines = _Numbers(), list[str]()
    for row in rows:
        lines.append(f"[{', '.join(map(numbers.__getitem__, row))}]")
        if len(numbers) > _MOST_NUMBERS:
            numbers.clear()
    return f"[{', '.join(lines)}]"


def _file(found: Mapping[str, Any]) -> bytes:
    return (printable_json(json.dumps(found, ensure_ascii=False, allow_nan=False)) + "\n").encode()


def as_data(receipt: Receipt, voice: Voice) -> dict[str, Any]:
    """Return the codebook as plain data."""
    return {
        "format": FORMAT,
        "language": voice.language,
        "table": receipt.output,
        "rows": receipt.rows,
        "columns": [_column(receipt, mechanism, voice) for mechanism in receipt.mechanisms],
        "answers": dict(receipt.answers),
        "unaltered": list(receipt.untouched),
        **({} if receipt.coarsened is None else {"coarsened": dict(receipt.coarsened)}),
        "before_use": [plain(text) for text in before_use(receipt, voice)],
        "how_to_use": [plain(voice.say(name)) for name in _uses(receipt)],
    }


def _uses(receipt: Receipt) -> tuple[str, ...]:
    """Return the sentences on how to use what went out: rows of a matrix, or reports."""
    if any(isinstance(one, MetricNoise) for one in receipt.mechanisms):
        return ("book_places_use",)
    reports = any(isinstance(one, FrequencyOracle) for one in receipt.mechanisms)
    return ("book_report_use",) if reports else _USE


def _column(receipt: Receipt, mechanism: Any, voice: Voice) -> dict[str, Any]:
    if isinstance(mechanism, FrequencyOracle):
        return book_column(receipt, mechanism, voice)
    if isinstance(mechanism, MetricNoise):
        return placed.book_column(receipt, mechanism, voice)
    channel = mechanism.channel
    matrix = channel.weights / 2.0**channel.bits
    return {
        "names": list(receipt.names_of(mechanism)),
        "about": list(mechanism.columns),
        "missing_is": None if receipt.null_as is None else str_of(receipt.null_as),
        "outcomes": described(mechanism),
        "channel": {
            "secrets": list(map(str_of, channel.secrets)),
            "outcomes": list(map(str_of, channel.outcomes)),
            "matrix": matrix.tolist(),
            "reads": plain(voice.say("book_reads")),
        },
        **({} if mechanism.promise is None else {"distance": distances_of(mechanism.promise)}),
        "estimate": _estimator(receipt, mechanism, matrix, voice),
    }


def _estimator(receipt: Receipt, mechanism: Mechanism, matrix: np.ndarray, voice: Voice) -> dict[str, Any]:
    n = len(matrix)
    if rank(matrix) < n:
        return {"possible": False, "why": plain(voice.say("book_estimate_no"))}
    table = receipt.output or "TABLE"
    found: dict[str, Any] = {
        "possible": True,
        "formula": plain(voice.say("book_formula")),
        "command": f"divulge estimate {table} --receipt {Path(table).stem}.receipt.json",
        "python": "divulge.estimate_frequencies(table, receipt)",
    }
    if n <= MOST_INVERTED:
        found["estimator"] = right_inverse(mechanism.channel.exact).tolist()
    return found


def as_markdown(receipt: Receipt, language: str = "en") -> bytes:
    """Return the codebook for reading, in Markdown."""
    voice = Voice(language)
    table = Label(receipt.output) if receipt.output else voice.say("book_table")
    lines = [f"# {_marked(voice.say('book_title', table=table))}", ""]
    for mechanism in receipt.mechanisms:
        lines += _section(receipt, mechanism, voice)
    beside = {"book_unaltered": receipt.untouched, "coarsened": tuple(receipt.coarsened or ())}
    others = [_marked(voice.say(name, columns=voice.listed(list(names)))) for name, names in beside.items() if names]
    if others:
        lines += [f"## {_marked(voice.say('book_others'))}", "", *(line for one in others for line in (one, ""))]
    uses = [*before_use(receipt, voice), *map(voice.say, _uses(receipt))]
    lines += [f"## {_marked(voice.say('book_use'))}", "", *(f"- {_marked(text)}" for text in uses), ""]
    return "\n".join(lines).encode()


def of_groups(done: Generalization, language: str = "en") -> bytes:
    """Return the codebook of a coarsened table for reading, in Markdown."""
    voice = Voice(language)
    found = papers.codebook(done)
    table = Label(done.papers["table"].name) if done.papers else voice.say("book_table")
    lines = [f"# {_marked(voice.say('book_title', table=table))}", ""]
    for one in found["columns"]:
        known = one["role"] == "known"
        levels = {name: voice.number(one[name], 0) for name in ("level", "finest", "height") if name in one}
        kind = "book_groups_secret" if not known else "book_groups_range" if "finest" in levels else "book_groups"
        said = voice.say(kind, column=Label(one["name"]), **levels)
        lines += [f"## {_safe(one['name'])}", "", _marked(said), ""]
        values = [str(value) for value in one["values"]]
        lines += [_marked(voice.listed(values, MOST_VALUES)), ""]
    return "\n".join([*lines, f"## {_marked(voice.say('book_use'))}", "",
                      f"- {_marked(voice.say('book_groups_use'))}", ""]).encode()  # fmt: skip


def of_statistics(found: Published, request: Publish) -> dict[str, bytes]:
    """Return the codebook of published statistics, for programs and for reading, by the ends of their names."""
    voice = Voice(request.language)
    return {"codebook.json": _file(statistics_data(found, request, voice)),
            "codebook.md": _statistics_markdown(found, request, voice)}  # fmt: skip


def statistics_data(found: Published, request: Publish, voice: Voice) -> dict[str, Any]:
    """Return the codebook of published statistics as plain data; no number of the table is in it."""
    return {
        "format": STATISTICS,
        "language": voice.language,
        "table": found.output,
        "numbers": found.arrow.num_rows,
        "publisher": request.publisher,
        "source": _source(found, request),
        "date": found.created[:10],
        "cite": plain(_cite(found, request, voice)),
        "level": found.level,
        "columns": [_statistics_column(found, name, voice) for name in found.arrow.column_names],
        "statistics": [one.to_option() for one in request.statistics],
        "how_to_read": list(map(plain, reading(found, voice))),
        "how_to_use": list(map(plain, using(found, voice))),
        "rests_on": [plain(note_text(voice, note)) for note in found.notes],
    }


def _source(found: Published, request: Publish) -> str:
    return found.source if request.source_text is None else request.source_text


def _cite(found: Published, request: Publish, voice: Voice) -> Text:
    by = () if request.publisher is None else (Label(request.publisher), ": ")
    table, source = (Label(found.output or found.source),), (Label(_source(found, request)),)
    date, promise = found.created[:10], summary(found, voice)
    own = voice.say("book_cite", table=table, source=source, date=date, promise=promise, version=found.version)
    return (*by, *own)


def _statistics_column(found: Published, name: str, voice: Voice) -> dict[str, Any]:
    """Return what a column of the table means; of one that groups its values too, as `--values` reads them."""
    made = {"column": name, "means": plain(_means(found, name, voice))}
    if name not in found.by:
        return made
    cells = {kind: _cell(found, note, name) for kind, note in (("other", "note_other"), ("missing", "note_no_answer"))}
    own = {OTHER, NO_ANSWER} & {label for label in cells.values() if label}  # others may be listed too
    values = [value for value in found.arrow[name].unique().to_pylist() if value is not None]
    return {**made, "values": [value for value in values if value not in own], **cells, **_origin(found, name)}


def _origin(found: Published, column: str) -> dict[str, Any]:
    """Return where values are from: a table, or what naming them by noise was paid with; {} where they are public."""
    if any(one.name == "note_from_data" or (one.name == "note_taken" and column in one.values["columns"])
           for one in found.notes):  # fmt: skip
        return {"taken": True}
    before = (one.values for one in found.notes if one.name == "note_bought" and column in one.values["columns"])
    for paid in before:
        return {"bought": {kind: paid[kind] for kind in ("epsilon", "delta")}}
    named = any(one.name == "note_threshold" or (one.name == "note_keys" and column in one.values["columns"])
                for one in found.notes)  # fmt: skip
    return {"bought": dict(found.guarantees["adp"])} if named and "adp" in found.guarantees else {}


def _cell(found: Published, note: str, column: str) -> str | None:
    """Return what the cell of unlisted, or of missing, values of a column is called, if it has one."""
    return next((str(one.values["label"][0]) for one in found.notes
                 if one.name == note and column in one.values["columns"]), None)  # fmt: skip


def _means(found: Published, name: str, voice: Voice) -> Text:
    if name not in (*LEADING, *TRAILING):
        return voice.say("book_col_group")
    if name != "at":
        return voice.say(f"book_col_{name}", level=voice.exactly(Decimal(repr(found.level)) * BASE))
    kinds = set(found.arrow["statistic"].to_pylist())
    said = [voice.say(f"book_col_at_{kind}") for kind in ("proportion", "quantile") if kind in kinds]
    return tuple(part for i, text in enumerate(said) for part in (*((" ",) if i else ()), *text))


def _statistics_markdown(found: Published, request: Publish, voice: Voice) -> bytes:
    table = Label(found.output) if found.output else voice.say("book_table")
    facts = [] if request.publisher is None else [("book_publisher", request.publisher)]
    facts += [("book_source", _source(found, request)), ("book_date", found.created[:10])]
    lines = [f"# {_marked(voice.say('book_title', table=table))}", ""]
    lines += [f"- {_marked(voice.say(name))}: {_safe(value)}" for name, value in facts]
    lines += [f"- {_marked(voice.say('book_how_to_cite'))}: {_marked(_cite(found, request, voice))}", ""]
    lines += [f"## {_marked(voice.say('book_columns'))}", ""]
    for name in found.arrow.column_names:
        one = _statistics_column(found, name, voice)
        lines.append(f"- **{_safe(name)}**: {_safe(one['means'])}")
        for kind in ("values", "other", "missing_values"):
            given = one.get(kind.removesuffix("_values")) or []
            labels = voice.listed([given] if isinstance(given, str) else given, MOST_VALUES)
            lines += [f"  - {_marked(voice.say(f'book_{kind}', labels=labels))}"] if given else []
    for head, texts in (
        ("q_stat_read", reading(found, voice)),
        ("q_stat_use", using(found, voice)),
        ("stat_rest", [note_text(voice, note) for note in found.notes]),
    ):
        lines += ["", f"## {_marked(voice.say(head))}", "", *(f"- {_marked(text)}" for text in texts)]
    return "\n".join([*lines, ""]).encode()


def _section(receipt: Receipt, mechanism: Any, voice: Voice) -> list[str]:
    names = ", ".join(map(_safe, receipt.names_of(mechanism)))
    if isinstance(mechanism, FrequencyOracle):
        command = printable(book_column(receipt, mechanism, voice)["estimate"]["command"])
        said = (_marked(text) for text in book_texts(receipt, mechanism, voice))
        return [f"## {names}", "", " ".join(said), "", _marked(voice.say("book_estimate")), "", f"    {command}", ""]
    if isinstance(mechanism, MetricNoise):
        return [f"## {names}", "", _marked(placed.book_text(receipt, mechanism, voice)), ""]
    about = voice.say("book_about", columns=voice.listed(list(mechanism.columns)))
    channel = mechanism.channel
    matrix = channel.weights / 2.0**channel.bits
    known = {key_of(x) for x in channel.secrets}
    lines = [f"## {names}", "", _marked(about), ""]
    for j, one in enumerate(described(mechanism)):
        lines.append(f"- **{_safe(one['outcome'])}**: {_marked(_meaning(one, channel.outcomes[j], known, voice))}")
    lines += ["", *([] if mechanism.promise is None else [_marked(voice.say("book_spaced")), ""])]
    if receipt.null_as is not None:
        lines += [_marked(voice.say("book_missing", label=Label(str_of(receipt.null_as)))), ""]
    if len(matrix) <= MOST_TABLED and matrix.shape[1] <= 2 * MOST_TABLED:
        lines += [_marked(voice.say("book_matrix")), ""]
        heads = [_marked(voice.say("book_true")), *(_safe(str_of(y)) for y in channel.outcomes)]
        lines += [f"| {' | '.join(heads)} |", "|---|" + "---:|" * matrix.shape[1]]
        for x, row in zip(channel.secrets, matrix.tolist(), strict=True):
            lines.append(f"| {_safe(str_of(x))} | " + " | ".join(_hundredths(voice, p) for p in row) + " |")
        lines.append("")
    else:
        lines += [_marked(voice.say("book_matrix_elsewhere")), ""]
    told = _estimator(receipt, mechanism, matrix, voice)
    if told["possible"]:
        lines += [_marked(voice.say("book_estimate")), "", f"    {printable(told['command'])}", ""]
    else:
        lines += [_marked(voice.say("book_estimate_no")), ""]
    return lines


def _hundredths(voice: Voice, chance: float) -> str:
    """Return a chance in percent with two decimals; 0 and 100 only for what never and what always happens."""
    if chance in (0, 1):
        return voice.number(100 * chance, 2)
    return voice.number(min(max(100 * chance, 0.01), 99.99), 2)


def _meaning(one: dict[str, list[str]], outcome: Hashable, known: set[Hashable], voice: Voice) -> Text:
    most, up, gone = one["raises_most"], one["raises"], one["rules_out"]
    if not up:
        return voice.say("book_nothing")
    said = [voice.say("book_raises", labels=voice.listed(up, MOST_NAMED))]
    if len(most) < len(up) or key_of(outcome) in known:
        said.append(voice.say("book_raises_most", labels=voice.listed(most, MOST_NAMED)))
    if gone:
        said.append(voice.say("book_rules_out", labels=voice.listed(gone, MOST_NAMED)))
    return (*(part for i, text in enumerate(said) for part in (*(("; ",) if i else ()), *text)), ".")


def _marked(text: Text) -> str:
    """Return a text as Markdown: labels are shown as they are."""
    return "".join(_safe(part.text) if isinstance(part, Label) else part for part in text)


def _safe(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!~" else c for c in printable(text))
