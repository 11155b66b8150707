"""Every number of the statements of places, statistics and whole tables, against laws that are written out here."""

import math
import re
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from reporting.reading import Reader

import divulge as dv

N = 600
RATE, SIDE, CELLS = 0.5, 1.0, 5


@pytest.fixture
def table() -> pa.Table:
    at = [i / N * 0.035 for i in range(N)]
    faith = [("none", "none", "none", "HIV", "flu")[i % 5] for i in range(N)]
    return pa.table({"lat": at, "lon": at[::-1], "faith": faith, "age": [i * i // 4000 for i in range(N)]})


def law_of_places() -> np.ndarray:
    """Return P(cell | cell): weight e^(-rate distance) on the whole lattice, moved to the border from outside."""
    reach = 90  # e^-45 of what lies beyond
    steps = np.arange(-reach, reach + 1)
    weight = np.exp(-RATE * SIDE * np.hypot(steps[:, None], steps[None, :]))
    found = np.zeros((CELLS, CELLS, CELLS, CELLS))
    for u, v in product(range(CELLS), repeat=2):
        rows, columns = (np.clip(own + steps, 0, CELLS - 1) for own in (u, v))
        np.add.at(found[u, v], (rows[:, None], columns[None, :]), weight)
    return found.reshape(CELLS**2, CELLS**2) / weight.sum()


def within(radius: float) -> float:
    """Return how often noise stays within a radius, for the place in a cell for which that is least often."""
    steps = np.arange(-90, 91)
    weight = np.exp(-RATE * SIDE * np.hypot(steps[:, None], steps[None, :]))
    offs = [(x, y) for x in (-0.5, 0.0, 0.5) for y in (-0.5, 0.0, 0.5)]
    held = [weight[np.hypot(steps[:, None] - x, steps[None, :] - y) * SIDE <= radius].sum() for x, y in offs]
    return float(min(held) / weight.sum())


def up(said: float, true: float, share: float = 0.01) -> None:
    """Assert that a number is rounded up, by no more than its last digits."""
    assert true * (1 - 1e-9) <= said <= true * (1 + share)


def test_places(table: pa.Table, tmp_path: Path) -> None:
    dv.release(table, tmp_path / "p.csv", column=["lat", "lon"], guarantee=f"metric={RATE}/km", grid="1km",
               box="0,0,0.036,0.036", per_row=True, keep=())  # fmt: skip
    read = Reader((tmp_path / "p.statement.txt").read_text())
    law = law_of_places()
    places = list(product(range(CELLS), repeat=2))

    def ratio(far: float, near: Any) -> float:
        """Return the largest ratio of what two cells give a point, of cells that are so far apart."""
        return max(float((law[i] / law[j]).max()) for i, one in enumerate(places) for j, other in enumerate(places)
                   if near(one, other) <= far + 1e-9)  # fmt: skip

    def middles(one: Any, other: Any) -> float:
        return math.dist(one, other) * SIDE

    def edges(one: Any, other: Any) -> float:
        return math.hypot(*(max(abs(a - b) - 1, 0) for a, b in zip(one, other, strict=True))) * SIDE

    circles = read.numbers("half of them lie within # km of where they should be, and # of # within # km.")
    circles += read.numbers("It lies within # km of the published one in half of all cases, and within # km in # of #,")
    for small, *rest in circles:
        large = max(one for one in rest if one not in (95.0, 100.0))
        assert within(small) >= 0.5 > within(small - 1.2 * SIDE)  # of which places in their cells take up to 0.71
        assert within(large) >= 0.95 > within(large - 1.2 * SIDE)
    ((times, unit),) = read.numbers("change by more than # times for each # km between their middles")
    assert unit == 1
    up(times, ratio(1.0, middles))
    ((two, twice, apart, six, often),) = read.numbers(
        "about a person with # rows the odds may change by # times for each # km between two cells, with # rows by # "
        "times."
    )  # fmt: skip
    assert (two, apart, six) == (2, 1, 6)
    up(twice, ratio(1.0, middles) ** 2)
    up(often, ratio(1.0, middles) ** 6, 0.02)
    rows = re.findall(r"^ +([\d.]+) (k?m) +([\d.]+) +([\d.]+)$", (tmp_path / "p.statement.txt").read_text(), re.M)
    assert len(rows) == 5
    for far, scale, factor, after in rows:
        distance = float(far) * (1.0 if scale == "km" else 0.001)
        assert ratio(distance, edges) <= float(factor)
        assert float(factor) <= math.exp(RATE * (distance + math.sqrt(2) * SIDE)) * 1.02
        true = ratio(distance, edges)
        assert 100 * true / (true + 99) <= float(after) <= 101 * float(factor) / (float(factor) + 99)
        read.numbers(f"{far} {scale} # #")
    read.numbers("what was taken for # in # so far apart becomes at most")
    ((one, second, first),) = read.numbers(
        "two true ones that are # km apart may have changed by # times in place of # times."
    )
    assert one == 1
    assert ratio(1.0, edges) <= first
    assert ratio(1.0, edges) ** 2 <= second <= first**2
    ((whole,),) = read.numbers("Over the whole region that is local differential privacy of #, rounded up.")
    most = math.log(ratio(99.0, middles))
    assert most <= whole <= RATE * SIDE * math.hypot(CELLS - 1, CELLS - 1) + 1e-3
    ((side,),) = read.numbers("Each row was snapped to a cell of # km")
    read.numbers("at a rate of #/#/km")
    read.numbers("Only middles of cells of # km, which were laid over the region from (#, #) to (#, #)")
    read.numbers("A region of # km by # km, with circles of # km and # km around")
    read.numbers("The circles hold # and # of # true places")
    assert side == SIDE
    assert not re.search(r"\d", read.left), re.findall(r".{30}\d.{30}", read.left)
    out = csv.read_csv(tmp_path / "p.csv")
    assert len(set(out["lat_perturbed"].to_pylist())) <= CELLS


def test_counts(table: pa.Table, tmp_path: Path) -> None:
    dv.publish(table, [dv.Count("faith")], tmp_path / "c.csv", values={"faith": ["none", "HIV", "flu"]},
               guarantee="dp=1", per_row=True)  # fmt: skip
    read = Reader((tmp_path / "c.statement.txt").read_text())
    ((cells, scale),) = read.numbers("rows “faith” # discrete Laplace of scale #")
    out = csv.read_csv(tmp_path / "c.csv")
    assert cells == out.num_rows == 5  # three that are listed, other and no answer
    alpha = math.exp(-1 / scale)

    def loss(rows: int) -> float:
        """Return the largest ratio of the chances of a table, where so many rows count elsewhere: in two cells each."""
        return (alpha**-rows) ** 2

    for sentence in ("but for a factor of at most #.", "the odds never change by more than # times."):
        for (times,) in read.numbers(sentence):
            up(times, loss(1))
    for before, high, low in re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+)$",
                                        (tmp_path / "c.statement.txt").read_text(), re.M):  # fmt: skip
        p = int(before) / 1000
        up(float(high), 1000 * p * loss(1) / (p * loss(1) + 1 - p))
        assert 0 <= 1000 * p / (p + (1 - p) * loss(1)) - float(low) < 0.01
        read.numbers(f"{before} # #")
    read.numbers("Before, of # After, at most, of # After, at least, of #")

    def beyond(off: float) -> float:
        """Return how often a count is off by more."""
        return 2 * alpha ** (off + 1) / (1 + alpha)

    ((off, held, of),) = read.numbers("A count is off by # at most, in # of # such releases.")
    assert cells * beyond(off) <= 1 - held / of < cells * beyond(off - 1)
    assert (held, of) == (950, 1000)
    ((alike, of),) = read.numbers("In # of # such releases all intervals, from low to high, hold at once.")
    assert alike / of <= (1 - beyond(off)) ** cells
    widths = {(row["low"], row["high"]) for row in out.to_pylist()}
    assert all(high - low == 2 * off for low, high in widths)
    ((hidden, zero),) = read.numbers("the interval of a group of up to # can hold #")
    assert hidden == 2 * off
    assert zero == 0
    ((twice, once),) = read.numbers("the odds may have changed by # times in place of # times.")
    up(twice, loss(2))
    up(once, loss(1))
    ((promised,),) = read.numbers("rounded up: dp #.")
    assert math.log(loss(1)) == pytest.approx(promised)
    for sentence in ("take a # for nobody", "A # does not mean that nobody is there", "can be below #,"):
        read.numbers(sentence)
    assert not re.search(r"\d", read.left), re.findall(r".{30}\d.{30}", read.left)


def test_whole_tables(table: pa.Table, tmp_path: Path) -> None:
    dv.generalize(table, "age", "faith", tmp_path / "g.csv", guarantees="k=20", per_row=True)
    text = (tmp_path / "g.statement.txt").read_text()
    read = Reader(text)
    rows = csv.read_csv(tmp_path / "g.csv").to_pylist()
    groups, answers = Counter(row["age"] for row in rows), Counter(row["faith"] for row in rows)
    both = Counter((row["age"], row["faith"]) for row in rows)
    ((least,),) = read.numbers("whoever knows “age” of a person finds at least # rows that fit.")
    assert least == min(groups.values()) >= 20
    share = {key: Fraction(n, groups[key[0]]) for key, n in both.items()}
    ((most, base),) = read.numbers("In no group do more than # of # rows have the same answer.")
    up(most, float(base * max(share.values())), 1e-3)
    lift = {key: share[key] * N / answers[key[1]] for key in share}
    ((times,),) = read.numbers("No answer is more than # times as frequent in a group as in the whole table.")
    up(times, float(max(lift.values())), 1e-3)
    assert len(both) == len(groups) * len(answers)
    ((few,),) = read.numbers("No answer is less than # times as frequent in a group as in the whole table.")
    assert 0 <= float(min(lift.values())) - few < 1e-3
    ((beside, base),) = read.numbers(
        "Somebody who also knows one other person of the group, with another answer: at most # of #."
    )
    known = max(Fraction(n, groups[age] - 1) for (age, _), n in both.items())
    up(beside, float(base * known), 1e-3)
    read.numbers("Asked for: k=#.")
    level, height = read.numbers("“age” level # of #")[0]
    assert 0 < level < height
    assert "-log#(count" not in read.left
    left = re.sub(r"-log2", "", read.left)
    assert not re.search(r"\d", left), re.findall(r".{30}\d.{30}", left)
