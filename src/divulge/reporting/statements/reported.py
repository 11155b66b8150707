"""What a statement and a codebook tell of reports of a frequency protocol: no matrix, every number by a closed form."""

import math
from decimal import ROUND_CEILING
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from divulge import exact
from divulge.protocols.information import most_information
from divulge.protocols.record import to_dict
from divulge.protocols.sets.prefixes import Prefixes
from divulge.releasing.estimating.intervals import clopper_pearson, of_sample
from divulge.releasing.planning.naming import str_of
from divulge.releasing.records.ran.oracle import FrequencyOracle, family
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.part import report_columns
from divulge.reporting.statements import telling
from divulge.reporting.statements.facts import WithoutMatrix
from divulge.reporting.statements.parts import Grid, Head, Para, Part
from divulge.reporting.statements.promised import times
from divulge.reporting.statements.voice import BASE, Text, Voice, plain

CANDIDATES = 1000
"""For so many answers at once it is said how far estimates are off, where there is no list."""

RISK = 0.05
"""Intervals miss once in twenty times, all together."""


class ReportFacts(WithoutMatrix):
    """What is told of a protocol, computed from what is public."""

    mechanism: FrequencyOracle

    @property
    def asked_for(self) -> int:
        """How many answers are estimated at once."""
        return CANDIDATES if self.mechanism.protocol.of_text else self.mechanism.protocol.size

    @cached_property
    def off(self) -> tuple[float, float]:
        """How many rows the estimate of a small group, and of any group, may be off by, at the expected supports."""
        protocol, rows = self.mechanism.protocol, self.rows
        if not rows:
            return math.inf, math.inf
        p, q = float(protocol.p_star), float(protocol.q_star)

        sample = max(1, rows // protocol.sets.levels)  # the rows that tell of a whole answer, if it is a long one
        halved = sample < rows

        def off(share: np.ndarray) -> np.ndarray:
            hits = np.rint(sample * (share * p + (1 - share) * q)).astype(np.int64)
            low, high = clopper_pearson(hits, np.full(len(hits), sample), RISK / (1 + halved) / self.asked_for)
            seen, low, high = ((one - q) / (p - q) for one in (hits / sample, low, high))
            if halved:
                low, high = of_sample(low, high, sample, RISK / 2)
            return np.maximum(high - seen, seen - low) * rows

        small = off(np.zeros(1))
        for _ in range(3):  # a group as large as what it takes to be told from nobody
            small = np.maximum(small, off(np.minimum(small / rows, 1.0)))
        return float(small[0]), float(max(small[0], off(np.linspace(0, 1, 65)).max()))


def of_column(receipt: Receipt, oracle: FrequencyOracle, voice: Voice) -> list[Part]:
    """Return what is to be told of reports: the promise first, then the questions of a reader."""
    facts = ReportFacts(oracle, receipt.rows)
    made = (_lead, telling.promise, telling.before_using, _occurs, _means, _rise, telling.knows, _count, telling.second,
            telling.public, _risk, _worried, telling.not_promised, _technical)  # fmt: skip
    return telling.told_by(made, facts, receipt, voice)


def _lead(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    protocol = facts.mechanism.protocol
    own, other = (voice.number(round(float(share) * BASE, 1), 1) for share in (protocol.p_star, protocol.q_star))
    return [Para(voice.say("reports_lead", own=own, other=other), "warn"), Para(voice.say("reports_words"))]


def _occurs(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    protocol = facts.mechanism.protocol
    said = voice.say("reports_occur_any")
    if isinstance(protocol.sets, Prefixes):
        said = voice.say("reports_occur_prefix", length=voice.number(protocol.sets.lengths[-1], 0))
    elif not protocol.of_text:
        said = voice.say("reports_occur", count=voice.number(protocol.size, 0))
    return [Head(voice.say("q_occurs")), Para(said)]


def _means(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    found: list[Part] = [Head(voice.say("q_means")), Para(voice.say("reports_mean"))]
    levels = facts.mechanism.for_a_person
    for kind, name in (("pml", "reports_source_up"), ("pmc", "reports_source_down")):
        if kind in levels and facts.mechanism.assumed.public:
            found.append(Para(voice.say(name, times=times(voice, math.exp(levels[kind])))))
    return found


def _rise(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    factor, rows = facts.factor, list[tuple[Text, ...]]()
    for level in telling.COMMON:
        p = level / BASE
        after = factor * p / (factor * p + 1 - p) if math.isfinite(factor) else 1.0
        count = min(max(math.ceil(after * BASE - 1e-9), level + 1), BASE)
        rows.append(((voice.number(level, 0),), (voice.number(count, 0),)))
    header = (voice.say("t_from"), voice.say("t_to"))
    note = voice.say("reports_rise_note", times=times(voice, factor))
    return [Head(voice.say("q_rise")), Grid(header, tuple(rows), ()), Para(note)]


def _count(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    off, most = facts.off
    rows = voice.number(receipt.rows, 0)
    if off >= receipt.rows:
        said = voice.say("count_never", rows=rows)
    else:
        small, any_size = (voice.number(min(math.ceil(v), receipt.rows), 0) for v in (off, most))
        said = voice.say("count_yes", off=small, most=any_size, rows=rows)
    asked = voice.say("reports_candidates", count=voice.number(facts.asked_for, 0))
    return [Head(voice.say("q_count")), Para(said), Para(asked), Head(voice.say("q_number")), Para(voice.say("number"))]


def _risk(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_risk")), Para(voice.say("risk_all")), Para(voice.say("risk_guess"))]


def _worried(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    name = "reports_worried" if facts.helpful else "reports_worried_useless"
    return [Head(voice.say("q_worried")), Para(voice.say(name, times=times(voice, facts.factor)))]


def _technical(facts: ReportFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    oracle, protocol = facts.mechanism, facts.mechanism.protocol
    head, *found = telling.technical(facts, receipt, voice)
    said = [voice.say("reports_technical", protocol=protocol.name, times=times(voice, float(protocol.ratio)))]
    if isinstance(protocol.sets, Prefixes):
        said.append(voice.say("reports_levels", count=voice.number(protocol.sets.levels, 0)))
    if protocol.hashed:
        said.append(voice.say("reports_hash", family=family(protocol)))
    bits = voice.rounded(most_information(protocol) / math.log(2), ROUND_CEILING)
    capacity = voice.rounded(exact.as_float(protocol.a), ROUND_CEILING)
    said.append(voice.say("reports_bits", bits=bits, capacity=capacity))
    if oracle.prior is not None and oracle.assumed.public:
        told_of = protocol.mutual_information(oracle.prior, "bits").upper
        said.append(voice.say("reports_bits_source", bits=voice.rounded(told_of, ROUND_CEILING)))
    return [head, *map(Para, said), *found]


def book_column(receipt: Receipt, oracle: FrequencyOracle, voice: Voice) -> dict[str, Any]:
    """Return what the codebook for programs says of a column of reports."""
    protocol, (name,) = oracle.protocol, receipt.names_of(oracle)
    table = receipt.output or "TABLE"
    listed = "CANDIDATES.txt" if len(oracle.columns) == 1 else "CANDIDATES.json"
    more = f" --values {listed}" if protocol.of_text and not isinstance(protocol.sets, Prefixes) else ""
    return {
        "names": report_columns(protocol, name),
        "about": list(oracle.columns),
        "missing_is": None if receipt.null_as is None else str_of(receipt.null_as),
        "protocol": to_dict(protocol) | {name: value for name, value in oracle.to_dict().items()
                                         if name in ("hash", "key")},
        "estimate": {
            "possible": True,
            "formula": plain(_formula(protocol, voice)),
            "p": float(protocol.p_star),
            "q": float(protocol.q_star),
            "command": f"divulge estimate {table} --receipt {Path(table).stem}.receipt.json{more}",
            "python": "divulge.estimate_frequencies(table, receipt, values=candidates)" if more else
            "divulge.estimate_frequencies(table, receipt)",
        },
    }  # fmt: skip


def book_texts(receipt: Receipt, oracle: FrequencyOracle, voice: Voice) -> list[Text]:
    """Return what the codebook for readers says of a column of reports."""
    protocol, (name,) = oracle.protocol, receipt.names_of(oracle)
    said = [voice.say("book_reports", columns=voice.listed(list(oracle.columns)), protocol=protocol.name)]
    if len(oracle.columns) > 1:
        said.append(voice.say("book_report_together"))
    said.append(voice.say("book_report_columns", columns=voice.listed(report_columns(protocol, name))))
    searched = "book_report_prefixes" if isinstance(protocol.sets, Prefixes) else "book_report_candidates"
    return [*said, *([voice.say(searched)] if protocol.of_text else [])]


def _formula(protocol: Any, voice: Voice) -> Text:
    if not isinstance(protocol.sets, Prefixes):
        return voice.say("book_report_formula")
    return voice.say("book_report_formula_prefix", length=voice.number(protocol.sets.lengths[-1], 0))
