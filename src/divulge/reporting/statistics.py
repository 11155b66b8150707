"""The statement about published statistics: one page in plain words, which may be public as the table is."""

import math
from typing import Any

from divulge.publishing.published import Published, odds, promise
from divulge.reporting.blocks import Block, Items, Rows, Section, Words
from divulge.reporting.page import as_page
from divulge.reporting.text import as_text


def sections(found: Published) -> tuple[Section, ...]:
    """Return the sections of the statement, the most important first."""
    made = (_published(found), _risk(found), _reading(found), _assumed(found), _noise(found))
    return tuple(section for section in made if section.blocks)


def page(found: Published) -> str:
    """Return the statement as one HTML page."""
    return as_page(about(found), sections(found))


def text(found: Published) -> str:
    """Return the statement as text."""
    return as_text(sections(found))


def about(found: Published) -> str:
    """Return what the statement is about."""
    return "a table of statistics" + (f" about {', '.join(found.columns)}" if found.columns else "")


def _published(found: Published) -> Section:
    kinds = {"rows": "counts", "values": "sums", "squares": "sums of squares", "ranks": "quantiles"}
    asked = sorted({kinds[query["kind"]] for query in found.queries})
    words: list[Block] = [
        Words(
            f"Every published number is the true one plus random noise (quantiles: a random choice near the true one). "
            f"Behind them are {', '.join(asked)} of {', '.join(found.columns) or 'the rows'}."
        ),
        Words(
            f"With probability {found.level:g} all intervals, from `low` to `high`, hold the true numbers at once."
        ),
        Words("This page and the table may be public. The file that ends in keeper.json may not."),
    ]  # fmt: skip
    return Section("published", "What was published", tuple(words))


def _risk(found: Published) -> Section:
    who = "one person" if found.protected["noun"] == "person" else "the person of one row"
    blocks: list[Block] = []
    given = found.guarantees
    if found.prior is not None and "pml" in given:
        p = found.prior["least"]
        after = min(1.0, p * math.exp(given["pml"]))
        base = 100 if p >= 0.01 else 10 ** math.ceil(-math.log10(p))
        blocks.append(
            Words(
                f"Take {who}, and {_secret(found)} of which every answer is known before to have a "
                f"probability of {p:g} or more. "
                f"Whatever is published, no answer becomes more than {odds(given['pml'])} as probable to anybody: "
                f"one that had "
                f"{p * base:.3g} in {base:,} before has at most {_up(after * base)} in {base:,} after."
            )
        )  # fmt: skip
        if "pmc" in given:
            blocks.append(Words(f"And no answer becomes less probable by a factor of more than {odds(given['pmc'])}."))
    if "dp" in given:
        change = (
            "is replaced by anybody else's" if found.protected["neighbors"] == "replaced" else "is left out or taken in"
        )
        data = "record" if found.protected["noun"] == "row" else "data"
        blocks.append(
            Words(
                f"If the {data} of {who} {change}, no set of tables becomes more than {odds(given['dp'])} as "
                "probable. That holds against somebody who knows everything else in the source."
            )
        )
    if "adp" in given:
        e, d = given["adp"]["epsilon"], given["adp"]["delta"]
        blocks.append(
            Words(
                f"If the data of {who} change, no set of tables becomes more than {odds(e)} as probable, "
                f"but for a slack of {d:g} in probability."
            )
        )
    for kind in ("zcdp", "rdp"):
        if kind in given:
            blocks.append(Words(f"It is {promise(kind, given[kind])} (concentrated, or Renyi, differential privacy)."))
    if math.isfinite(found.loss):
        blocks.append(
            Words(
                f"A second table of the same source adds to this: two like this one allow factors of "
                f"{odds(2 * found.loss)} where "
                f"this one allows {odds(found.loss)}."
            )
        )
    else:
        blocks.append(
            Words("A second table of the same source adds to this. No factor bounds every outcome of this noise.")
        )
    return Section("risk", f"What it tells about {who}", tuple(blocks))


def _secret(found: Published) -> str:
    secret = str((found.prior or {}).get("secret", ""))
    return "any question about them" if secret.startswith("anything") else f"the question of {secret}"


def _reading(found: Published) -> Section:
    lines = [
        "A number can be below 0, or a total unlike the sum of its parts: that is the noise.",
        "A cell whose interval holds 0 does not show that there is anybody in it.",
        "The noise says nothing about how the source came to be: that it is a sample, or that answers are wrong.",
    ]
    return Section("reading", "How to read the numbers", (Items(tuple(lines)),))


def _assumed(found: Published) -> Section:
    return Section("assumed", "What this rests on", (Items(found.told),))


def _noise(found: Published) -> Section:
    rows: list[tuple[Any, ...]] = []
    for query in found.queries:
        what = {"rows": "rows", "values": "sum of", "squares": "squares of", "ranks": "quantiles of"}[query["kind"]]
        name = f"{what} {query['column']}" if query["column"] else what
        if query["kind"] == "rows" and query["column"]:
            name = f"rows with one value of {query['column']}"
        law = "none: public" if not query["scale"] else _law(query)
        rows.append(
            (name, ", ".join(query["by"]) or "-", "-" if query["cells"] is None else f"{query['cells']:,}", law)
        )
    table = Rows(
        "What was asked of the table, and the noise", ("numbers", "by", "how many", "noise"), tuple(rows), (0, 1, 3)
    )
    promised = Words(
        "Promised: " + ", ".join(promise(kind, value) for kind, value in found.guarantees.items()) + " (nats)."
    )
    return Section("noise", "For statisticians", (promised, table))


def _law(query: Any) -> str:
    if query["kind"] == "ranks":
        name = "exponential" if query["family"] == "laplace" else "Gumbel"
        return f"{name} on rank scores, scale {query['scale']:.4g}"
    name = "discrete Laplace, scale" if query["family"] == "laplace" else "discrete Gaussian, sigma"
    step = f" steps of {query['step']:g}" if "step" in query else ""
    threshold = f", published from {query['threshold']:,} on" if "threshold" in query else ""
    return f"{name} {query['scale']:.4g}{step}{threshold}"


def _up(value: float) -> str:
    return f"{math.ceil(value * 100 - 1e-9) / 100:.4g}"
