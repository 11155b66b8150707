"""Claims about any set of outcomes: the set is chosen on one half of the rows, and tested on the other.

(epsilon, delta)-DP and its like bound every event, and the worst one has many outcomes. Rows are put into three parts
by chance: one orders the outcomes by how much likelier they are with one secret than with another (as DP-Sniper orders
them), the second picks the pair of secrets and the threshold (as StatDP picks its event), and the third, half of the
rows, tests this one event. Whatever the first two parts find, the third is independent of it.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from divulge.auditing.rates import OF_PAIRS, Rates
from divulge.extras import require
from divulge.guarantees.guarantee import Guarantee

BY_EVENT = tuple(kind for kind in OF_PAIRS if kind not in ("ldp", "lift-capacity"))
"""Kinds of claims that are tested so; those left out have their worst event in a single outcome."""

OF_ONE_EVENT = ("dp", "adp", "tv", "gdp")
"""Kinds that the best single event breaks; divergences add up over several."""

EVENTS = 12
"""Nested events by which a divergence is bounded; more of them leave each less of the risk. A measured choice: from 8
to 20 the bounds on zCDP and Renyi DP of Gaussians are alike, and with 3 they are a tenth lower."""

PAIRS = 1000
"""Pairs of secrets that are looked at: all of up to 45 secrets, which takes seconds."""

FINALISTS = 12
"""Pairs that bounds are computed for, those whose outcomes are furthest apart: bounds are slower than differences."""

BINS = 64
"""Groups of numbers that lie side by side, at most: an event is a union of some of them."""

FEW = 12
"""So few numbers are told one by one, as labels are: a line of them."""

LEARNED = 0.25
"""The share of rows by which outcomes are ordered, and of those by which the event is picked: a heuristic, so that half
are left for the test."""

Groups = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]
"""Of outcomes: which group each is in; for numbers, the ends of the groups, and the direction they are seen from."""


@dataclass(frozen=True)
class ChosenEvent:
    """The event that tests a claim, and what the other half of the rows shows of it.

    secrets : pair of positions; the event is likelier with the first
    outcomes : positions of the outcomes in the event, among those that occur
    words : for outcomes that are numbers: where they lie
    rows : ((hits, rows with the first secret), (hits, rows with the second)); of the half that tests
    level : lower bound on the parameter of the claim
    most : the level if the event always came with the first secret and never with the second

    >>> found = chosen_event(np.array([[900, 100], [100, 900]]), ("u", "v"), dv.ADP(1, "1/100"), 0.05)
    >>> found.secrets, found.outcomes, found.refuted, 1 < found.level < 2.2
    ((0, 1), (0,), True, True)
    """

    secrets: tuple[int, int]
    outcomes: tuple[int, ...]
    words: str | None
    rows: tuple[tuple[int, int], tuple[int, int]]
    level: float
    parameter: str
    most: float
    refuted: bool


def chosen_event(counts: np.ndarray, outcomes: Sequence[Hashable], claim: Guarantee, risk: float) -> ChosenEvent | None:
    """Return the event that was chosen on one half of the rows, tested on the other; None where nothing can be told.

    A true claim is refuted with probability `risk` at most. Outcomes that are numbers, or tuples of them, are put into
    groups that lie side by side, if they are many.

    Source: Bichsel, Steffen, Bogunovic, Vechev, "DP-Sniper: Black-Box Discovery of Differential Privacy Violations
    using Classifiers", 2021; Ding, Wang, Wang, Zhang, Kifer, "Detecting Violations of Differential Privacy",
    arXiv:1805.10277.
    """
    parts = _parts(counts)
    learned, picked, tested = parts
    rows = np.minimum(np.minimum(learned.sum(axis=1), picked.sum(axis=1)), tested.sum(axis=1))
    enough = np.flatnonzero(rows > 0)
    if len(enough) < 2 or counts.shape[1] < 2:
        return None
    values = _numbers(outcomes) if len(outcomes) > FEW else None
    finalists = _finalists(learned, picked, values, enough.tolist())
    best = max((_picked(learned, picked, values, pair, claim, risk) for pair in finalists), key=lambda one: one.shown)
    return _tested(best, tested, claim, risk)


@dataclass(frozen=True)
class _Candidate:
    """Groups of outcomes in the order of their ratio, the likeliest with the first secret first, and where to cut."""

    pair: tuple[int, int]
    groups: Groups
    order: np.ndarray
    cuts: np.ndarray
    shown: float

    def counted(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
        """Return hits and alarms of each event among these rows, and rows of both secrets."""
        both = _by_group(counts[list(self.pair)], self.groups)[:, self.order].cumsum(axis=1)
        hits, alarms = both[:, self.cuts]
        return hits, alarms, (int(both[0, -1]), int(both[1, -1]))


def _parts(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows in three parts, each row by chance: those are independent, given their sizes.

    The same counts are split in the same way. The seed is a hash of them: with one seed for all, rows of one part would
    tell by how much those of another exceed what is expected, since both would be made of the counts alone.
    """
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(counts.tobytes()).digest()))
    learned = rng.binomial(counts, LEARNED)
    picked = rng.binomial(counts - learned, LEARNED / (1 - LEARNED))
    return learned, picked, counts - learned - picked


