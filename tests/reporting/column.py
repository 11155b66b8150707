"""The sentences of a statement about columns that hold numbers, and what each must be by the law of the draws."""

import math
import re
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from reporting.reading import Reader
from scipy.stats import norm

import divulge as dv
from divulge.reporting.statements.parts import Grid, Head, Para
from divulge.reporting.statements.voice import plain

Check = Callable[..., None]
TYPED = re.compile(r"[a-z-]+=\d[\d.:]*|\b[a-z-]+=[\d.]+/[a-z]+")
"""A promise as it is typed: in the language of commands."""

ODDS = 1e3
"""From this factor on a page says that there is no useful bound."""


def pages(statement: Any) -> tuple[Reader, list[list[list[str]]]]:
    """Return the sentences of a statement, and its tables."""
    said = [plain(part.text) for part in statement.parts if isinstance(part, (Head, Para))]
    grids = [[[plain(cell) for cell in row] for row in (part.header, *part.rows)]
             for part in statement.parts if isinstance(part, Grid)]  # fmt: skip
    return Reader(" ".join(said)), grids


def numbers(text: str) -> list[float]:
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d.,]*(?<![.,])(?:[eE][-+]?\d+)?", text)]


def same_in_german(receipt: Any) -> None:
    """Part by part the German page has the numbers of the English one, with commas where points are."""
    swap = str.maketrans(".,", ",.")
    pairs = [dv.statement(receipt, language).parts for language in ("en", "de")]
    assert [type(part) for part in pairs[0]] == [type(part) for part in pairs[1]]
    for one, other in zip(*pairs, strict=True):
        if isinstance(one, (Head, Para)):
            assert isinstance(other, (Head, Para))
            told = [TYPED.sub("", plain(one.text)), TYPED.sub("", plain(other.text)).translate(swap)]
            assert set(numbers(told[0])) == set(numbers(told[1])), told
        elif isinstance(one, Grid):
            assert isinstance(other, Grid)
            for left, right in zip((one.header, *one.rows), (other.header, *other.rows), strict=True):
                for a, b in zip(left, right, strict=True):
                    assert set(numbers(plain(a))) == set(numbers(plain(b).translate(swap))), (plain(a), plain(b))


def up(said: float, true: float, step: float) -> None:
    """Assert that a number is rounded up, by less than one step of its last digit."""
    assert true * (1 - 1e-9) - 1e-12 <= said <= true + step + 1e-9 * true, (said, true)


def factor(said: float, true: float) -> None:
    """Assert that a factor has three digits, rounded up."""
    up(said, true, 10.0 ** min(0, math.floor(math.log10(true)) - 2))


def after(before: float, ratio: float) -> float:
    return before * ratio / (before * ratio + 1 - before)


def common(ratio: float) -> dict[str, Check]:
    """Return sentence -> what its numbers must be, where all that is said changes odds by so much at most."""

    def figures(*said: float) -> None:
        for before, then in ((said[0], said[1]), (said[2], said[3]), (said[4], said[5])):
            up(then, 100 * after(before / 100, ratio), 0.1)
        assert said[::2] == (1, 10, 50)

    def rows(two: float, twice: float, six: float, often: float) -> None:
        assert (two, six) == (2, 6)
        factor(twice, ratio**2)
        factor(often, ratio**6)

    def two_rows(two: float, twice: float, six: float) -> None:
        assert (two, six) == (2, 6)
        factor(twice, ratio**2)
        assert ratio**6 >= ODDS

    def second(twice: float, once: float) -> None:
        factor(twice, ratio**2)
        factor(once, ratio)

    return {
        "a chance of # in 100 becomes at most # in 100, # become at most #, and # at most #.": figures,
        "About a person with # rows the odds may change by # times, and with # rows by # times.": rows,
        "About a person with # rows the odds may change by # times, and with # rows there is no useful": two_rows,
        "The bound of # times holds for everybody": lambda times: factor(times, ratio),
        "the odds may have changed by # times in place of # times.": second,
    }


