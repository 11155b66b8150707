"""Draw the frontier of a census column for the page on frontiers."""

import base64
import io
from typing import Any

import numpy as np

MARK = "<!-- frontier -->"


def frontier() -> str:
    """Return the picture of utility against PML on the column of education, with named mechanisms, as an image."""
    import divulge as dv
    from divulge.files import read_prior

    prior = read_prior(f"{dv.datasets.census_path()}:education")
    axes = dv.frontier(prior, dv.PML, np.linspace(0.05, 3, 25)).plot()
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format="svg")
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return f"![Mutual information against pointwise maximal leakage](data:image/svg+xml;base64,{encoded})"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return markdown.replace(MARK, frontier()) if page.file.src_path == "frontier.md" else markdown
