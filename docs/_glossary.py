"""Fill the glossary from its table."""

from typing import Any

from divulge.glossary import GLOSSARY, Term


def _row(term: Term) -> str:
    names = ", ".join(f"`dv.{name}`" for name in term.names)
    symbol = f"${term.symbol}$".replace("\\mid", "\\vert") if term.symbol else ""
    return f"| {term.papers} | {symbol} | {names} | {term.source} |"


def glossary() -> str:
    """Return the tables, one a subject."""
    head = "| in papers | symbol | here | source |\n|---|---|---|---|"
    return "\n\n".join(f"## {title}\n\n{head}\n" + "\n".join(map(_row, rows)) for title, rows in GLOSSARY.items())


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return markdown.replace("<!-- glossary -->", glossary()) if page.file.src_path == "glossary.md" else markdown
