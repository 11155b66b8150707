"""The protocols by their names in the literature, each a family of sets and a rational ratio of at most e^epsilon."""

import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.accepted import LabelsLike
from divulge.model.entries import scalar, whole_number
from divulge.model.labels import Labels, alphabet
from divulge.model.prior import Prior
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.family import Sets
from divulge.protocols.sets.geometry import points
from divulge.protocols.sets.ordered import Independent, Subsets
from divulge.protocols.sets.prefixes import Prefixes
from divulge.protocols.sets.transformed import HadamardRows, Hyperplanes
from divulge.protocols.two_level import TEXTS

MOST_VALUES = 1 << 31
"""Values that a report can be about: positions and products of two of them fit 64 bits."""

LEAST_EPSILON = 1e-12
"""Below it 10^24 reports estimate nothing, and the rational ratio is soon 1."""

MOST_EPSILON = 40.0
"""Beyond it the less likely level would come up less often than once in 10^17 reports: that is no protection."""

SEED_BITS = 192
"""Of the seed of a hash: three words."""

BITS = 62
"""Bits of a ratio: it lies below e^epsilon by less than a share of 2^-61."""

USUAL_LENGTH = 16
"""Bytes of the longest prefix where nothing is said: names of sites, words, codes, each with a 15th of the reports."""

LONGEST_STEP = 2
"""Bytes between two lengths: 21,609 texts of ASCII can follow each prefix, and those of three bytes are 3 million."""

MOST_LENGTH = 256
"""Bytes of the longest prefix: with more lengths no number of people in the world would be enough."""

ROOM = 4
"""A projective space may have so many times the values asked for, to come near the best number of hyperplanes."""


def values_of(values: Any) -> Labels:
    """Return the labels of the values: of a number K, labels or a Prior; at least 2, at most 2^31."""
    if isinstance(values, Prior):
        labels = values.secrets
    elif isinstance(values, bool) or not (isinstance(values, Iterable) or hasattr(values, "__index__")):
        raise DivulgeError.of("values", "be a number of values or their labels", "it", f"a {type(values).__name__}")
    else:
        count = None if isinstance(values, Iterable) else operator.index(values)
        if count is not None:
            _require_number(count)
        labels = alphabet(values, None, "values") if count is None else range(count)
    _require_number(len(labels))
    return labels


def _require_number(count: int) -> None:
    if not 2 <= count <= MOST_VALUES:
        raise DivulgeError.of("values", "be at least 2 and at most 2^31", "their number", f"{count:,}",
                              "with one value there is nothing to hide; more of them go through local hashing as text."
                              )  # fmt: skip


def level_of(epsilon: Any) -> float:
    """Return a checked epsilon, from 1e-12 to 40."""
    level = scalar(epsilon, "epsilon")
    if not LEAST_EPSILON <= level <= MOST_EPSILON:
        raise DivulgeError.of("epsilon", "be from 1e-12 to 40", "it", f"{level:g}",
                              "less tells nothing that could be estimated, and beyond 40 a report is the value itself."
                              )  # fmt: skip
    return level


def _ratio(level: float) -> Fraction:
    """Return a rational number just below e^epsilon, with a denominator that is a power of 2."""
    return exact.exp_below(level, BITS)


def _made(name: str, values: Labels, level: float, sets: Sets) -> Protocol:
    return Protocol(name, values, level, _ratio(level), sets)


def randomized_response(values: LabelsLike, epsilon: float) -> Protocol:
    """Return K-ary randomized response: the value itself with weight e^epsilon, each other one with weight 1.

    Parameters
    ----------
    values : int, sequence of labels, or Prior
        K in [2, 2^31], or the values.
    epsilon : float in [1e-12, 40], nats

    Returns
    -------
    Protocol

    Raises
    ------
    DivulgeError
        For fewer than 2 values or more than 2^31, repeated ones, or epsilon out of range.

    References
    ----------
    Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local privacy", 2016, arXiv:1602.07387.

    Examples
    --------
    >>> round(randomized_response(100, 1.0).variance(0), 6)
    34.112969
    """
    labels = values_of(values)
    return _made("randomized-response", labels, level_of(epsilon), Subsets(len(labels), 1))


