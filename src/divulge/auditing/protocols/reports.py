"""Rows of a release through a frequency protocol: do reports support the values that they come from, as often as said?

P(S_z | z) <= e^epsilon P(S_z | x) for all values x, z of an epsilon-LDP protocol and any set of reports S_z. So rows
are put into pairs by chance, and of a pair with different values z and x the first report counts if it supports z,
and the second if it supports z as well. Pair by pair the first is at most e^epsilon times as probable as the second,
so their means are: two independent shares whose ratio bounds epsilon from below, whatever ran and however common
values are. Of the protocol that is said to have run both shares are known, and tested.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from divulge.auditing.audit import Audit, Known, Witness
from divulge.auditing.bounds import MEASURES, Bounds, Cells, refutable
from divulge.auditing.conformity import conformity
from divulge.errors import DivulgeError
from divulge.files.tables.table import open_table
from divulge.guarantees.guarantee import Guarantee
from divulge.model.channel import Channel
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.planning.plan import Faults
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.reports.decoding import refuse_foreign, supporting
from divulge.releasing.reports.part import ReportPart, read_reports, report_columns

SECRETS = ("its own value", "the value of another row")
OUTCOMES = ("is supported", "is not")

NOTES = (
    "of pairs of rows with different values, drawn by chance, one row tells how often a report supports its own value, "
    "the other how often it supports that of another row; rows are taken to be independent",
    "rows bound epsilon from below alone: no number of rows shows what a report of a million possible values tells at "
    "most, which the protocol does",
)


def audit_reports(
    data: Any,
    oracle: FrequencyOracle,
    secret: Sequence[str],
    released: Sequence[str],
    *,
    claim: Guarantee | None,
    null_as: Any,
    confidence: float,
) -> Audit:
    """Return the audit of rows that have a value and its report."""
    if claim is not None and claim.kind != "ldp":
        raise DivulgeError.of("claim", "be ldp, for reports of a protocol", "it", claim.kind,
                              "check decides others for the protocol itself.")  # fmt: skip
    if len(secret) != len(oracle.columns) or len(released) != 1:
        raise DivulgeError.of("released", "be the one column of reports, and secret the columns that they are about",
                              "they", "others")  # fmt: skip
    counts = _counted(data, oracle, secret, released[0], null_as)
    if not counts.sum():
        raise DivulgeError.of("data", "have rows with different values, to be compared", "it", "empty, or all alike")
    protocol = oracle.protocol
    p, q = protocol.p_star, protocol.q_star
    channel = Channel([[p, 1 - p], [q, 1 - q]], SECRETS, OUTCOMES)
    cells = Cells.of(counts, confidence, len(OUTCOMES))
    found = MEASURES["ldp"](cells)
    bounds = Bounds(found.estimate, found.lower, np.inf, found.outcome, found.secrets)
    fit = conformity(counts, SECRETS, OUTCOMES, channel, 1 - confidence)
    verdict = None if claim is None else claim.holds_for(protocol)
    witness = None
    if claim is not None and found.lower > float(claim.values()["epsilon"]):
        rows = tuple((int(counts[x, found.outcome]), int(counts[x].sum())) for x in found.secrets)
        named = tuple(SECRETS[x] for x in found.secrets)
        allowed = float(claim.values()["epsilon"])
        witness = Witness("ldp", OUTCOMES[found.outcome], named, rows, allowed, found.lower)
    broken = (verdict is not None and not verdict.holds) or (witness is not None and not fit.conforms)
    most = refutable(counts.sum(axis=1), cells.outcomes, confidence)
    return Audit(
        int(counts.sum()), confidence, {"ldp": bounds}, SECRETS, OUTCOMES, counts, claim, broken, witness,
        Known({"ldp": protocol.ldp}, fit, verdict), {"ldp": most["ldp"]}, NOTES,
    )  # fmt: skip


def _counted(data: Any, oracle: FrequencyOracle, secret: Sequence[str], released: str, null_as: Any) -> np.ndarray:
    """Return how many reports support, and do not support, their own value, and that of another row; shape (2, 2).

    Both are asked about the same values: of rows and of other rows drawn alike, what is common would be the own value
    oftener than another's, and reports that say nothing seem to tell. Of prefixes values are different that have not
    even the shortest one in common, so that reports of any length tell them apart.
    """
    part, columns = ReportPart.of(oracle, null_as), report_columns(oracle.protocol, released)
    source, faults = open_table(data), Faults()
    source.require_values([*secret, *columns])
    rng, counts = np.random.default_rng(), np.zeros((2, 2), dtype=np.int64)
    for batch in source.batches([*secret, *columns], list(secret)):
        coded = part.coded({own: dictionary_of(batch.column(name))
                            for own, name in zip(oracle.columns, secret, strict=True)})  # fmt: skip
        faults.add(tuple(secret), coded)
        if faults:
            continue
        codes = coded.rows.take(coded.where, axis=0)
        alike = codes.reshape(len(codes), -1)[:, 0]
        reports, seeds = read_reports(oracle.protocol, [batch.column(name) for name in columns])
        refuse_foreign(oracle.protocol, reports, seeds)
        order = rng.permutation(len(codes))
        pairs = order[: len(order) // 2 * 2].reshape(2, -1)
        own, other = pairs[:, alike[pairs[0]] != alike[pairs[1]]]
        for i, rows in enumerate((own, other)):
            hits = int(supporting(oracle.protocol, reports[rows], seeds[rows], codes[own]).sum())
            counts[i] += hits, len(rows) - hits
    faults.refuse()
    return counts
