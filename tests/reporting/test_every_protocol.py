"""Every number of the statements about reports of frequency protocols, by closed forms that are written out here."""

import math

import numpy as np
import pyarrow as pa
import pytest
from reporting.column import Check, common, factor, pages, read_all, same_in_german, up
from scipy.stats import binom

import divulge as dv

ANSWERS = [f"v{i}" for i in range(43)]
D, N, E = 44, 600, math.e
"""Answers with the one for all others; rows; by what odds change at most."""

TABLE = pa.table({"answer": [ANSWERS[i * i % 43] for i in range(N)]})


def h(*shares: float) -> float:
    return -sum(p * math.log2(p) for p in shares if p > 0)


def sets_of(k: int) -> tuple[float, float, float, float]:
    """Return p, q, the most bits, and the capacity of sets of k answers, likelier by e where the own one is in."""
    p = E * k / (E * k + D - k)
    told = math.log2(D) - p * math.log2(k / p) - (1 - p) * math.log2((D - k) / (1 - p))
    return p, (p * (k - 1) + (1 - p) * k) / (D - 1), told, D * p / k


def bits_of(p: float, q: float) -> tuple[float, float, float, float]:
    """Return the same of a bit for each answer, the own one on with p, the others with q."""
    odds = p * (1 - q) / (q * (1 - p))
    told = 0.0
    for own, chance in ((1, p), (0, 1 - p)):
        for others in range(D):
            on = others + own
            told += chance * float(binom.pmf(others, D - 1, q)) * math.log2(odds**own * D / (on * odds + D - on))
    return p, q, told, p / q * (1 - (1 - q) ** D) + (1 - p) * (1 - q) ** (D - 1)


def hashed(g: int) -> tuple[float, float, float, float]:
    """Return the same of a hash to g buckets that is drawn for each report: all buckets equally likely tell most."""
    p = E / (E + g - 1)
    return p, 1 / g, math.log2(g) - h(p, *[(1 - p) / (g - 1)] * (g - 1)), g * p


HADAMARD = (E / (1 + E), 0.5, 1 - h(E / (1 + E), 1 / (1 + E)), 2 * E / (1 + E))
ROOT = math.sqrt(E)
LAWS = {
    "randomized-response": sets_of(1),
    "subset-selection": sets_of(12),
    "optimized-unary": bits_of(1 / 2, 1 / (E + 1)),
    "symmetric-unary": bits_of(ROOT / (1 + ROOT), 1 / (1 + ROOT)),
    "local-hashing": hashed(4),
    "hadamard": HADAMARD,
}


def reported(law: tuple[float, float, float, float]) -> dict[str, Check]:
    p, q, told, capacity = law

    def lead(own: float, other: float) -> None:
        assert (own, other) == (round(1000 * p, 1), round(1000 * q, 1))

    def average(bits: float, times: float) -> None:
        assert told <= bits <= 1.03 * told + 1e-4  # of bits for each answer the bound is for any number of answers
        up(times, capacity, 1e-3)

    def missed(share: float, off: float) -> float:
        """Return how often an estimate of a share is off by so many rows or more."""
        hits = np.arange(N + 1)
        apart = np.abs((hits / N - q) / (p - q) - share) * N
        return float(binom.pmf(hits[apart > off], N, share * p + (1 - share) * q).sum())

    def counted(rows: float, off: float, most: float, none: float) -> None:
        assert (rows, none) == (N, off)
        assert missed(0.0, off) <= 0.05 / D < missed(0.0, 0.75 * off)
        assert max(missed(share, most) for share in np.linspace(0, 1, 9)) <= 0.05 / D
        assert off <= most < 1.2 * off

    return common(E) | {
        "out of 1,000 reports, # support the true answer of their person, and # support any one answer that is not "
        "theirs.": lead,
        "true answer by more than # times, whatever they knew": lambda times: factor(times, E),
        "every one of # answers, which the receipt lists.": lambda many: check(many == D),
        "The odds change by # times at most.": lambda times: factor(times, E),
        "From these # rows, how many people have a rare true answer can be estimated to within about # people, and how "
        "many have a frequent one to within about # (19 times in 20, for all answers at once). A group of # people or "
        "fewer": counted,
        "In # rows an estimate may be off by as many rows as there are.": lambda rows: check(rows == N),
        "That is for # answers that are asked for at once.": lambda many: check(many == D),
        "Whoever sees it may change their odds about you by # times": lambda times: factor(times, E),
        "is at most # times as likely for an answer in its set as for another.": lambda times: factor(times, E),
        "On average a report tells at most # bits about its answer, and makes guessing it at most # times": average,
        "(Dietzfelbinger #)": lambda year: check(year == 1996),
        "Asked for: ldp=#.": lambda ldp: check(ldp == 1),
        "rounded up: ldp #.": lambda ldp: up(ldp, 1, 1e-4),
    }


def check(holds: bool) -> None:
    assert holds


@pytest.mark.parametrize("name", LAWS)
def test_every_protocol(name: str) -> None:
    receipt = dv.release(TABLE, column="answer", guarantee="ldp=1", protocol=name, values=ANSWERS, per_row=True)
    read, grids = pages(dv.statement(receipt))
    ((header, *rows),) = grids
    assert header[0] == "From, of 1,000"
    for before, then in rows:
        p = float(before) / 1000
        up(float(then), 1000 * p * E / (p * E + 1 - p), 1)
    read_all(read, reported(LAWS[name]), 11)
    same_in_german(receipt)