def subset_selection(values: LabelsLike, epsilon: float, size: int | None = None) -> Protocol:
    """Return subset selection: a report is a set of d values, one that holds the own value with weight e^epsilon.

    Parameters
    ----------
    values : int, sequence of labels, or Prior
    epsilon : float in [1e-12, 40], nats
    size : int in [1, K - 1], optional
        d; the whole number nearest to K / (e^epsilon + 1) when not given.

    Returns
    -------
    Protocol

    References
    ----------
    Ye, Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy", 2018,
    arXiv:1702.00610.

    Examples
    --------
    >>> subset_selection(13, 1.0).sets.chosen, round(float(subset_selection(13, 1.0, size=4).bayes_capacity()), 6)
    (3, 1.778163)
    """
    labels, level = values_of(values), level_of(epsilon)
    usual = min(max(1, round(len(labels) / (math.exp(level) + 1))), len(labels) - 1)
    chosen = whole_number(usual if size is None else size, "size", 1, len(labels) - 1)
    return _made("subset-selection", labels, level, Subsets(len(labels), chosen))


def unary(values: LabelsLike, epsilon: float, symmetric: bool = False) -> Protocol:
    """Return unary encoding, RAPPOR's one-time form: K bits, one a value, each kept or flipped independently.

    Parameters
    ----------
    values : int, sequence of labels, or Prior
    epsilon : float in [1e-12, 40], nats
    symmetric : bool
        The bit of the own value is 1 with probability 1/2 and others with 1/(e^epsilon + 1) (optimized), or
        1/(e^(epsilon/2) + 1) is the chance of every bit to be flipped (symmetric).

    Returns
    -------
    Protocol
        `pml` and `pmc` are those of local differential privacy at the rarest value, whatever the other shares.

    References
    ----------
    Erlingsson, Pihur, Korolova, "RAPPOR", 2014, arXiv:1407.6981; Wang, Blocki, Li, Jha, 2017, section 4.

    Examples
    --------
    >>> round(unary(100, 1.0).variance(0), 6), round(unary(100, 1.0, symmetric=True).variance(0), 6)
    (3.682694, 3.917698)
    """
    labels, level = values_of(values), level_of(epsilon)
    one = _ratio(level / 2 if symmetric else level)
    sets = Independent(len(labels), 1 / (one + 1), float(len(labels)))
    name = "symmetric-unary" if symmetric else "optimized-unary"
    return Protocol(name, labels, level, one**2 if symmetric else one, sets)


def local_hashing(values: LabelsLike | None, epsilon: float, buckets: int | None = None) -> Protocol:
    """Return local hashing: a value is hashed into one of g buckets by a hash drawn for it, and randomized there.

    Parameters
    ----------
    values : int, sequence of labels, Prior, or None
        None for text without a list; a leakage is then asked under a prior of any values.
    epsilon : float in [1e-12, 40], nats
    buckets : int >= 2, optional
        g; the whole number nearest to e^epsilon + 1 when not given, at most 2^31.

    Returns
    -------
    Protocol
        Its leakages are those of an ideal hash, every set of values being some bucket's: with g = e^epsilon + 1 what
        optimized unary encoding leaks. No family of hashes has a larger pml or pmc.

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", 2017, section 4.

    Examples
    --------
    >>> round(local_hashing(10**6, 1.0).variance(0), 6)  # 4 buckets, the whole number nearest to e + 1
    3.691655
    """
    labels, level = range(TEXTS) if values is None else values_of(values), level_of(epsilon)
    buckets = _buckets(level, buckets)
    bits = SEED_BITS + math.log2(buckets)
    return _made("local-hashing", labels, level, Independent(len(labels), Fraction(1, buckets), bits))