def _numbers(outcomes: Sequence[Hashable]) -> np.ndarray | None:
    """Return outcomes that are numbers, also as text, or tuples of them, as floats of shape (M, d); None for others."""
    rows: list[tuple[Any, ...]] = [one if isinstance(one, tuple) else (one,) for one in outcomes]
    if not all(isinstance(v, (int, float, np.number, str)) and not isinstance(v, bool) for row in rows for v in row):
        return None
    try:
        found = np.array([[float(v) for v in row] for row in rows], dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    return found if np.isfinite(found).all() else None


def _finalists(
    learned: np.ndarray, picked: np.ndarray, values: np.ndarray | None, secrets: list[int]
) -> list[tuple[int, int]]:
    """Return the pairs of secrets whose outcomes are furthest apart, in standard deviations of the best event."""
    pairs = list(combinations(secrets, 2))
    if len(pairs) > PAIRS:
        pairs = _extreme(learned, values, secrets)
    if len(pairs) <= FINALISTS:
        return pairs
    apart = [_apart(learned, picked, values, pair) for pair in pairs]
    return [pairs[i] for i in np.argsort(-np.array(apart), kind="stable")[:FINALISTS]]


def _extreme(learned: np.ndarray, values: np.ndarray | None, secrets: list[int]) -> list[tuple[int, int]]:
    """Return for each outcome, or group of numbers, the secrets with which it is likeliest and least likely."""
    among = learned[secrets]
    tables = [among] if values is None else [
        _by_group(among, _side_by_side(column, among.sum(axis=0))) for column in values.T
    ]  # fmt: skip
    found: dict[tuple[int, int], float] = {}
    for table in tables:
        rates = (table + 0.5) / (table.sum(axis=1, keepdims=True) + 1.0)
        for high, low, ratio in zip(
            rates.argmax(axis=0), rates.argmin(axis=0), rates.max(axis=0) / rates.min(axis=0), strict=True
        ):
            pair = (secrets[high], secrets[low])
            if high != low:
                found[pair] = max(found.get(pair, 0.0), float(ratio))
    return sorted(found, key=lambda pair: -found[pair])[:PAIRS] or [(secrets[0], secrets[1])]


def _apart(learned: np.ndarray, picked: np.ndarray, values: np.ndarray | None, pair: tuple[int, int]) -> float:
    hits, alarms, (n, m) = _ordered(learned, values, pair).counted(picked)
    p, q = (hits + 0.5) / (n + 1), (alarms + 0.5) / (m + 1)
    return float(np.abs((p - q) / np.sqrt(p * (1 - p) / n + q * (1 - q) / m)).max())


def _ordered(learned: np.ndarray, values: np.ndarray | None, pair: tuple[int, int]) -> _Candidate:
    """Return the groups of outcomes in the order of how much likelier they are with the first secret; all cuts."""
    both = learned[list(pair)]
    groups = _grouped(both, values)
    tallied = _by_group(both, groups)
    rates = (tallied + 0.5) / (tallied.sum(axis=1, keepdims=True) + 1.0)
    ratio = rates[0] / rates[1]
    order = np.argsort(-ratio, kind="stable")
    last = np.flatnonzero(np.diff(ratio[order], append=-1.0))  # what ties is in or out together
    cuts = last[:-1] if len(last) > 1 else last
    return _Candidate(pair, groups, order, cuts, 0.0)


def _picked(
    learned: np.ndarray, picked: np.ndarray, values: np.ndarray | None, pair: tuple[int, int], claim: Guarantee,
    risk: float,
) -> _Candidate:  # fmt: skip
    """Return the events of a pair by which a claim is tested, and what the test shows if frequencies stay."""
    all_cuts = _ordered(learned, values, pair)
    hits, alarms, of = all_cuts.counted(picked)
    scale = (1 - 2 * LEARNED) / LEARNED  # so many times as many rows will test
    sizes, cuts = (int(of[0] * scale), int(of[1] * scale)), np.zeros(len(hits))
    right, wrong = ((part * scale).astype(np.int64) for part in (hits, alarms))
    shown = _shown(Rates.fixed(cuts, right, wrong, sizes, risk * len(hits)), claim)  # each by itself, at the whole risk
    best = int(shown.argmax())
    if claim.kind in OF_ONE_EVENT:
        return replace(all_cuts, cuts=all_cuts.cuts[[best]], shown=float(shown[best]))
    return replace(all_cuts, cuts=_spread(all_cuts.cuts, (hits / of[0] + alarms / of[1]) / 2), shown=float(shown[best]))


def _shown(rates: Rates, claim: Guarantee) -> np.ndarray:
    """Return what each event shows, on a scale by which events are compared."""
    if claim.kind in ("dp", "adp"):
        return rates.epsilons(float(getattr(claim, "delta", 0)))
    return rates.lower - rates.upper if claim.kind == "tv" else rates.mus()


def _spread(cuts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return some of the cuts, between which about as many rows lie."""
    steps = np.searchsorted(shares, np.arange(1, EVENTS + 1) / (EVENTS + 1))
    return cuts[np.unique(np.minimum(steps, len(cuts) - 1))]


def _tested(chosen: _Candidate, tested: np.ndarray, claim: Guarantee, risk: float) -> ChosenEvent:
    hits, alarms, of = chosen.counted(tested)
    rates = Rates.fixed(np.zeros(len(hits)), hits, alarms, of, risk)
    name, level, refuted = _level(claim, rates)
    most = _level(claim, Rates.fixed(np.zeros(1), np.array([of[0]]), np.array([0]), of, risk))[1]
    at, flipped = _decisive(rates, claim)
    inside = np.isin(chosen.groups[0], chosen.order[: chosen.cuts[at] + 1])
    pair, rows = chosen.pair, ((int(hits[at]), of[0]), (int(alarms[at]), of[1]))
    if flipped:
        inside, pair = ~inside, (pair[1], pair[0])
        rows = ((of[1] - int(alarms[at]), of[1]), (of[0] - int(hits[at]), of[0]))
    held = tuple(np.flatnonzero(inside).tolist())
    return ChosenEvent(pair, held, _words(chosen, at, flipped), rows, level, name, most, refuted)


def _level(claim: Guarantee, rates: Rates) -> tuple[str, float, bool]:
    """Return which parameter of a claim the bounds are hardest on, how large it is at least, and if that is too large.

    Of all pairs of distributions with such rates, one tells least, and the others can be made into it by forgetting.
    """
    verdict = claim.holds_for(rates.least_channel())
    return verdict.tested, float(verdict.levels[verdict.tested]), not verdict.holds and not verdict.undecided


def _decisive(rates: Rates, claim: Guarantee) -> tuple[int, bool]:
    """Return the event that shows most, and whether its complement, with the other secret, shows more."""
    at = int(_shown(rates, claim).argmax())
    delta, low, high = float(getattr(claim, "delta", 0)), float(rates.lower[at]), float(rates.upper[at])
    above = (low - delta) / high
    below = (1 - high - delta) / (1 - low) if low < 1 else 0.0
    return at, claim.kind in ("dp", "adp") and below > above


def _grouped(both: np.ndarray, values: np.ndarray | None) -> Groups:
    """Return the groups of outcomes for two secrets: each by itself, or numbers that lie side by side."""
    if values is None:
        return np.arange(both.shape[1]), None, None
    if values.shape[1] == 1:
        return _side_by_side(values[:, 0], both.sum(axis=0))
    direction = _direction(both, values)
    groups, ends, _ = _side_by_side(values @ direction, both.sum(axis=0))
    return groups, ends, direction


def _side_by_side(line: np.ndarray, weights: np.ndarray) -> Groups:
    """Return groups of numbers that hold about as many rows each: as many groups as each has rows, at most `BINS`."""
    order = np.argsort(line, kind="stable")
    cumulated = weights[order].cumsum()
    total = int(cumulated[-1])
    size = min(BINS, max(2, int(np.sqrt(total))))
    if len(np.unique(line)) <= size:
        ends = np.unique(line)[:-1]
    else:
        at = np.searchsorted(cumulated, np.arange(1, size) * total / size)
        ends = np.unique(line[order[np.minimum(at, len(line) - 1)]])
        ends = ends[ends < line.max()]
    return np.searchsorted(ends, line, side="left"), ends, None


def _direction(both: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the direction in which two secrets are furthest apart (Fisher's linear discriminant)."""
    shares = both / both.sum(axis=1, keepdims=True)
    means = shares @ values
    scatter = sum(((values - mean).T * share) @ (values - mean) for share, mean in zip(shares, means, strict=True))
    linalg = require("scipy.linalg", "science")
    found = linalg.pinvh(scatter) @ (means[0] - means[1])
    length = float(np.abs(found).max())
    return found / length if length > 0 else np.eye(values.shape[1])[0]


def _by_group(counts: np.ndarray, groups: Groups) -> np.ndarray:
    """Return rows by group."""
    size = 1 + int(groups[0].max())
    return np.stack([np.bincount(groups[0], weights=row, minlength=size).astype(np.int64) for row in counts])


def _words(chosen: _Candidate, at: int, flipped: bool) -> str | None:
    """Return where the numbers of an event lie; None where outcomes are listed."""
    _, ends, direction = chosen.groups
    if ends is None:
        return None
    inside = np.zeros(len(ends) + 1, dtype=bool)
    inside[chosen.order[: chosen.cuts[at] + 1]] = True
    inside ^= flipped
    name = "the number"
    if direction is not None:
        name = " + ".join(f"{weight:.6g} * column {i + 1}" for i, weight in enumerate(direction))
    edges = [-np.inf, *ends.tolist(), np.inf]
    starts = [i for i in range(len(inside)) if inside[i] and not (i and inside[i - 1])]
    stops = [i + 1 for i in range(len(inside)) if inside[i] and not (i + 1 < len(inside) and inside[i + 1])]
    return f"{name} is {' or '.join(_range(edges[a], edges[b]) for a, b in zip(starts, stops, strict=True))}"


def _range(low: float, high: float) -> str:
    if low == -np.inf:
        return f"at most {high!r}" if high < np.inf else "any number"
    return f"above {low!r}" + (f" and at most {high!r}" if high < np.inf else "")
