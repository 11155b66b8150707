"""The pages on papers: every numbered item of the five papers behind the library, in the order of the paper."""

import re
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[1] / "docs" / "papers"
ITEMS = {
    "quantifying-privacy": """
        Definition 1, Definition 2, Theorem 1, Definition 3, Definition 4, Table I, Proposition 1, Proposition 2,
        Figure 1, Corollary 1, Corollary 2, Corollary 3, Example 1, Proposition 3, Corollary 4, Theorem 2, Theorem
        3, Corollary 5, Remark 1
    """,
    "information-density-bounds": """
        Definition 1, Definition 2, Definition 3, Definition 4, Definition 5, Definition 6, Remark 1, Proposition 1,
        Definition 7, Theorem 1, Remark 2, Remark 3, Theorem 2, Corollary 1, Definition 8, Proposition 2, Definition
        9, Definition 10, Definition 11, Example 1, Example 2, Theorem 3, Remark 4, Definition 12, Corollary 2,
        Lemma 1, Example 3, Example 4, Example 5, Example 6, Proposition 3, Theorem 4, Remark 5, Remark 6, Figure 1,
        Corollary 3, Corollary 4, Corollary 5, Theorem 5, Theorem 6, Lemma 2
    """,
    "explaining-epsilon": """
        Table I, Definition 1, Definition 2, Example 1, Lemma 1, Definition 3, Theorem 1, Theorem 2, Definition 4,
        Corollary 1, Theorem 3, Corollary 2, Lemma 2, Corollary 3, Lemma 3, Lemma 4
    """,
    "privacy-loss-variants": """
        Definition 13, Definition 14, Definition 15, Proposition 8, Definition 16, Definition 17, Proposition 9,
        Definition 18, Proposition 10, Definition 19
    """,
    "introducing-pml": "equation (1), Point 1, Point 2, Point 3, The definition",
}
LABEL = re.compile(r"(?:Definition|Theorem|Proposition|Corollary|Lemma|Remark|Example|Table|Figure|Point) [0-9I]+\b")


def in_bold(text: str) -> list[str]:
    """Return the labels of items in bold type, in order; "Definitions 8 and 9" would hide one, and are not read."""
    prose = " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    return LABEL.findall(" | ".join(re.findall(r"\*\*(.*?)\*\*", prose)))


@pytest.mark.parametrize("paper", [name for name in ITEMS if name != "introducing-pml"])
def test_every_item_of_a_paper_is_on_its_page_in_order(paper: str) -> None:
    expected = [" ".join(item.split()) for item in ITEMS[paper].split(",")]
    found = dict.fromkeys(in_bold((PAPERS / f"{paper}.md").read_text()))
    assert [item for item in found if item in expected] == expected


def test_the_points_of_the_post_are_on_its_page_in_order() -> None:
    text = (PAPERS / "introducing-pml.md").read_text()
    places = [text.index(item) for item in ITEMS["introducing-pml"].split(", ")]
    assert places == sorted(places)


def test_every_paper_is_in_the_contents() -> None:
    contents = (PAPERS / "index.md").read_text()
    assert {page.name for page in PAPERS.glob("*.md")} - {"index.md"} == set(re.findall(r"\(([a-z-]+\.md)\)", contents))
