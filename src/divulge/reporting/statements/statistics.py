"""The statement about published statistics: one page in plain words, which may be public as the table is."""

import math
from typing import Any

from divulge.publishing.published import Published, odds, promise
from divulge.reporting.blocks import Block, Items, Rows, Section, Words
from divulge.reporting.page import as_page
from divulge.reporting.text import as_text


def sections(found: Published) -> tuple[Section, ...]:
    """Return the sections of the statement, the most important first."""
    made = (_published(found), _risk(found), _reading(found), _questions(found), _assumed(found), _noise(found))
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
            "Every published number is the true one plus random noise (quantiles: a random choice near the true one). "
            f"Behind them are {', '.join(asked)} of {', '.join(found.columns) or 'the rows'}."
        ),
        Words("This page and the table may be public. The file that ends in keeper.json may not."),
    ]
    return Section("published", "What was published, and may this be public?", tuple(words))


def _risk(found: Published) -> Section:
    who = _who(found)
    blocks: list[Block] = []
    given = found.guarantees
    if found.prior is not None and "pml" in given:
        p = found.prior["least"]
        after = min(1.0, p * math.exp(given["pml"]))
        base = 100 if p >= 0.01 else 10 ** math.ceil(-math.log10(p))
        blocks.append(
            Words(
                f"Take {who}, and {_secret(found)} of which every answer is known before to have a probability "
                f"of {p:g} "
                f"or more. Whatever is published, no answer becomes more than {odds(given['pml'])} as probable to "
                f"anybody: one that had {p * base:.3g} in {base:,} before has at most {_up(after * base)} in "
                f"{base:,} after."
            )
        )  # fmt: skip
        if "pmc" in given:
            blocks.append(Words(f"And no answer becomes less probable by a factor of more than {odds(given['pmc'])}."))
    if "dp" in given:
        change = "is replaced by anybody else's" if found.protected["neighbors"] == "replaced" else "is there or not"
        data = "record" if found.protected["noun"] == "row" else "data"
        blocks.append(
            Words(
                f"Whether the {data} of {who} {change}: no set of tables becomes more than {odds(given['dp'])} "
                f"as probable."
            )
        )
    if "adp" in given:
        e, d = given["adp"]["epsilon"], given["adp"]["delta"]
        blocks.append(
            Words(
                f"If the data of {who} change, no set of tables becomes more than {odds(e)} as probable, but "
                f"for a slack "
                f"of {d:g} in probability."
            )
        )
    for kind in ("zcdp", "rdp"):
        if kind in given:
            blocks.append(Words(f"It is {promise(kind, given[kind])} (concentrated, or Renyi, differential privacy)."))
    blocks.append(Words("All this holds against somebody who knows everything else in the source."))
    if found.loss <= _USEFUL:
        blocks.append(_beliefs(found.loss))
    return Section("risk", f"What does it tell about {who}?", tuple(blocks))


_USEFUL = 20.0
"""Up to this loss a factor says something."""


def _who(found: Published) -> str:
    return "one person" if found.protected["noun"] == "person" else "the person of one row"


def _beliefs(loss: float) -> Rows:
    """Return how far beliefs of some sizes can move: p / (p + (1 - p) e^-loss) at most, with e^loss at least."""
    rows: list[tuple[str, str, str]] = []
    for p, base in ((0.001, 1000), (0.01, 100), (0.1, 100), (0.5, 100)):
        most, least = (p / (p + (1 - p) * math.exp(sign * loss)) * base for sign in (-1, 1))
        rows.append((f"{p * base:g} in {base:,}", f"{_up(most)} in {base:,}", f"{_down(least)} in {base:,}"))
    return Rows(
        "How probable an answer about one person is: the rarer it is, the larger the factor by which it may rise",
        ("before", "after, at most", "after, at least"), tuple(rows), (0,),
    )  # fmt: skip


def _secret(found: Published) -> str:
    secret = str((found.prior or {}).get("secret", ""))
    return "any question about them" if secret.startswith("anything") else f"the question of {secret}"


def _questions(found: Published) -> Section:
    """Answer what else a reader asks first."""
    lines = [
        "Who is at most risk? The noise treats everybody alike; the table above says what it means for rare and "
        "for common "
        "answers.",
        "How many are in a group? This page does not tell; the table does, between low and high.",
    ]
    if math.isfinite(found.loss):
        lines.append(
            f"What does a second table like this do? Both together allow factors of {odds(2 * found.loss)} where one "
            f"allows {odds(found.loss)}."
        )
        lines.append(
            "What to tell a worried person? Had you answered something else, every published table would have been as "
            f"probable, but for a factor of at most {odds(found.loss)}."
        )
    else:
        lines.append("What does a second table do? It adds to this. No factor bounds every outcome of this noise.")
    return Section("questions", "What else one asks", (Items(tuple(lines)),))


def _reading(found: Published) -> Section:
    counts = [query for query in found.queries if query["kind"] == "rows" and query.get("half_width") is not None]
    lines = [f"With probability {found.level:g} all intervals, from low to high, hold the true numbers at once."]
    if counts:
        width = max(query["half_width"] for query in counts)
        lines.append(
            f"Can a small group be counted? A count is off by {width:,} at most, with that probability: up to there an "
            "interval can hold 0, and does not show that there is anybody in a cell."
        )
    lines += [
        "A number can be below 0, or a total unlike the sum of its parts: that is the noise.",
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


def _down(value: float) -> str:
    return f"{math.floor(value * 100 + 1e-9) / 100:.4g}"
