"""Show a report where a page says <!-- report -->."""

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
    return markdown.replace(MARK, example()._repr_html_()) if MARK in markdown else markdown
