"""The least noise that keeps what is asked, and how the total is divided among the queries."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.publishing.noising.composed import adp_epsilon
from divulge.publishing.noising.families import FAMILIES, Laplace, Noise, above, family_named
from divulge.publishing.noising.leakage import RecordPrior, concentration, largest_loss, leakages, leakages_of_records
from divulge.publishing.queries import Query, Unit
from divulge.roots import turn

PURE = ("dp", "pml", "pmc", "lip")
"""Guarantees that bound every outcome: discrete Laplace noise keeps them with the least variance."""

KINDS = (*PURE, "adp", "zcdp", "rdp")
"""Guarantees that statistics can be published under."""

POINTWISE = ("pml", "pmc", "lip")

LEAST_LEVEL, MOST_LEVEL = Fraction(1, 10**9), Fraction(10**9)
"""Between these epsilon, or rho, has to be."""

_STEPS = 60
"""Halvings of the interval in which a scale lies."""

_TRIES = 12
"""Compositions computed for one search, which take seconds each."""

_CLOSE = 5e-4
"""The least noise under adp is found to within this share of epsilon."""


def weights_of(queries: Sequence[Query], unit: Unit, family: type[Noise], split: Any) -> list[float]:
    """Return the share of the loss that each query gets; shares sum to 1, and 0 is for what no record changes.

    With loss E and share b, Laplace noise has scale L1 / (E b), and sigma^2 = L2^2 / (2 rho b). In units of what one
    row can change, n cells then have a mean squared error in proportion to n (L1/span)^2 / b^2, or n (L2/span)^2 / b,
    whose sum is least for shares in proportion to the cube root of n (L1/span)^2, or the root of n (L2/span)^2.
    "relative" makes all errors the same share of a cell of average size; "equal" gives every query the same. "need"
    makes the geometric mean of the widths of all statistics, each relative to what it can be, the least.

    >>> margins = [Query("rows", ("a",), (100,)), Query("rows", ("b",), (800,))]
    >>> [round(w, 6) for w in weights_of(margins, Unit(), Laplace, "mean-squared")]  # cube roots of 1 and 8
    [0.333333, 0.666667]
    """
    changed = [q.changes(unit) for q in queries]
    if isinstance(split, (list, tuple)):
        given = [float(w) for w in split] if all(isinstance(w, (int, float)) for w in split) else []
        if len(given) != len(queries) or not all(0 < w < math.inf for w in given):
            raise DivulgeError.of(
                "split", f"be {len(queries)} positive numbers, one a query", "it", repr(split)[:60],
                "or need, mean-squared, relative, equal.",
            )  # fmt: skip
        raw = given
    elif split == "need" or isinstance(split, Need):
        parts = split.parts if isinstance(split, Need) else tuple((i,) for i in range(len(queries)))
        raw = _needed(queries, changed, family, parts)
    elif split == "equal":
        raw = [1.0] * len(queries)
    elif split in ("mean-squared", "relative"):
        raw = [_wanted(q, l1, l2, family, split) for q, (l1, l2) in zip(queries, changed, strict=True)]
    else:
        raise DivulgeError.of("split", "be need, mean-squared, relative, equal, or numbers", "it", repr(split)[:60])
    raw = [w if l1 else 0.0 for w, (l1, _) in zip(raw, changed, strict=True)]
    total = sum(raw)
    return [w / total for w in raw] if total else raw


@dataclass(frozen=True)
class Need:
    """The rule by which each statistic gets the same, and its queries what they need; `parts` has them by place."""

    parts: tuple[tuple[int, ...], ...]


_ROUNDS = 200
"""Steps of the fixed point of shares; each halves the distance to it, on a scale of logarithms."""

_DIVISOR = 0.5
"""A mean, less the middle of its bounds, is at most half of their span: so much of the error of the rows counts."""


def _needed(
    queries: Sequence[Query], changed: Sequence[tuple[int, int]], family: type[Noise], parts: Sequence[Sequence[int]]
) -> list[float]:
    """Return shares b for which the sum over statistics of log W is least, W = sum of A / b over its queries.

    A / (b E) is the scale of Laplace noise, relative to what a cell of average size can hold; with Gaussian noise it is
    A / sqrt(b). At the least, b is the sum over statistics of the query's part of W: a fixed point.
    """
    sizes = [
        _wanted(query, *norms, family, "relative") ** family.power
        for query, norms in zip(queries, changed, strict=True)
    ]
    uses = [[(i, sizes[i] * (_DIVISOR if j and queries[i].kind == "rows" else 1.0)) for j, i in enumerate(part)
             if changed[i][0]] for part in parts]  # fmt: skip
    shares = [1.0 if l1 else 0.0 for l1, _ in changed]
    for _ in range(_ROUNDS):
        parts_of = [0.0] * len(queries)
        for use in uses:
            width = math.fsum(size / shares[i] ** family.power for i, size in use)
            for i, size in use:
                parts_of[i] += size / shares[i] ** family.power / width
        shares = [math.sqrt(share * part) for share, part in zip(shares, parts_of, strict=True)]
    return shares


def _wanted(query: Query, l1: int, l2: int, family: type[Noise], split: str) -> float:
    """Return the optimal share of a query, up to a common factor."""
    span, cells = float(query.span), query.cells
    if query.kind == "ranks":  # ranks are off by about scale log(candidates) / denominator
        span, cells = query.only.denominator / (1 + math.log(query.candidates)), cells * query.draws
    size, power = family.norm(l1, l2) / span, family.power
    return (size * query.cells) ** (1 / power) if split == "relative" else (cells * size**2) ** (1 / (1 + 2 * power))


@dataclass(frozen=True)
class Calibration:
    """Noise for each query, and what it guarantees.

    noises : tuple of Noise
    guarantees : {"dp": epsilon, "pml": ...}, or {"adp": {"epsilon", "delta"}}; nats, rounded up
    loss : the most that the log-likelihood of an outcome changes with one unit replaced; may be inf
    exact : kinds whose number is what the law of the noise attains, and no bound from above alone
    """

    noises: tuple[Noise, ...]
    guarantees: dict[str, Any]
    loss: Fraction | float
    exact: tuple[str, ...]


def calibrated(
    queries: Sequence[Query], unit: Unit, asked: Sequence[Guarantee], prior: RecordPrior | None, noise: str | None,
    split: Any, before: Sequence[tuple[Query, Noise]] = (),
) -> Calibration:  # fmt: skip
    """Return the noise with which every guarantee asked for is kept, and no smaller noise of the family would do.

    `before` has what is drawn first, with its noise: all that is promised is about both together.
    """
    fixed = tuple(noise for _, noise in before)
    queries = (*(query for query, _ in before), *queries)
    for one in asked:
        if one.kind not in KINDS:
            raise DivulgeError.of("guarantee", f"be of a kind for statistics ({', '.join(KINDS)})", "it", str(one))
        if one.kind in POINTWISE and prior is None:
            raise DivulgeError.of(
                "record_prior", f"be given for {one}: what is known of the record before", "it", "absent",
                "lower=0.01 (--record-prior lower=0.01) means that every value of the secret has a probability "
                "of 0.01 or more.",
            )  # fmt: skip
    pure = any(one.kind in PURE for one in asked)
    families = [one for one in FAMILIES.values() if one.bounded or not pure]
    if noise is not None:
        if (given := family_named(noise)) not in families:
            raise DivulgeError.of("noise", "be laplace for a guarantee that holds at every outcome", "it", noise,
                                  "Gaussian noise keeps adp, zcdp and rdp.")  # fmt: skip
        families = [given]
    if not any(query.changes(unit)[0] for query in queries):
        none = tuple(Laplace(0.0) for _ in queries[len(fixed) :])
        return Calibration(none, {one.kind: _level(one, 0.0) for one in asked}, Fraction(0), ())
    best: tuple[Noise, ...] | None = None
    for family in families:
        made = _of_family(
            queries, unit, asked, prior, family, split, math.inf if best is None else _loss(queries, best), fixed
        )
        if made is not None and (best is None or _loss(queries, made) < _loss(queries, best)):
            best = made
    if best is None:
        raise DivulgeError.of(
            "guarantee", "leave room for noise", "what is asked", ", ".join(map(str, asked)), "allow more leakage."
        )
    found = _calibration(queries, unit, asked, prior, best)
    return replace(found, noises=found.noises[len(fixed) :])


def _loss(queries: Sequence[Query], noises: Sequence[Noise]) -> float:
    """Return the mean squared error of all cells, in units of what one row can change."""
    terms = [
        q.cells * (n.scale * (1 + math.log(q.candidates)) / q.only.denominator) ** 2
        if q.kind == "ranks" else q.cells * (n.deviation / q.span) ** 2
        for q, n in zip(queries, noises, strict=True)
    ]  # fmt: skip
    return math.fsum(terms)


def _of_family(
    queries: Sequence[Query],
    unit: Unit,
    asked: Sequence[Guarantee],
    prior: RecordPrior | None,
    family: type[Noise],
    split: Any,
    beaten: float,
    fixed: tuple[Noise, ...],
) -> tuple[Noise, ...] | None:
    """Return the least noise of a family that keeps all that is asked; None where none does, or none with less loss.

    The first queries have the noise that is fixed already.
    """
    free = queries[len(fixed) :]
    weights = weights_of(free, unit, family, split)

    def noises(total: Fraction | float) -> tuple[Noise, ...]:
        """Return noise that spends `total`, E or rho, in the shares; scales are rounded up."""
        out: list[Noise] = [*fixed]
        for query, weight in zip(free, weights, strict=True):
            l1, l2 = query.changes(unit)
            share = Fraction(total) * Fraction(weight)
            out.append(family.spending(share, l1, l2) if l1 else family(0.0))
        return tuple(out)

    if beaten < math.inf and all(one.kind == "adp" for one in asked):
        values = [one.values() for one in asked]
        likely = min(family.start(float(v["epsilon"]), float(v["delta"])) for v in values) * 1.01
        if not likely > 0 or _loss(queries, noises(Fraction(likely))) >= beaten:
            return None
    totals = [_total(one, queries, unit, prior, family, noises) - _taken(one, queries, unit, family, fixed)
              for one in asked]  # fmt: skip
    least = min(totals)
    if not 0 < least < math.inf:
        return None
    return _nudged(noises, least, lambda made: all(_keeps(one, queries, unit, prior, made) for one in asked))


def _taken(
    asked: Guarantee, queries: Sequence[Query], unit: Unit, family: type[Noise], fixed: Sequence[Noise]
) -> Fraction:
    """Return what noise that is fixed takes of a total of the family; of one that was searched it is left out."""
    if not fixed or family.total(asked, Fraction(1)) is None:
        return Fraction(0)
    return sum((type(noise).spent(Fraction(noise.scale), *query.changes(unit))
                for query, noise in zip(queries, fixed, strict=False)), Fraction(0))  # fmt: skip


def _nudged(
    noises: Callable[[Any], tuple[Noise, ...]], total: Any, kept: Callable[[Any], bool]
) -> tuple[Noise, ...] | None:
    """Return noise for the total, taken back by roundings until what was asked is kept to the last digit."""
    for k in range(40):
        made = noises(Fraction(total) * (1 - Fraction(2**k - 1, 2**52)))
        if kept(made):
            return made
    return None


def _total(
    asked: Guarantee, queries: Sequence[Query], unit: Unit, prior: RecordPrior | None, family: type[Noise],
    noises: Callable[[Any], tuple[Noise, ...]],
) -> Any:  # fmt: skip
    """Return the largest total that keeps one guarantee: E for Laplace noise, rho for Gaussian."""
    values = {name: Fraction(value) if value != math.inf else math.inf for name, value in asked.values().items()}
    level: Any = values["rho"] if asked.kind == "zcdp" else values["epsilon"]
    level = require_range(asked)
    if (known := family.total(asked, level)) is not None:
        return known
    if asked.kind in POINTWISE:
        assert prior is not None
        own = [
            _loss_for(kind, level, prior.least) for kind in (POINTWISE[:2] if asked.kind == "lip" else (asked.kind,))
        ]
        # what a loss with one unit replaced is in terms of a unit added
        share = noises(Fraction(1))
        scale = largest_loss(queries, share, unit, unit.secrets)
        return _searched(asked, queries, unit, prior, noises, min(own) / Fraction(scale))
    if asked.kind == "adp":
        delta = float(values["delta"])
        start = family.start(float(level), delta)
        return _followed(
            lambda total: _level_of(asked, queries, unit, prior, noises(Fraction(total)))[0], float(level), start
        )
    return _searched(asked, queries, unit, prior, noises, Fraction(1))


def require_range(asked: Guarantee) -> Fraction:
    """Return epsilon, or rho, of a guarantee; refuse what no noise in 64 bits keeps, or what promises nothing."""
    level = asked.values()["rho" if asked.kind == "zcdp" else "epsilon"]
    if not LEAST_LEVEL <= level <= MOST_LEVEL:
        raise DivulgeError.of(
            "guarantee", f"be from {float(LEAST_LEVEL):g} to {float(MOST_LEVEL):g}", asked.kind,
            f"{exact.as_float(level):g}", "at 0 nothing can be published, and beyond everything is.",
        )  # fmt: skip
    return Fraction(level)


def _followed(epsilon_of: Callable[[float], float], wanted: float, start: float) -> Any:
    """Return a total whose epsilon is at most `wanted`, and within 5e-4 of it where secants lead there."""
    if not start > 0:
        return Fraction(0)
    goal, seen, best = math.log(wanted), list[tuple[float, float]](), 0.0
    total, slope = start * (1 - 1e-5), 0.5
    for _ in range(_TRIES):
        found = epsilon_of(total)
        if found <= wanted:
            best = max(best, total)
            if found >= wanted * (1 - _CLOSE):
                break
        if not 0 < found < math.inf:
            total /= 2
            continue
        seen.append((math.log(total), math.log(found)))
        if len(seen) > 1 and seen[-1][0] != seen[-2][0]:
            slope = min(2.0, max(0.2, (seen[-1][1] - seen[-2][1]) / (seen[-1][0] - seen[-2][0])))
        total = math.exp(seen[-1][0] + (goal + math.log1p(-_CLOSE / 2) - seen[-1][1]) / slope)
    return Fraction(best)


def _loss_for(kind: str, level: Any, p: Fraction) -> Fraction:
    """Return E with -log(p + (1-p) e^-E) = level, or log(p + (1-p) e^E) = level, rounded down.

    >>> p = Fraction(1, 100)
    >>> abs(float(_loss_for("pml", Fraction(1), p)) - math.log(0.99 / (math.exp(-1) - 0.01))) < 1e-14
    True
    """
    import flint

    with flint.ctx.workprec(192):
        epsilon, least = exact.arb(Fraction(level)), exact.arb(p)
        if kind == "pmc":
            return Fraction(exact.round_down(((epsilon.exp() - least) / (1 - least)).log()))
        left = (-epsilon).exp() - least
        if not left > 0:
            raise DivulgeError.of(
                "guarantee", f"be below log(1/p) = {-math.log(p):.4g} to promise anything", "it",
                f"pml={float(level):g}",
                "a secret of this prior cannot be told more than that, whatever is published.",
            )  # fmt: skip
        return Fraction(exact.round_down(((1 - least) / left).log()))


def _searched(
    asked: Guarantee, queries: Sequence[Query], unit: Unit, prior: RecordPrior | None,
    noises: Callable[[Any], tuple[Noise, ...]], start: Fraction,
) -> Any:  # fmt: skip
    """Return the largest total whose noise keeps the guarantee, by halving on a scale of logarithms."""

    def kept(log: float) -> bool:
        return _keeps(asked, queries, unit, prior, noises(Fraction(math.exp(log))))

    low = high = math.log(float(start))
    for _ in range(_STEPS):
        if kept(low):
            break
        high, low = low, low - 1.0
    else:
        return Fraction(0)
    while low == high or kept(high):
        if high > low:
            low = high
        high += 1.0
        if high > 60:
            return Fraction(math.exp(low))
    return Fraction(math.exp(turn(lambda log: not kept(log), low, high, steps=_STEPS)[0]))


def _keeps(
    asked: Guarantee, queries: Sequence[Query], unit: Unit, prior: RecordPrior | None, made: Sequence[Noise]
) -> bool:
    """Say whether the noise keeps a guarantee, by the number that would be printed."""
    found, _ = _level_of(asked, queries, unit, prior, made)
    wanted = asked.values()
    return found <= Fraction(wanted["rho"] if asked.kind == "zcdp" else wanted["epsilon"])


def _level_of(
    asked: Guarantee, queries: Sequence[Query], unit: Unit, prior: RecordPrior | None, made: Sequence[Noise]
) -> tuple[float, bool]:
    """Return how much of the kind that is asked for the noise gives, rounded up, and whether the law attains it."""
    counts = all(query.kind == "rows" for query in queries)
    if asked.kind == "dp":
        return _up(largest_loss(queries, made, unit)), counts
    if asked.kind in POINTWISE:
        assert prior is not None
        whole = leakages_of_records(queries, made, unit, prior)
        return (whole or leakages(largest_loss(queries, made, unit, unit.secrets), prior))[asked.kind], counts
    if asked.kind == "zcdp":
        return _up(concentration(queries, made, unit)), counts and asked.kind in made[-1].attains
    if asked.kind == "rdp":
        alpha = Fraction(asked.values()["alpha"])
        pure, rho = largest_loss(queries, made, unit), concentration(queries, made, unit)
        return _up(min(rho * alpha, pure)), False
    return adp_epsilon(tuple(queries), tuple(made), unit, float(asked.values()["delta"])), False


def _up(value: Fraction | float) -> float:
    return above(value) if isinstance(value, Fraction) else value


def _level(one: Guarantee, value: float) -> Any:
    if one.kind == "adp":
        return {"epsilon": value, "delta": float(one.values()["delta"])}
    return {"alpha": float(one.values()["alpha"]), "epsilon": value} if one.kind == "rdp" else value


def _calibration(
    queries: Sequence[Query], unit: Unit, asked: Sequence[Guarantee], prior: RecordPrior | None, made: tuple[Noise, ...]
) -> Calibration:
    """Return the noise with what it guarantees: what was asked first, then what else is known."""
    found: dict[str, Any] = {}
    attained: list[str] = []
    for one in asked:
        value, sharp = _level_of(one, queries, unit, prior, made)
        level = float(one.values()["rho" if one.kind == "zcdp" else "epsilon"])
        found[one.kind] = _level(one, level if value > level * (1 - 1e-3) else value)
        attained += [one.kind] if sharp else []
    pure = largest_loss(queries, made, unit)
    found.setdefault("dp", _up(pure))
    if pure == math.inf:
        del found["dp"]
    found.setdefault("zcdp", _up(concentration(queries, made, unit)))
    if pure < math.inf and "zcdp" not in [one.kind for one in asked]:
        del found["zcdp"]
    loss = largest_loss(queries, made, unit, unit.secrets)
    if prior is not None:
        whole = leakages_of_records(queries, made, unit, prior) or leakages(loss, prior)
        found = {**found, **{kind: value for kind, value in whole.items() if kind not in found and value < math.inf}}
    return Calibration(made, found, loss, tuple(attained))
