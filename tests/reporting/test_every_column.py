"""Every number of the statements about columns, of every kind of promise, against the law of the draws."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from reporting.column import Check, Column, factor, pages, read_all, same_in_german, subsets, up
from scipy.stats import norm

import divulge as dv
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.reporting.statements.parts import Head
from divulge.reporting.statements.voice import plain

N = 600
ANSWERS = ["none", "HIV", "flu"]
TABLE = pa.table({
    "faith": [("none", "none", "none", "HIV", "flu")[i % 5] for i in range(N)], "g": ["a", "b", "c"] * (N // 3),
    "sex": ["f", "m", "m"] * (N // 3), "who": [i // 2 for i in range(N)],
    "town": [("x", "y", "x", "y", "y", "x", "x")[(i % 5) + (i % 7 == 0)] for i in range(N)],
})  # fmt: skip


NAMES = ("“faith_perturbed”", "“sex_perturbed”")


@dataclass
class Parts:
    """A part of a statement."""

    parts: list[Any]


def plain_of(part: Any) -> str:
    return plain(part.text) if isinstance(part, Head) else ""


def released(**asked: Any) -> dv.Receipt:
    return dv.release(TABLE, **({"column": "faith", "per_row": True, "values": ANSWERS, "keep": ()} | asked))


def by_law(receipt: dv.Receipt, which: int = 0, per_person: int = 1) -> Column:
    """Return the law that a receipt says was drawn from."""
    only = receipt.mechanisms[which]
    assert isinstance(only, Mechanism)
    channel = only.channel.exact
    labels = (list(map(str, channel.secrets)), list(map(str, channel.outcomes)))
    return Column(np.array(channel.matrix, dtype=float), *labels, rows=N, per_person=per_person)


def levels(column: Column, prior: np.ndarray) -> dict[str, float]:
    mean = prior @ column.law
    lifts = column.law / mean
    return {"ldp": math.log(column.ratio), "pml": math.log(lifts.max()), "pmc": -math.log(lifts.min())}


def guaranteed(column: Column, prior: np.ndarray | None = None) -> dict[str, Check]:
    true = levels(column, np.full(len(column.law), 1 / len(column.law)) if prior is None else prior)

    def three(ldp: float, pmc: float, pml: float) -> None:
        for said, kind in ((ldp, "ldp"), (pmc, "pmc"), (pml, "pml")):
            up(said, true[kind], 1e-4)

    return {"rounded up: ldp #, pmc #, pml #.": three, "rounded up: ldp #.": lambda ldp: up(ldp, true["ldp"], 1e-4)}


def approximate(column: Column) -> dict[str, Check]:
    def kept(times: float, rarely: float, base: float) -> None:
        assert column.delta(math.log(times)) <= rarely / base == 0.01
        factor(times, math.e)

    return {"at most # times the chance that it has under another, plus # in #.": kept, "adp=#:#.": lambda *_: None}


def gaussian(column: Column) -> dict[str, Check]:
    def kept(mu: float) -> None:
        for chosen in subsets(len(column.outcomes)):
            shares = column.law[:, chosen].sum(axis=1)
            assert norm.ppf(shares.max()) - norm.ppf(shares.min()) <= mu

    return {"middles are # times their spread apart": kept, "gdp=#.": lambda mu: None}


def concentrated(column: Column) -> dict[str, Check]:
    def kept(xi: float, rho: float) -> None:
        for a in column.law:
            for b in column.law:
                for order in (1.001, 1.5, 2, 4, 16, 64):
                    divergence = math.log(float((a**order * b ** (1 - order)).sum())) / (order - 1)
                    assert divergence <= xi + rho * order + 1e-9

    return {"at most # + # α, for every order": kept, "zcdp=#.": lambda rho: None}


def asymmetric(column: Column) -> dict[str, Check]:
    true = levels(column, np.full(len(column.law), 1 / len(column.law)))

    def kept(rise: float, fall: float) -> None:
        assert math.exp(true["pml"]) <= rise * (1 + 1e-9)
        assert math.exp(true["pmc"]) <= fall * (1 + 1e-9)
        factor(rise, math.exp(0.6))
        factor(fall, math.exp(0.5))

    return {"more than # times likelier, and none more than # times less likely": kept, "alip=#:#.": lambda *_: None}


def sourced(column: Column) -> dict[str, Check]:
    def kept(times: float) -> None:
        assert math.exp(levels(column, SOURCE)["pml"]) <= times * (1 + 1e-9)
        factor(times, math.exp(0.5))

    return guaranteed(column, SOURCE) | {
        "makes no true answer more than # times as likely as it was": kept, "pml=#.": lambda pml: None,
    }  # fmt: skip


SOURCE = np.array([0.6, 0.1, 0.3])


def odds(column: Column) -> dict[str, Check]:
    return {"true answer by more than # times, whatever they knew": lambda times: factor(times, column.ratio),
            "ldp=#.": lambda ldp: up(ldp, math.log(column.ratio), 1e-9)}  # fmt: skip


CASES: dict[str, tuple[dict[str, Any], Callable[[Column], dict[str, Check]]]] = {
    "ldp": ({"guarantee": "ldp=1"}, odds),
    "adp": ({"guarantee": "adp=1:0.01", "mechanism": "randomized-response", "epsilon": 1.02}, approximate),
    "gdp": ({"guarantee": "gdp=1", "mechanism": "randomized-response", "epsilon": 1.0}, gaussian),
    "zcdp": ({"guarantee": "zcdp=0.5", "mechanism": "randomized-response", "epsilon": 1.0}, concentrated),
    "alip": ({"guarantee": "alip=0.5:0.6"}, asymmetric),
    "source": ({"guarantee": "pml=0.5", "prior": dv.Prior(SOURCE.tolist(), ANSWERS)}, sourced),
    "jointly": ({"guarantee": "ldp=1", "column": ["faith", "sex"], "values": None}, odds),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_of_promise(kind: str) -> None:
    asked, promised = CASES[kind]
    receipt = released(**asked)
    column = by_law(receipt)
    read, grids = pages(dv.statement(receipt))
    column.tables(grids, SOURCE if kind == "source" else None)
    read_all(read, guaranteed(column) | promised(column) | column.checks(), 8)
    same_in_german(receipt)


def test_all_rows_of_a_person() -> None:
    """A promise that two rows share, and what they say of one where rows follow each other as a model says."""
    walk = np.array([[0.8, 0.1, 0.1], [0.1, 0.9, 0.0], [0.2, 0.1, 0.7]])
    asked = {"guarantee": "ldp=1", "person": "who", "rows_per_person": 2, "per_row": None}
    receipt = released(**asked, chain=dv.Channel(walk, ANSWERS, ANSWERS))
    column = by_law(receipt, per_person=2)
    law = column.law[[column.names.index(name) for name in ANSWERS]]

    def followed(most: float, odds: float, rise: float) -> None:
        """Of the first row with the one behind it, and of that with the one before it; the first is any of three."""
        first = np.full(3, 1 / 3)
        second = first @ walk
        back = (first[:, None] * walk).T / second[:, None]
        pairs = [(prior, law[:, y] * (step @ law[:, z])) for prior, step in ((first, walk), (second, back))
                 for y in range(law.shape[1]) for z in range(law.shape[1])]  # fmt: skip
        assert most == 2
        factor(odds, max(float(one.max() / one.min()) for _, one in pairs))
        factor(rise, max(float(one.max() / (prior @ one)) for prior, one in pairs))

    def bounded(ldp: float, pmc: float, pml: float) -> None:
        """Of a person who has one answer in both rows, at least; of any two answers no more than odds change."""
        for said, true in zip((ldp, pmc, pml), same, strict=True):
            assert true <= said <= math.log(column.ratio) + 1e-4

    def each(most: float, some: float) -> None:
        """Of who has two rows, each with an answer of its own that is said as it is."""
        shown = 1 - min(1 - law[i, j] for i, j in enumerate(map(column.outcomes.index, ANSWERS))) ** 2
        assert most == 2
        assert shown <= some / 1000 < shown + 0.001

    twice = np.array([[a * b for a in row for b in row] for row in column.law])
    lifts = twice / twice.mean(axis=0)
    same = (math.log(column.ratio), -math.log(lifts.min()), math.log(lifts.max()))
    more: dict[str, Check] = {
        "Nobody has more than # in the table, which share": lambda most: None,
        "In each of a person’s rows, up to #, chance draws anew: of 1,000 people with so many, up to # appear with "
        "what is theirs in one row or more.": each,
        "up to # without a gap, all of them together change the odds between two answers in one row by at most # "
        "times, and make no answer in it more than # times as likely.": followed,
        "rounded up: ldp #, pmc #, pml #.": bounded,
    }  # fmt: skip
    read, grids = pages(dv.statement(receipt))
    column.tables(grids)
    read_all(read, more | odds(column) | column.checks(), 8)
    same_in_german(receipt)


def test_two_columns_are_told_together() -> None:
    """Of two columns that are the same for everybody the odds change by both; what is said of one is said of it."""
    coins = {
        "faith": dv.mechanisms.randomized_response(ANSWERS, 1.0),
        "sex": dv.mechanisms.randomized_response(["f", "m"], 0.5),
    }
    receipt = released(guarantee=None, column=["faith", "sex"], mechanism=coins, values=None)
    statement = dv.statement(receipt)
    parts, heads = list(statement.parts), [i for i, part in enumerate(statement.parts) if plain_of(part) in NAMES]
    assert len(heads) == 2
    together = by_law(receipt, 0).ratio * by_law(receipt, 1).ratio
    first = by_law(receipt, 0)
    read, _ = pages(Parts(parts[: heads[0]]))
    said: dict[str, Check] = {"more than # times, whatever they knew": lambda times: factor(times, together),
                              "true answers by more than # times.": lambda times: factor(times, together)}  # fmt: skip
    read_all(read, said | first.checks(together), 6)
    for which, (start, end) in enumerate(((heads[0], heads[1]), (heads[1], None))):
        column = by_law(receipt, which)
        read, grids = pages(Parts(parts[start:end]))
        column.tables(grids)
        read_all(
            read, {"rounded up: ldp #.": lambda ldp, c=column: up(ldp, math.log(c.ratio), 1e-4)} | column.checks(), 5
        )
    same_in_german(receipt)


def moved(shares: np.ndarray, factor: float, gain: np.ndarray) -> np.ndarray:
    """Return the shares, each between itself by and times a factor, under which the mean of a gain is largest."""
    found = shares / factor
    for i in np.argsort(-gain):
        found[i] += min(shares[i] * factor - found[i], 1 - found.sum())
    return found


def test_another_column_is_protected() -> None:
    """What a column says of another one, by the counts of both; and where some people have another answer."""
    receipt = released(guarantee="pml=0.3", protect="town", values=None)
    column = by_law(receipt)
    pairs = list(zip(TABLE["town"].to_pylist(), TABLE["faith"].to_pylist(), strict=True))
    counts = np.array([[pairs.count((town, faith)) for faith in column.names] for town in ("x", "y")])
    towns, given = counts.sum(axis=1) / N, counts / counts.sum(axis=1, keepdims=True)
    seen = given @ column.law

    def lifts(seen: np.ndarray) -> np.ndarray:
        return seen / (towns @ seen)

    def rise(times: float) -> None:
        factor(times, float(lifts(seen).max()))
        assert math.log(lifts(seen).max()) <= 0.3

    def off(radius: float, base: float, times: float) -> None:
        """Of people with each value some have another answer: one that tells most, or of other values least."""
        r, worst = radius / base, 0.0
        for y in range(len(column.outcomes)):
            high, low = column.law[:, y].max(), column.law[:, y].min()
            for x in range(2):
                moved = (1 - r) * seen[:, y] + r * np.where(np.arange(2) == x, high, low)
                worst = max(worst, moved[x] / (towns @ moved))
        assert worst <= times * (1 + 1e-9)
        assert times < 1.05 * worst

    def shares(share: float, times: float) -> None:
        """Of people with each value shares are off by a factor: towards answers that tell most, or least."""
        worst = 0.0
        for y in range(len(column.outcomes)):
            ends = [[moved(shared, share, sign * column.law[:, y]) @ column.law[:, y] for sign in (1, -1)]
                    for shared in given]  # fmt: skip
            for x in range(2):
                likely = np.array([high if town == x else low for town, (high, low) in enumerate(ends)])
                worst = max(worst, likely[x] / (towns @ likely))
        assert worst <= times * (1 + 1e-9)
        assert times < 1.02 * worst

    more: dict[str, Check] = {
        "at most # times as large, or as small, as was taken, the factor is at most #.": shares,
        "becomes more than # times as likely to somebody who knows how frequent values are.": rise,
        "No value of it becomes less likely by a factor of more than # times.": lambda _: None,
        "less likely by a factor of more than #.": lambda times: factor(times, float(1 / lifts(seen).min())),
        "up to # of # have another answer than was taken, the factor is at most #.": off,
        "true answer by more than # times, whatever they knew": lambda times: factor(times, column.ratio),
        "rounded up: ldp #.": lambda ldp: up(ldp, math.log(column.ratio), 1e-4),
    }
    read, grids = pages(dv.statement(receipt))
    column.tables(grids)
    read_all(read, more | column.checks(), 8)
    same_in_german(receipt)


def test_a_prior_that_was_published_with_noise_counts_by_what_it_spent() -> None:
    receipt = released(guarantee="pml=0.5", prior="noisy=0.3")
    column = by_law(receipt)
    own = column.ratio
    column.rises, column.ratio = column.rises * math.exp(0.3), own * math.exp(0.3)

    def three(ldp: float, pmc: float, pml: float) -> None:
        up(ldp, math.log(own), 1e-4)
        assert max(pmc, pml) <= 0.5

    more: dict[str, Check] = {
        "makes no true answer more than # times as likely as it was": lambda times: factor(times, math.exp(0.5)),
        "pml=#.": lambda pml: up(pml, 0.5, 0),
        "rounded up: ldp #, pmc #, pml #.": three,
    }
    read, grids = pages(dv.statement(receipt))
    column.tables(grids)
    read_all(read, more | column.checks(), 8)
    same_in_german(receipt)


def test_shares_of_groups_are_told_by_the_method() -> None:
    """Whoever counts a group and sees what is said of it: the odds of both, as often as one answer changes them."""
    receipt = released(guarantee="pml=0.5", prior="groups=g", values=None)
    column = by_law(receipt)
    more: dict[str, Check] = {
        "makes no true answer more than # times as likely as it was": lambda times: factor(times, math.exp(0.5)),
        "may find odds changed by up to # times.": lambda times: factor(times, column.ratio**2),
        "pml=#.": lambda pml: up(pml, 0.5, 0),
        "rounded up: ldp #.": lambda ldp: up(ldp, math.log(column.ratio), 1e-4),
    }
    read, grids = pages(dv.statement(receipt))
    column.tables(grids)
    read_all(read, more | column.checks(), 8)
    same_in_german(receipt)


@pytest.mark.parametrize(("kept", "words"), [
    (("9/10", "4/10", "4/10"), "Many of the published answers are untrue."),
    (("19/20", "4/10", "4/10"), "Many of the published answers may be untrue: it depends on which ones are frequent."),
    (("2/5", "9/20", "9/20"), "Most of the published answers are untrue."),
])  # fmt: skip
def test_how_many_answers_are_untrue_holds_whatever_is_frequent(kept: tuple[str, ...], words: str) -> None:
    """Three in five have the first answer, one in five each other: what is said is so for any other frequencies too."""
    matrix = [[Fraction(own) if i == j else (1 - Fraction(own)) / 2 for j in range(3)] for i, own in enumerate(kept)]
    receipt = dv.release(TABLE, column="faith", mechanism=dv.Channel(matrix, ANSWERS, ANSWERS), per_row=True)
    assert words in dv.statement(receipt).lead[0]
    untrue = [float(1 - Fraction(own)) for own in kept]
    assert ("Most of" in words) is (min(untrue) > 0.5)
    assert ("Many of the published answers are" in words) is (0.1 <= min(untrue) <= 0.5)
    same_in_german(receipt)