class Column:
    """The law of one column, P(said | true), and what follows from it by the definitions."""

    def __init__(
        self, law: np.ndarray, names: list[str], outcomes: list[str], *, rows: int, per_person: int = 1
    ) -> None:
        self.law, self.names, self.outcomes, self.rows, self.times = law, names, outcomes, rows, per_person
        self.own = np.array([law[i, outcomes.index(name)] for i, name in enumerate(names)])
        self.place = [outcomes.index(name) for name in names]
        self.rises = (law / law.min(axis=0)).max(axis=1) ** per_person
        self.ratio = float(self.rises.max())

    def delta(self, epsilon: float) -> float:
        return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a in self.law for b in self.law)

    def checks(self, together: float | None = None) -> dict[str, Check]:
        """Return sentence -> what its numbers must be; `together` is the factor of all columns of the page."""
        ratio = self.ratio if together is None else together
        own, n = self.own, len(self.law)
        index = np.arange(n)
        columns = self.law[:, self.place].copy()
        columns[index, index] = -1
        surely = float((own / columns.max(axis=0)).min())

        worst = [name for name, rise in zip(self.names, self.rises, strict=True) if rise > self.ratio * (1 - 1e-6)]

        def can(times: float) -> None:
            assert 0 <= surely - times < 0.01

        def same(changed: float, kept: float) -> None:
            assert (changed, kept) == (round(1000 * (1 - own.min())), round(1000 * own.max()))
            assert np.ptp(own) < 0.0005

        def apart(low: float, high: float) -> None:
            assert (low, high) == (math.floor(1000 * own.min() + 1e-9), math.ceil(1000 * own.max() - 1e-9))

        def kept(most: float) -> None:
            assert most == math.ceil(1000 * own.max() - 1e-9)

        return {
            "of 1,000 people, # appear with an answer that is not theirs, and # with their own.": same,
            "of 1,000 people with the same true answer, between # and # appear with their own answer": apart,
            "any other answer that is more than # times as frequent is still likelier": lambda times:
                factor(times, surely),
            "another answer that is more than # times as frequent can still be likelier": can,
            "the own answer was kept for at most # of 1,000 people": kept,
            "Whoever sees it may change their odds about you by # times": lambda times: factor(times, self.ratio),
            "For every one of these answers the odds change by # times at most": lambda times:
                factor(times, self.ratio),
            f"these true answers: {listed(worst)}, by # times at most.": lambda times: factor(times, self.ratio),
            **common(ratio),
            **self._counted(),
        }  # fmt: skip

    def _counted(self) -> dict[str, Check]:
        """Return what is said of small groups: held against tables that are drawn, with estimates by the inverse."""

        def close(rows: float, off: float, most: float, none: float) -> None:
            assert (rows, none) == (self.rows, off)
            for share, said in ((0.0, off), (0.5, most)):
                spread = self._spread(share)
                width = norm.isf(0.025 / len(self.law)) * spread
                assert width * 0.9 < said < width * 1.6, (share, said, width)
            assert off <= most

        words = "From these # rows, how many {} a rare true answer can be estimated to within about # {}, and how many "
        tail = "a frequent one to within about # (19 times in 20, for all answers at once). A group {} # {} or fewer"
        person = words.format("people have", "people") + tail.format("of", "people")
        row = words.format("rows belong to people with", "rows") + "to people with " + tail.format("with", "rows")
        return {person.replace("many a", "many have a"): close, row: close}

    def _spread(self, share: float) -> float:
        """Return one standard deviation of the estimated number of people with an answer, of the answer worst off."""
        n, inverse, worst = len(self.law), np.linalg.pinv(self.law), 0.0
        for x in range(n):
            shares = np.full(n, (1 - share) / (n - 1))
            shares[x] = share
            seen = shares @ self.law
            worst = max(worst, float(seen @ inverse[:, x] ** 2 - (seen @ inverse[:, x]) ** 2))
        return math.sqrt(self.rows * worst)

    def tables(self, grids: Iterable[list[list[str]]], prior: np.ndarray | None = None) -> None:
        """Assert what the tables of before and after say; `prior` is the public source that is told of."""
        for header, *rows in grids:
            if header[0].startswith("If so many"):
                self._common(rows)
            elif header[0] == "True answer":
                self._rise(rows)
            elif header[0] == "The row says":
                assert prior is not None
                self._by_source(rows, prior)

    def _common(self, rows: list[list[str]]) -> None:
        n, own = len(self.law), self.own
        columns = self.law[:, self.place].copy()
        index = np.arange(n)
        columns[index, index] = np.inf
        least = columns.min(axis=0)
        columns[index, index] = -np.inf
        most = columns.max(axis=0)
        assert len(rows) == (5 if n > 2 else 4)
        for level, true, likely in rows:
            p = 1 / n if abs(float(level) * n - 1000) < n else float(level) / 1000
            up(float(true), float((1000 * after_each(p, own, least)).max()), 1)
            sure = bool((own * p >= (1 - p) * most * (1 - 1e-9)).all())
            never = bool((own * p < (1 - p) / (n - 1) * least * (1 + 1e-9)).all()) if n > 1 else False
            assert (likely == "the said answer") == sure, (level, likely)
            if likely == "another answer":
                assert never

    def _by_source(self, rows: list[list[str]], prior: np.ndarray) -> None:
        joint = prior[:, None] * self.law
        truth = joint / joint.sum(axis=0)
        assert [row[0] for row in rows] == self.outcomes
        for said, before, now, most in rows:
            i, j = self.names.index(said), self.outcomes.index(said)
            assert float(before) == pytest.approx(1000 * prior[i], abs=0.05)
            assert float(now) == pytest.approx(1000 * truth[i, j], abs=0.05 + 1e-9)
            best = int(truth[:, j].argmax())
            assert most == f"“{self.names[best]}”: {round(1000 * truth[best, j])}"

    def _rise(self, rows: list[list[str]]) -> None:
        told = dict[str, float]()
        for who, before, then, _ in rows:
            names = self.names if who == "every true answer alike" else re.findall("“([^”]*)”", who)
            p = float(before) / 1000
            for name in names:
                true = 1000 * after(p, float(self.rises[self.names.index(name)]))
                up(float(then.replace(",", "")), true, 1)
                told[name] = p
        assert set(told) == set(self.names)


def listed(names: list[str]) -> str:
    return " and ".join(", ".join(f"“{name}”" for name in part) for part in (names[:-1], names[-1:]) if part)


def after_each(p: float, own: np.ndarray, other: np.ndarray) -> np.ndarray:
    return own * p / (own * p + (1 - p) * other)


def read_all(read: Reader, checks: dict[str, Check], needed: int) -> None:
    """Read sentences that are there, hold each against its law, and assert that no number is left."""
    seen = 0
    for sentence, check in checks.items():
        for found in read.any(sentence):
            check(*found)
            seen += 1
    assert seen >= needed, seen
    assert not re.search(r"\d", read.left), re.findall(r".{60}\d.{60}", read.left)


def subsets(m: int) -> list[list[int]]:
    return [list(one) for size in range(1, m) for one in combinations(range(m), size)]