def prefix_extension(
    epsilon: float, lengths: int | Iterable[int] = USUAL_LENGTH, buckets: int | None = None
) -> Protocol:
    """Return prefix extension: local hashing of a text's first bytes, of a length that is drawn for each report.

    Frequent texts are found without a list: the frequent prefixes of one length are those of the one before, with one
    more byte. Each person reports once, about one prefix, with all of epsilon: that is less noise than if all lengths
    shared it.

    Parameters
    ----------
    epsilon : float in [1e-12, 40], nats
    lengths : int L, or lengths in bytes, rising
        An L of at least 2 stands for 2, 3, ..., L. The first is at most 2, each at most 2 more than the one before, the
        last at most 256. Of a text as long as the last one, or longer, so many bytes count, cut behind a whole
        character.
    buckets : int >= 2, optional
        Of the hash; the whole number nearest to e^epsilon + 1 when not given.

    Returns
    -------
    Protocol
        Over text. Under a prior it leaks what reports of all lengths leak; `pml` and `pmc` are those of the longest.

    Raises
    ------
    DivulgeError
        For lengths that do not rise, or leave out too many bytes.

    References
    ----------
    Wang, Li, Jha, "Locally differentially private heavy hitter identification", 2018, arXiv:1708.06674.

    Examples
    --------
    >>> protocol = prefix_extension(3.0, 12)
    >>> protocol, protocol.sets.lengths
    (prefix-extension over text: ldp at most 3, (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
    >>> round(protocol.variance(0) / local_hashing(None, 3.0).variance(0), 9)  # an eleventh of the reports is of a text
    11.0
    """
    level, whole = level_of(epsilon), lengths_of(lengths)
    buckets = _buckets(level, buckets)
    bits = SEED_BITS + math.log2(buckets) + math.log2(len(whole))
    return _made("prefix-extension", range(TEXTS), level, Prefixes(TEXTS, Fraction(1, buckets), bits, whole))


def lengths_of(lengths: Any) -> tuple[int, ...]:
    """Return checked lengths of prefixes in bytes; a number, or its text, is the last of 2, 3, ...

    >>> lengths_of(4), lengths_of("1,2,4"), lengths_of([2, 3])
    ((2, 3, 4), (1, 2, 4), (2, 3))
    """
    try:
        given: Any = lengths.split(",") if isinstance(lengths, str) and "," in lengths else lengths
        several = isinstance(given, Iterable) and not isinstance(given, str)
        ones: list[Any] = list(given) if several else [given]
        whole = [int(one) if isinstance(one, str) else operator.index(one) for one in ones]
        found = whole if several else list(range(2, min(whole[0], MOST_LENGTH + 1) + 1))
    except (TypeError, ValueError):
        found = []
    steps = np.diff([0, *found])
    if not (found and steps.min() >= 1 and steps.max() <= LONGEST_STEP and found[-1] <= MOST_LENGTH):
        raise DivulgeError.of(
            "lengths", f"rise by 1 or {LONGEST_STEP} bytes each, from 1 or {LONGEST_STEP} to {MOST_LENGTH} at most",
            "they", "others", f"{USUAL_LENGTH} stands for 2, 3, ..., {USUAL_LENGTH}.",
        )  # fmt: skip
    return tuple(found)


def _buckets(level: float, buckets: int | None) -> int:
    usual = min(round(math.exp(level)) + 1, MOST_VALUES)
    return whole_number(usual if buckets is None else buckets, "buckets", 2, MOST_VALUES)


