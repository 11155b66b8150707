"""Turn the formulas of a page, $...$ in its source, into MathML, which browsers draw without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


_SPACED = {
    "<mi>log</mi>": '<mi>log</mi><mspace width="0.17em"/>',
    "<mi>exp</mi>": '<mi>exp</mi><mspace width="0.17em"/>',
    "<mo>&#x0221E;</mo>": "<mi>&#x221E;</mi>",
}
"""What the converter sets too tight or too wide."""


def _drawn(found: re.Match[str]) -> str:
    drawn = convert(html.unescape(found[2]), display="inline" if found[1] == "span" else "block")
    for tag, better in _SPACED.items():
        drawn = drawn.replace(tag, better)
    return drawn


def on_page_content(content: str, **_: Any) -> str:
    return _FORMULA.sub(_drawn, content)
