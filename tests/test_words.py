"""One word, one thing: names that say as much about any result are given in one place, or nowhere."""

import re
from functools import cache
from pathlib import Path

import pytest

import divulge as dv

SOURCE = Path(dv.__file__).parent
ROWS = re.findall(
    r"^\| ([a-z, ]+) \| [^|]+ \| ([^|]*) \|$",
    (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text().partition("## Words")[2].partition("\n## ")[0],
    re.MULTILINE,
)
PLACES = {word: tuple(re.findall(r"`([^`]+)`", places)) for words, places in ROWS for word in words.split(", ")}


@cache
def names() -> list[tuple[str, str]]:
    """Return (where, name) of every function, method and class that is defined."""
    return [
        (path.relative_to(SOURCE).as_posix(), name.strip("_").lower())
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"^ *(?:async )?(?:def|class) (\w+)", path.read_text(), re.MULTILINE)
    ]


def test_the_table_has_the_words() -> None:
    assert {"told", "found", "measured", "plain"} <= set(PLACES)


@pytest.mark.parametrize("word", sorted(PLACES))
def test_a_word_names_one_thing(word: str) -> None:
    elsewhere = [
        where for where, name in names() if name == word and not where.startswith(PLACES[word] or ("nowhere",))
    ]
    assert not elsewhere, f"{word} is the name of something else in {elsewhere}"


@pytest.mark.parametrize("word", sorted(word for word, places in PLACES.items() if places))
def test_a_word_of_the_table_is_used_where_it_says(word: str) -> None:
    assert any(name == word and where.startswith(PLACES[word]) for where, name in names())


def test_whole_numbers_and_confidences_are_checked_in_one_place() -> None:
    own = re.compile(r'"be a whole number(?: of| from| that|, at)|not 0 < (?:confidence|base_rate) < 1')
    assert not [path for path in SOURCE.rglob("*.py") if own.search(path.read_text())], "model/entries.py has both"