def hadamard(values: LabelsLike, epsilon: float) -> Protocol:
    """Return Hadamard response: a report is the number of a row of Hadamard's matrix, + at the value's column or not.

    Parameters
    ----------
    values : int, sequence of labels, or Prior
    epsilon : float in [1e-12, 40], nats

    Returns
    -------
    Protocol
        Reports have log2 of the least power of 2 above K bits; the first column, all +, stands for no value.

    References
    ----------
    Acharya, Sun, Zhang, "Hadamard response", 2019, arXiv:1802.04705.

    Examples
    --------
    >>> protocol = hadamard(13, 1.0)
    >>> protocol.bits, round(protocol.variance(0), 6)
    (4.0, 4.682694)
    """
    labels = values_of(values)
    return _made("hadamard", labels, level_of(epsilon), HadamardRows(len(labels)))


def projective(values: LabelsLike, epsilon: float, field: int | None = None, dimension: int | None = None) -> Protocol:
    """Return projective geometry response: values are points, a report is a hyperplane, rather one through the value.

    Parameters
    ----------
    values : int, sequence of labels, or Prior
        They take the first K points; there are (s^t - 1)/(s - 1) of them.
    epsilon : float in [1e-12, 40], nats
    field : prime s, optional
        Near e^epsilon + 1 when not given, with as few more points than values as can be.
    dimension : int t >= 2, optional
        The least one with enough points when not given.

    Returns
    -------
    Protocol

    Raises
    ------
    DivulgeError
        Also for a field that is no prime, and a space with too few points.

    References
    ----------
    Feldman, Nelson, Nguyen, Talwar, "Private frequency estimation via projective geometry", 2022, arXiv:2203.00194.

    Examples
    --------
    >>> protocol = projective(22_953, 5.0)
    >>> protocol.sets.field, protocol.sets.dimension, protocol.sets.inside
    (151, 3, 152)
    """
    labels, level = values_of(values), level_of(epsilon)
    if field is None:
        s, t = _best_space(len(labels), level, dimension)
    else:
        s = whole_number(field, "field", 2, MOST_VALUES)
        if not _prime(s):
            raise DivulgeError.of("field", "be a prime", "it", str(s))
        t = 2 if dimension is None else whole_number(dimension, "dimension", 2, 64)
        while dimension is None and points(s, t) < len(labels):
            t += 1
    if points(s, t) < len(labels):
        raise DivulgeError.of(
            "dimension", f"give at least {len(labels):,} points, one a value", "their number", f"{points(s, t):,}"
        )
    return _made("projective", labels, level, Hyperplanes(len(labels), s, t))


def _best_space(size: int, level: float, dimension: int | None) -> tuple[int, int]:
    """Return (s, t) of least variance at frequency 0 among spaces of at most ROOM times the points that are needed."""
    aim = min(math.exp(level) + 1, 2.0 * MOST_VALUES)
    candidates: set[tuple[int, int]] = set()
    for t in range(2, 33) if dimension is None else [whole_number(dimension, "dimension", 2, 64)]:
        from_root = range(max(2, int(size ** (1 / (t - 1))) - 3), 2 * MOST_VALUES)
        fewest = next(s for s in from_root if _prime(s) and points(s, t) >= size)
        if points(fewest, t) <= ROOM * size or not candidates:
            candidates.add((fewest, t))
        near = [s for s in range(max(2, int(aim) - 40), int(aim) + 41) if _prime(s)]
        candidates |= {(s, t) for s in near if size <= points(s, t) <= ROOM * size}
        if fewest == 2:
            break

    def cost(space: tuple[int, int]) -> tuple[float, int]:
        s, t = space
        protocol = _made("projective", range(size), level, Hyperplanes(size, s, t))
        return round(protocol.variance(0), 12), points(s, t)

    return min(candidates, key=cost)


def _prime(number: int) -> bool:
    """Say whether a number below 2^32 is prime, by the test of Miller and Rabin with bases 2, 7 and 61."""
    if number < 2 or any(number % small == 0 for small in (2, 3, 5, 7, 61) if number != small):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 7, 61):
        if base % number == 0:
            continue
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True
