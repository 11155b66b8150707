"""Every number of the statements of means, variances, quantiles, shares, sums and people, against the law of the noise.

The noise is what the page says it is; the most that a person can change is looked for among people at the ends.
"""

import math
import re
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from reporting.column import Check, after, factor, pages, read_all, same_in_german, up
from scipy.stats import norm
from support import NEVER

import divulge as dv
from divulge.publishing.counting import bounds

N = 600
TABLE = pa.table({
    "faith": [("none", "none", "none", "HIV", "flu")[i % 5] for i in range(N)], "g": ["a", "b", "c"] * (N // 3),
    "age": [i * i // 4000 for i in range(N)], "who": [i // 2 for i in range(N)],
})  # fmt: skip
GROUPS, FAITHS = {"g": ["a", "b", "c"]}, {"faith": ["none", "HIV", "flu"]}
LOW, HIGH = 0, 90

Person = tuple[str, str, int | None]
"""Group, faith, age."""
PEOPLE: list[Person] = list(product("ab", ("none", "HIV"), (None, LOW, (LOW + HIGH) // 2, HIGH)))


def cells(kind: str, by: str, person: Person, middle: int) -> dict[str, float]:
    """Return what a person adds to each number of a kind; numbers are counted from the middle of the bounds."""
    group, faith, age = person
    where = {"“g”": group, "“faith”": faith, "–": "all"}[by]
    if kind == "rows":
        return {where: 1}
    if kind == "rows with one value of “faith”":
        return {where: float(faith == "HIV")}
    if age is None:
        return {}
    return {where: {"rows with a number in “age”": 1, "sum of “age”": age - middle,
                    "squares of “age”": (age - middle) ** 2}[kind]}  # fmt: skip


def changes(laws: list[tuple[str, str, str, float]], middle: int) -> list[list[tuple[float, float]]]:
    """Return, of every two people, (how far a number moves, its scale) of all numbers that move."""
    found: list[list[tuple[float, float]]] = []
    for one, other in product(PEOPLE, repeat=2):
        moves: list[tuple[float, float]] = []
        for kind, by, _, scale in laws:
            a, b = (cells(kind, by, person, middle) for person in (one, other))
            moves += [(a.get(where, 0) - b.get(where, 0), scale) for where in {*a, *b}]
        found.append([(abs(move), scale) for move, scale in moves if move])
    return found


def noise(rows: list[list[str]]) -> list[tuple[str, str, str, float]]:
    """Return (kind, by, family, scale) of the rows of the table in technical words."""
    found: list[tuple[str, str, str, float]] = []
    for kind, by, _, law in rows:
        (family, scale) = re.findall(r"discrete (Laplace|Gaussian) of (?:scale|sigma) ([\d,.]*\d)", law)[0]
        found.append((kind, by, family, float(scale.replace(",", ""))))
    return found


def laplace_loss(moves: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Return all losses of independent discrete Laplace noise, and how probable each is."""
    losses, chances = np.zeros(1), np.ones(1)
    for move, scale in moves:
        reach = int(move + 40 * scale)
        k = np.arange(-reach, reach + 1)
        weight = np.exp(-np.abs(k) / scale)
        each, place = np.unique(np.round((np.abs(k + move) - np.abs(k)) / scale, 9), return_inverse=True)
        shares = np.bincount(place, weight / weight.sum())
        losses, place = np.unique(np.round((losses[:, None] + each).ravel(), 9), return_inverse=True)
        chances = np.bincount(place, np.outer(chances, shares).ravel())
    return losses, chances


class Exact:
    """What the noise of the page says of a change of one person, by its law."""

    def __init__(self, rows: list[list[str]], middle: int) -> None:
        self.laws = noise(rows)
        self.moves = changes(self.laws, middle)
        self.gaussian = {family for _, _, family, _ in self.laws} == {"Gaussian"}
        self.rho = max(sum(move**2 / (2 * scale**2) for move, scale in one) for one in self.moves)
        self.loss = max(sum(move / scale for move, scale in one) for one in self.moves)

    def delta(self, epsilon: float) -> float:
        if self.gaussian:
            mu = math.sqrt(2 * self.rho)
            return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))
        worst = 0.0
        for one in sorted(self.moves, key=lambda moves: -sum(move / scale for move, scale in moves))[:2]:
            losses, chances = laplace_loss(one)
            worst = max(worst, float(chances @ np.maximum(1 - np.exp(epsilon - losses), 0)))
        return worst


def tables(grid: list[list[str]], losses: "Losses") -> None:
    """Hold the table of before and after against what is promised."""
    for row in grid[1:]:
        before, one, other = (float(cell.replace(",", "")) for cell in row)
        p = before / 1000
        if "at least" in grid[0][2]:
            up(one, 1000 * after(p, losses.ratio), 0.01)
            assert 0 <= 1000 * after(p, 1 / losses.ratio) - other < 0.01
        else:
            losses.usually(p, one / 1000)
            up(
                other,
                1000 * p * losses.hits(0.01) / (p * losses.hits(0.01) + (1 - p) * 0.01),
                0.011 + losses.room * other,
            )


class Losses:
    """What a promise leaves, in closed form: pure, approximate or Gaussian."""

    def __init__(
        self, ratio: float = math.inf, approximate: tuple[float, float] | None = None, mu: float = 0.0
    ) -> None:
        self.ratio, self.approximate, self.mu = ratio, approximate, mu
        self.room = 0.3 if mu else 1e-9  # zCDP leaves more than Gaussian noise, which is one that keeps it

    def hits(self, alarms: float) -> float:
        if self.approximate:
            return math.exp(self.approximate[0]) * alarms + self.approximate[1]
        return float(norm.sf(norm.isf(alarms) - self.mu))

    def usually(self, p: float, said: float) -> None:
        """Assert that the posterior is higher in 1 of 1,000 tables at most, for those of whom it is true."""
        if self.approximate:
            grown, delta = math.exp(self.approximate[0]), self.approximate[1]
            up(1000 * said, 1000 * p * 1e-3 / (p * 1e-3 + (1 - p) * (1e-3 - delta) / grown), 0.011)
        else:
            beyond = (math.log(said / (1 - said)) - math.log(p / (1 - p)) + self.mu**2 / 2) / self.mu
            assert 1e-5 < norm.sf(beyond - self.mu) <= 1e-3

    @property
    def right(self) -> float:
        if self.approximate:
            grown, delta = math.exp(self.approximate[0]), self.approximate[1]
            return (1 + delta + (1 - delta) * (grown - 1) / (grown + 1)) / 2
        return float(norm.cdf(self.mu / 2))


def doubled(losses: Losses) -> Losses:
    twice = None if losses.approximate is None else (2 * losses.approximate[0], 2 * losses.approximate[1])
    return Losses(losses.ratio**2, twice, math.sqrt(2) * losses.mu)


def said_of(losses: Losses, asked: dict[str, Check]) -> dict[str, Check]:
    """Return sentence -> what its numbers must be."""

    def second(twice: float, once: float) -> None:
        factor(twice, losses.ratio**2)
        factor(once, losses.ratio)

    def pairs(
        before: float, base: float, both: float, base2: float, held: float, of: float, one: float, b: float
    ) -> None:
        assert (before, base, base2, held, of, b) == (10, 1000, 1000, 999, 1000, 1000)
        losses.usually(0.01, one / 1000)
        doubled(losses).usually(0.01, both / 1000)

    def worried(before: float, base: float, one: float, base2: float, held: float, of: float) -> None:
        assert (before, base, base2, held, of) == (10, 1000, 1000, 999, 1000)
        losses.usually(0.01, one / 1000)

    def found(one: float, of: float, false: float, base: float, right: float, base2: float) -> None:
        assert (one, of, false, base, base2) == (1, 1000, 10, 1000, 1000)
        up(right, 1000 * losses.right, 0.01 + 1000 * losses.room * 0.5)

    def cut(low: float, high: float, step: float) -> None:
        assert (low, high, step) == (LOW, HIGH, 1)

    return asked | {
        "the odds never change by more than # times.": lambda times: factor(times, losses.ratio),
        "the odds may have changed by # times in place of # times.": second,
        "would have been as likely, but for a factor of at most #. Even": lambda times: factor(times, losses.ratio),
        "what had a chance of # in # has one of at most # in #, in # of # such pairs of tables; after this one it is # "
        "in #.": pairs,
        "took to have a chance of # in # about you has one of at most # in # for anybody who sees the table, in # of # "
        "tables.": worried,
        "one in # at most tells more": lambda of: check(of == 1000),
        "if they raise a false one for # of #. Of two answers that are equally likely before, they name the right one "
        "for at most # of #.": lambda false, base, right, base2: found(1, 1000, false, base, right, base2),
        "In # of # such releases all intervals": lambda held, of: check((held, of) == (950, 1000)),
        "were cut to # to # and rounded to steps of #": cut,
        "take a # for nobody": lambda none: check(none == 0),
        "A # does not mean that nobody is there": lambda none: check(none == 0),
        "can be below #,": lambda none: check(none == 0),
        "share or quantile of # has noise": lambda none: check(none == 0),
        "true one is #.": lambda none: check(none == 0),
    }


def check(holds: bool) -> None:
    assert holds


def off(law: tuple[str, float], many: int) -> dict[str, Check]:
    """Return what is said of how far counts are off, of so many; intervals of other numbers have a part of the risk."""
    family, scale = law
    k = np.arange(-int(60 * scale) - 2, int(60 * scale) + 3)
    weight = np.exp(-np.abs(k) / scale) if family == "Laplace" else np.exp(-(k**2) / (2 * scale**2))

    def width(off: float, held: float, of: float, group: float, none: float) -> None:
        assert (held, of, group, none) == (950, 1000, 2 * off, 0)
        missed = many * float(weight[np.abs(k) > off].sum() / weight.sum())
        fewer = many * float(weight[np.abs(k) > 0.6 * off].sum() / weight.sum())
        assert missed <= 0.05 < fewer

    return {
        "A count is off by # at most, in # of # such releases. So the interval of a group of up to # can hold #": width
    }


def pure(true: float, tight: bool = True) -> tuple[dict[str, Check], Callable[[float], Losses]]:
    def promised(times: float) -> None:
        assert math.exp(true) <= times * (1 + 1e-9)
        assert not tight or times <= math.exp(true) * 1.01

    return {"would have been as likely, but for a factor of at most #. This": promised}, lambda dp: Losses(math.exp(dp))


def million(rho: float) -> Check:
    """Return that the loss of Gaussian noise passes the factor once in a million times at most, in either direction."""
    spread = math.sqrt(2 * rho)

    def seldom(times: float) -> None:
        e = math.log(times)
        assert norm.sf((e - rho) / spread) + norm.cdf((-e - rho) / spread) <= 1e-6
        assert norm.sf((0.8 * e - rho) / spread) > 1e-6

    return seldom


def published(asked: Any, **how: Any) -> Any:
    return dv.publish(TABLE, asked, **({"per_row": True} | how))


def test_means() -> None:
    made = published([dv.Mean("age", (LOW, HIGH), by="g")], guarantee="dp=1", values=GROUPS)
    read, grids = pages(dv.statement(made))
    exact = Exact(grids[-1][1:], 45)
    promised, losses = pure(exact.loss)
    assert exact.loss == pytest.approx(1, rel=1e-3)
    tables(grids[0], losses(1))
    read_all(read, said_of(losses(1), promised | {"rounded up: dp #.": lambda dp: up(dp, exact.loss, 1e-3)}), 9)
    same_in_german(made)


def test_variances_under_a_slack() -> None:
    for family in ("laplace", "gaussian"):
        made = published([dv.Variance("age", (LOW, HIGH))], guarantee="adp=1:1e-6", noise=family)
        read, grids = pages(dv.statement(made))
        exact = Exact(grids[-1][1:], 45)

        def slack(times: float, one: float, count: float, exact: Exact = exact) -> None:
            factor(times, math.e)
            assert exact.delta(math.log(times)) <= one / count * 1.001

        more: dict[str, Check] = {"a factor of at most # and a slack of at most # in #.": slack}
        if family == "laplace":
            (dp,) = read.numbers("adp # at delta 1e-#, dp #.")
            assert exact.loss <= dp[2] * (1 + 1e-4)
            promised, losses = pure(exact.loss, tight=False)
            more |= promised
            made_of = losses(dp[2])
        else:
            (rho,) = read.numbers("adp # at delta 1e-#, zcdp #.")
            assert exact.rho <= rho[2] * (1 + 1e-3)
            more["person answered something else, up to a factor of at most #."] = million(rho[2])
            made_of = Losses(mu=math.sqrt(2 * rho[2]))
        tables(grids[0], made_of)
        read_all(read, said_of(made_of, more), 7)
        same_in_german(made)


def test_sums_and_shares_of_a_renyi_promise() -> None:
    asked = [dv.Sum("age", (LOW, HIGH), by="g"), dv.Proportion("faith", "HIV")]
    made = published(asked, guarantee="rdp=8:0.5", values=GROUPS)
    read, grids = pages(dv.statement(made))
    exact = Exact(grids[-1][1:], 0)
    ((epsilon, alpha, rho),) = read.numbers("rounded up: rdp # at alpha #, zcdp #.")
    assert exact.rho * alpha <= epsilon * (1 + 1e-3) == pytest.approx(0.5, rel=2e-3)
    assert exact.rho <= rho * (1 + 1e-3)
    renyi, concentrated = [times for (times,) in read.numbers("something else, up to a factor of at most #.")]
    million(rho)(concentrated)
    factor(renyi, math.exp(epsilon + math.log(2e6) / (alpha - 1)))
    losses = Losses(mu=math.sqrt(2 * rho))
    tables(grids[0], losses)
    read_all(read, said_of(losses, {}), 9)
    same_in_german(made)


def test_people_with_several_rows() -> None:
    """A person with a row in each of two groups comes to two others: all counts of rows and people move by one."""
    asked = [dv.Count("faith"), dv.People("faith")]
    made = published(asked, guarantee="dp=2", person="who", at_most=2, per_row=False, values=FAITHS)
    read, grids = pages(dv.statement(made))
    (_, _, rows, own), (_, _, people, theirs) = [(*row[:2], *noise([row])[0][2:]) for row in grids[-1][1:]]
    assert rows == people == "Laplace"
    exact = 4 / own + 4 / theirs
    promised, losses = pure(exact)
    more = promised | {"rounded up: dp #.": lambda dp: up(dp, exact, 1e-3), "at most # of each person, and": two,
                       "at most so many rows count: #.": two}  # fmt: skip
    tables(grids[0], losses(exact))
    read_all(read, said_of(losses(exact), more | off(("Laplace", own), 10)), 10)
    same_in_german(made)


def two(most: float) -> None:
    assert most == 2


def test_who_is_there_or_not() -> None:
    """The promise is about one who comes or goes; what an answer can change is one who goes and one who comes."""
    made = published([dv.Count("faith")], guarantee="dp=1", neighbors="added", values=FAITHS)
    read, grids = pages(dv.statement(made))
    ((_, _, _, scale),) = noise(grids[-1][1:])
    promised, _ = pure(1 / scale)
    losses = Losses(math.exp(2 / scale))
    tables(grids[0], losses)
    more = promised | {"rounded up: dp #.": lambda dp: up(dp, 1 / scale, 1e-3)}
    read_all(read, said_of(losses, more | off(("Laplace", scale), 5)), 9)
    same_in_german(made)


def test_answers_that_are_not_rare() -> None:
    made = published([dv.Count("faith")], guarantee="pml=1", record_prior="lower=0.01", values=FAITHS)
    read, grids = pages(dv.statement(made))
    ((_, _, _, scale),) = noise(grids[-1][1:])
    ((pml, dp, pmc, lip),) = read.numbers("pml #, dp #, pmc #, lip #.")
    loss, p = dp, 0.01
    assert dp == pytest.approx(2 / scale, rel=1e-3)  # the page has four digits of the scale
    rise, fall = 1 / (p + (1 - p) * math.exp(-loss)), p + (1 - p) * math.exp(loss)

    def promised(least: float, base: float, times: float, low: float, base2: float, then: float, base3: float) -> None:
        assert (least, base, low, base2, base3) == (10, 1000, 10, 1000, 1000)
        factor(times, rise)
        up(then, 1000 * after(p, math.exp(loss)), 0.01)

    for said, true in ((pml, math.log(rise)), (pmc, math.log(fall)), (lip, math.log(fall))):
        assert said == pytest.approx(true, abs=1e-5)  # of a dp that is rounded up

    more: dict[str, Check] = {
        "to have a chance of # in # or more. Whatever is published, no answer becomes more than # times as likely to "
        "anybody: one that had # in # before has at most # in # after.": promised,
        "No answer becomes less likely by a factor of more than #.": lambda times: factor(times, fall),
        "would have been as likely, but for a factor of at most #. This": lambda times: factor(times, math.exp(loss)),
    }
    losses = Losses(math.exp(loss))
    tables(grids[0], losses)
    read_all(read, said_of(losses, more | off(("Laplace", scale), 5)), 10)
    same_in_german(made)


def test_names_and_bounds_that_noise_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_SURELY", 1 - NEVER)  # the sentence has no place for 5e11
    made = published([dv.Count("faith"), dv.Mean("age", "auto")], guarantee="adp=1:1e-6")
    read, grids = pages(dv.statement(made))
    rows = [[cell.replace(",", "") for cell in row] for row in grids[-1][1:]]
    named, bins, counts, sums, numbers = (float(re.findall(r"scale ([\d.]+)", row[3])[0]) for row in rows)
    threshold = float(re.findall(r"from (\d+) on", rows[0][3])[0])
    (cut,) = read.numbers("were cut to # to # and rounded to steps of #")
    reach = (cut[1] - cut[0]) / cut[2]
    # one goes and another comes: two names, bins and counts move by one, and a number to the other end
    loss = 2 / named + 2 / bins + 2 / counts + max(reach / sums, reach / 2 / sums + 1 / numbers)
    beyond = 2 * math.exp(-(threshold - 1) / named) / (1 + math.exp(-1 / named))

    def slack(times: float, one: float, count: float) -> None:
        """Whoever is alone with an answer has it named with the slack; what else is told is the factor."""
        assert math.exp(loss) <= times * 1.001
        factor(times, math.e)
        assert beyond <= one / count

    more: dict[str, Check] = {
        "a factor of at most # and a slack of at most # in #.": slack,
        "those with a noisy count of # or more are named": lambda least: check(least == threshold),
        "the numbers between #, #, #, #, # and so on": lambda *bins: check(bins == (0, 1, 2, 5, 10)),
        "adp # at delta 1e-#.": lambda epsilon, digits: check((epsilon, digits) == (1, 6)),
    }
    losses = Losses(approximate=(1, 1e-6))
    tables(grids[0], losses)
    read_all(read, said_of(losses, more | off(("Laplace", counts), 5)), 11)
    same_in_german(made)


def test_means_and_counts_under_gaussian_noise() -> None:
    made = published([dv.Mean("age", (LOW, HIGH), by="g"), dv.Count("g")], guarantee="zcdp=0.1", noise="gaussian",
                     values=GROUPS)  # fmt: skip
    read, grids = pages(dv.statement(made))
    exact, ((rho,),) = Exact(grids[-1][1:], 45), read.numbers("rounded up: zcdp #.")
    assert exact.rho <= rho <= 1.2 * exact.rho
    losses = Losses(mu=math.sqrt(2 * rho))
    tables(grids[0], losses)
    more = {"something else, up to a factor of at most #.": million(rho)} | off(("Gaussian", exact.laws[-1][3]), 5)
    read_all(read, said_of(losses, more), 11)
    same_in_german(made)


def test_a_promise_that_is_of_no_use_says_by_how_much() -> None:
    made = published([dv.Count("faith")], guarantee="dp=9", values=FAITHS)
    read, grids = pages(dv.statement(made))
    ((_, _, _, scale),) = noise(grids[-1][1:])
    more = {"the factor that it allows is #.": lambda times: factor(times, math.exp(9)),
            "rounded up: dp #.": lambda dp: check(2 / scale <= dp * (1 + 1e-3))}  # fmt: skip
    read_all(read, said_of(Losses(), more | off(("Laplace", scale), 5)), 6)
    same_in_german(made)


def test_quantiles() -> None:
    """Each is chosen three times, for its interval too, by scores of ranks: the law of a choice over small tables."""
    made = published([dv.Quantiles("age", (LOW, HIGH))], guarantee="zcdp=0.5")
    read, grids = pages(dv.statement(made))
    told = [re.findall(r"quantile (\d)/(\d) of", row[0])[0] + tuple(re.findall(r"scale (\d+)", row[3]))
            for row in grids[-1][1:]]  # fmt: skip
    loss = rho = 0.0
    for top, bottom, scale in told:
        losses, divergence = choice(int(top), int(bottom), float(scale))
        loss, rho = loss + 3 * losses, rho + 3 * divergence
    ((zcdp, dp),) = read.numbers("rounded up: zcdp #, dp #.")
    assert 0.7 * dp < loss <= dp
    assert 0.6 * zcdp < rho <= zcdp
    made_of = Losses(math.exp(dp))
    tables(grids[0], made_of)
    more: dict[str, Check] = {
        "up to a factor of at most #. The": million(zcdp),
        "would have been as likely, but for a factor of at most #. This": lambda times: factor(times, math.exp(dp)),
    }
    read_all(read, said_of(made_of, more), 7)
    same_in_german(made)


def choice(top: int, bottom: int, scale: float) -> tuple[float, float]:
    """Return the largest loss of a choice with Gumbel noise, and its rho, where one of six people changes."""
    many, values = 6, np.arange(4)
    found = dict[tuple[int, ...], np.ndarray]()
    for table in combinations_with_replacement(range(4), many):
        ranks = np.array(table)
        less, more = ((ranks < values[:, None]).sum(1), (ranks > values[:, None]).sum(1))
        scores = np.maximum(np.maximum(bottom * less - top * many, bottom * more - (bottom - top) * many), 0)
        weight = np.exp(-scores / scale)
        found[table] = weight / weight.sum()
    loss = rho = 0.0
    for table, law in found.items():
        for i, new in product(range(many), range(4)):
            other = found[tuple(sorted((*table[:i], new, *table[i + 1 :])))]
            loss = max(loss, float(np.log(law / other).max()))
            rho = max(rho, *(math.log(float((law**a * other ** (1 - a)).sum())) / (a - 1) / a for a in (1.01, 2, 8)))
    return loss, rho
