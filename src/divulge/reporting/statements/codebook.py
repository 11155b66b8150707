"""The codebook of a release: what each outcome means, how to use it, how to estimate, and the channel."""

import json
from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge.model.prior import Prior
from divulge.model.shown import printable
from divulge.releasing.drawing.coding import key_of
from divulge.releasing.estimating.estimate import rank, right_inverse
from divulge.releasing.planning.naming import raised, str_of
from divulge.releasing.records.receipt import Mechanism, Receipt

FORMAT = "divulge codebook 1"
MOST_INVERTED = 100
"""Up to so many values the codebook holds the matrix of the estimator itself."""
MOST_TABLED = 12
"""Up to so many values the readable codebook has a table of the channel."""

USE = (
    "A value in this column was drawn at random from its row of the channel: it is often not the true one. Do not use "
    "a single row as a fact about a person.",
    "Counts of this column are not counts of true values. Estimate these from all rows, as below.",
    "Rows that are put together by this column, or averages by it, are blurred: estimate with the channel, by group.",
)


def described(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Return, for each outcome, which values it makes likelier, which most, and which it rules out."""
    channel = mechanism.channel
    matrix, weights = channel.weights / 2.0**channel.bits, channel.weights
    prior = mechanism.assumed.prior if mechanism.assumed.public else None
    shares = (Prior.uniform(list(channel.secrets)) if prior is None else prior).floats
    up, found = raised(matrix, shares), list[dict[str, Any]]()
    for j, outcome in enumerate(channel.outcomes):
        column = weights[:, j]
        found.append({
            "outcome": str_of(outcome),
            "raises": _names(channel.secrets, up[:, j]),
            "raises_most": _names(channel.secrets, column == column.max()),
            "rules_out": _names(channel.secrets, column == 0),
        })  # fmt: skip
    return found


def _names(labels: Any, chosen: np.ndarray) -> list[str]:
    return [str_of(x) for x, is_in in zip(labels, chosen.tolist(), strict=True) if is_in]


def as_json(receipt: Receipt) -> bytes:
    """Return the codebook as a JSON file."""
    return (json.dumps(as_data(receipt), ensure_ascii=False, allow_nan=False) + "\n").encode()


def as_data(receipt: Receipt) -> dict[str, Any]:
    """Return the codebook as plain data."""
    return {
        "format": FORMAT,
        "table": receipt.output,
        "rows": receipt.rows,
        "columns": [_column(receipt, mechanism) for mechanism in receipt.mechanisms],
        "unaltered": list(receipt.untouched),
        "how_to_use": list(USE),
        "warnings": list(receipt.warnings),
    }


def _column(receipt: Receipt, mechanism: Mechanism) -> dict[str, Any]:
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
            "reads": "matrix[i][j] is the chance that outcome j is published where the true value is i",
        },
        "estimate": _estimator(receipt, mechanism, matrix),
    }


def _estimator(receipt: Receipt, mechanism: Mechanism, matrix: np.ndarray) -> dict[str, Any]:
    n = len(matrix)
    if rank(matrix) < n:
        return {"possible": False, "why": "the channel does not tell how frequent each value was"}
    found: dict[str, Any] = {
        "possible": True,
        "formula": "true shares = shares of outcomes x estimator; the estimator is a right inverse of the channel",
        "command": f"divulge estimate {receipt.output or 'TABLE'} --receipt RECEIPT",
        "python": "divulge.estimate_frequencies(table, receipt)",
    }
    if n <= MOST_INVERTED:
        found["estimator"] = right_inverse(mechanism.channel.exact).tolist()
    return found


def as_markdown(receipt: Receipt) -> bytes:
    """Return the codebook for reading, in Markdown."""
    lines = [f"# Codebook of {_safe(receipt.output or 'the released table')}", ""]
    for mechanism in receipt.mechanisms:
        lines += _section(receipt, mechanism)
    if receipt.untouched:
        lines += ["## Other columns", "", "Unaltered: " + ", ".join(map(_safe, receipt.untouched)) + ".", ""]
    lines += ["## How to use it", "", *(f"- {text}" for text in USE), ""]
    return "\n".join(lines).encode()


def _section(receipt: Receipt, mechanism: Mechanism) -> list[str]:
    names = ", ".join(map(_safe, receipt.names_of(mechanism)))
    about = ", ".join(map(_safe, mechanism.columns))
    channel = mechanism.channel
    matrix = channel.weights / 2.0**channel.bits
    known = {key_of(x) for x in channel.secrets}
    lines = [f"## {names}", "", f"Answers about {about}, changed at random. What an entry means:", ""]
    for j, one in enumerate(described(mechanism)):
        lines.append(f"- **{_safe(one['outcome'])}**: " + _meaning(one, channel.outcomes[j], known))
    lines.append("")
    if len(matrix) <= MOST_TABLED:
        lines += ["How often, in percent, each entry is published (column) where the true value is the row:", ""]
        lines.append("| true value | " + " | ".join(_safe(str_of(y)) for y in channel.outcomes) + " |")
        lines.append("|---|" + "---:|" * matrix.shape[1])
        for x, row in zip(channel.secrets, matrix.tolist(), strict=True):
            lines.append(f"| {_safe(str_of(x))} | " + " | ".join(f"{100 * p:.2f}" for p in row) + " |")
        lines.append("")
    else:
        lines += ["How often each entry is published for each true value stands in the JSON codebook.", ""]
    told = _estimator(receipt, mechanism, matrix)
    if told["possible"]:
        lines += ["How frequent each true value was can be estimated from all rows:", "", f"    {told['command']}", ""]
    else:
        lines += ["How frequent each true value was cannot be estimated from this column.", ""]
    return lines


def _meaning(one: dict[str, list[str]], outcome: Hashable, known: set[Hashable]) -> str:
    most, up, gone = one["raises_most"], one["raises"], one["rules_out"]
    if not up:
        return "says nothing about the true value."
    said = [f"makes likelier than before: {_listed(up)}"]
    if len(most) < len(up) or key_of(outcome) in known:
        said.append(f"most: {_listed(most)}")
    if gone:
        said.append(f"rules out: {_listed(gone)}")
    return "; ".join(said) + "."


def _listed(names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(_safe, names[:most])) + more


def _safe(text: str) -> str:
    """Return text that Markdown shows as it is."""
    plain = printable(text)
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|!~" else c for c in plain)
