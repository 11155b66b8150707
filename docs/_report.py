"""Show a report where a page says <!-- report -->; with DIVULGE_DRAFT an empty frame."""

import os

import divulge as dv

MARK = "<!-- report -->"


def example() -> dv.results.Report:
    """Return the report on race, asked by randomized response."""
    race = dv.Prior.from_column(dv.datasets.census("race"))
    asked = dv.mechanisms.randomized_response(race, epsilon=1.0)
    source = "the bundled census"
    about = "race, asked by randomized response,"
    return dv.report(asked, prior=race, guarantees=["ldp=1"], about=about, prior_source=source)


def on_page_markdown(markdown: str, **_: object) -> str:
    if MARK not in markdown:
        return markdown
    draft = os.environ.get("DIVULGE_DRAFT")
    return markdown.replace(MARK, '<iframe title="A report"></iframe>' if draft else example()._repr_html_())
