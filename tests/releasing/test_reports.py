"""Reports of protocols: their law, their decoding, the error of their estimates, and intervals that hold."""

import pickle
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats
from support import NEVER

import divulge as dv
from divulge import kernels
from divulge.protocols.sets.ordered import Independent
from divulge.releasing.drawing.chance import Chance
from divulge.releasing.reports.hashing import buckets_of, supports
from divulge.releasing.reports.reports import Reports

P = dv.protocols
LISTED = [P.randomized_response, P.hadamard, P.projective]
DRAWN = [*LISTED, P.unary, P.local_hashing, P.subset_selection]


@pytest.mark.parametrize("make", LISTED)
def test_reports_have_the_law_of_the_matrix_and_of_no_other(make) -> None:
    protocol = make(6, 1.2)
    rows = protocol.channel().floats * 20_000
    x = np.repeat(np.arange(6), 20_000)
    found = np.zeros_like(rows)
    np.add.at(found, (x, protocol.report(x).reports), 1)
    freedom = rows.size - len(rows)
    assert ((found - rows) ** 2 / rows).sum() < stats.chi2.ppf(1 - NEVER, freedom)
    other = make(6, 1.4).channel().floats * 20_000
    assert ((found - other) ** 2 / other).sum() > stats.chi2.ppf(1 - NEVER, freedom)


@pytest.mark.parametrize(("size", "chosen"), [(2, 1), (4, 2), (5, 4), (6, 3), (9, 2)])
def test_sets_have_the_law_of_the_matrix_and_of_no_other(size: int, chosen: int) -> None:
    protocol, times = P.subset_selection(size, 1.2, size=chosen), 20_000
    _, _, members = protocol.sets.listed()
    x = np.repeat(np.arange(size), times)
    reports = protocol.report(x).reports
    bits = np.unpackbits(reports, axis=1, count=size).astype(bool) if chosen > 1 else np.eye(size, dtype=bool)[reports]
    places = {one.tobytes(): i for i, one in enumerate(members)}
    found = np.zeros((size, len(members)))
    np.add.at(found, (x, [places[one.tobytes()] for one in bits]), 1)
    freedom = found.size - size
    for epsilon, right in ((1.2, True), (1.5, False)):
        rows = P.subset_selection(size, epsilon, size=chosen).channel().floats * times
        assert (((found - rows) ** 2 / rows).sum() < stats.chi2.ppf(1 - NEVER, freedom)) == right


@pytest.mark.parametrize("make", DRAWN)
def test_supports_come_as_often_as_they_should(make) -> None:
    """The count of a value is a sum of coins, p* for its senders and q* for all others."""
    protocol, n = make(11, 1.0), 30_000
    x = np.arange(n) % 5
    found = protocol.report(x).support()
    sent = np.bincount(x, minlength=11)
    p, q = float(protocol.p_star), float(protocol.q_star)
    mean, spread = sent * p + (n - sent) * q, np.sqrt(sent * p * (1 - p) + (n - sent) * q * (1 - q))
    assert np.abs((found - mean) / spread).max() < stats.norm.isf(NEVER / 22) + 0.5


@pytest.mark.parametrize("make", DRAWN)
def test_counting_by_transform_is_counting_by_sets(make) -> None:
    protocol = make(23, 2.0)
    reports = protocol.report(np.arange(300) % 23)
    if protocol.name == "local-hashing":
        buckets = [buckets_of(reports.seeds, np.full(300, v, dtype=np.uint64), 8) for v in range(23)]
        want = [int((b == reports.reports).sum()) for b in buckets]
    elif isinstance(protocol.sets, Independent) or protocol.name == "subset-selection":
        want = np.unpackbits(reports.reports, axis=1, count=23).sum(axis=0).tolist()
    else:
        _, _, members = protocol.sets.listed()
        want = members[reports.reports].sum(axis=0).tolist()
    assert reports.support().tolist() == want
    assert reports.support([3, 1]).tolist() == [want[3], want[1]]


@pytest.mark.parametrize("make", [P.projective, P.hadamard, P.randomized_response])
def test_the_mean_squared_error_is_that_of_theory(make) -> None:
    """K = 22,953, epsilon 5, 1,000 senders: within three standard errors of the mean over values."""
    protocol, n = make(22_953, 5.0), 1000
    values = np.arange(n) ** 2 % 22_953
    sent = np.bincount(values, minlength=22_953)
    p, q = float(protocol.p_star), float(protocol.q_star)
    errors = ((protocol.report(values).support() - n * q) / (p - q) - sent) ** 2
    theory = float(protocol.variance(F(1, 22_953))) * n
    # Hyperplanes meet, and rows of Hadamard's matrix are dependent: the mean varies by more than a sum of independent
    # errors, of which each has a relative spread of about sqrt 2.
    assert abs(errors.mean() / theory - 1) < 0.35


@pytest.mark.parametrize("make", DRAWN)
def test_intervals_hold_together(make) -> None:
    protocol = make(8, 1.5)
    x = np.repeat(np.arange(8), [400, 200, 100, 50, 25, 25, 0, 0])
    share = np.bincount(x, minlength=8) / 800
    missed = 0
    for _ in range(60):
        found = protocol.report(x).frequencies(confidence=0.9)
        missed += not bool(((found.lower <= share) & (share <= found.upper)).all())
    assert missed <= stats.binom.isf(NEVER, 60, 0.1)
    assert (found.upper >= found.lower).all()  # 0 to 0 where no share that is left explains so few reports


def test_text_needs_no_list() -> None:
    protocol = P.local_hashing(None, 3.0)
    reports = protocol.report(["x.org"] * 3000 + [f"{i}.org" for i in range(3000)])
    found = reports.frequencies([f"{i}.org" for i in range(100)] + ["x.org"], top=2, confidence=1 - NEVER)
    assert found.values[0] == "x.org"
    assert found.lower[0] < 0.5 < found.upper[0]
    assert dv.LDP(3).holds_for(protocol)
    assert float(protocol.pml({"a": 0.5, "b": 0.5})) == pytest.approx(
        float(P.local_hashing(["a", "b"], 3.0).pml([0.5, 0.5]))
    )
    with pytest.raises(dv.DivulgeError, match="candidates"):
        reports.frequencies()
    with pytest.raises(dv.LabelError, match="no label twice"):
        reports.frequencies(["a", "a"])
    assert pickle.loads(pickle.dumps(reports)) == reports
    assert reports.table("url").num_columns == 4


def test_hashes_are_pairwise_independent() -> None:
    """Over all seeds of a small word, two values share each pair of buckets equally often; here a sample of seeds."""
    seeds = Chance().words(3 * 90_000).reshape(-1, 3)
    one, two = (buckets_of(seeds, np.full(90_000, x, dtype=np.uint64), 3) for x in (5, (9 << 32) + 5))
    counts = np.bincount(one * 3 + two, minlength=9)
    assert stats.chisquare(counts).pvalue > NEVER
    assert stats.chisquare(np.bincount(one * 3 + one, minlength=9) + 1).pvalue < NEVER


def test_both_ways_of_hashing_count_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Chance()
    seeds, told, values = chance.words(900).reshape(300, 3), chance.uniform(4, 300), chance.words(40)
    found = []
    for way in (lambda loop, entries: None, lambda loop, entries: kernels.compiled(loop)):
        monkeypatch.setattr(kernels, "fastest", way)
        found.append(supports(seeds, told, values, 4, lambda done, of: None).tolist())
    assert found[0] == found[1]


def test_chances_are_exact() -> None:
    """A chance of 2^-64 times a third is decided by the digits past the first word."""
    chance = Chance()
    chance.words = lambda count: np.zeros(count, dtype=np.uint64)
    assert not chance.bernoulli(F(0), 1)[0]
    assert chance.bernoulli(F(1, 2**64), 1)[0]
    assert chance.bernoulli(F(1, 3 * 2**64), 1)[0]  # the next word, 0 as well, is below a third of all
    words = iter([np.array([2**64 - 1], dtype=np.uint64), np.array([5], dtype=np.uint64)])
    chance.words = lambda count: next(words)
    assert chance.uniform(3, 1).tolist() == [2]  # 2^64 - 1 is past the last multiple of 3, and drawn anew


def test_foreign_reports_are_refused() -> None:
    protocol = P.hadamard(5, 1.0)
    none = np.empty((3, 0), dtype=np.uint64)
    with pytest.raises(dv.DivulgeError, match="the number of others is 2"):
        Reports(protocol, np.array([0, 8, -1]), none)
    with pytest.raises(dv.DivulgeError, match="be those of local-hashing"):
        Reports(P.local_hashing(5, 1.0), np.array([0, 1, 2]), none)
    with pytest.raises(dv.DivulgeError, match="be those of hadamard"):
        Reports(protocol, np.array([0.5, 1, 2]), none)
    unary = P.unary(3, 1.0)
    with pytest.raises(dv.DivulgeError, match="the number of others is 1"):
        Reports(unary, np.array([[0b11100001], [0b11100000], [0]], dtype=np.uint8), none)
    reports = protocol.report([0, 1, 2])
    with pytest.raises(dv.DivulgeError, match="another protocol"):
        dv.estimate_frequencies(reports, P.hadamard(5, 1.1))
    assert dv.estimate_frequencies(reports, protocol).rows == 3
    for wrong in ([7], [], None, 3):
        with pytest.raises(dv.DivulgeError):
            protocol.report(wrong)
    with pytest.raises(dv.DivulgeError, match="projective is as good"):
        P.subset_selection(2**31, 1.0).report(range(5))
    pairs = P.subset_selection(3, 0.1, size=2)
    with pytest.raises(dv.DivulgeError, match="the number of others is 3"):  # of 1, 3 and no values; of 2
        Reports(pairs, np.array([[128], [224], [0], [96]], dtype=np.uint8), np.empty((4, 0), np.uint64))
    with pytest.raises(dv.DivulgeError, match="local_hashing leaks the same"):
        P.unary(2**31, 1.0).report(range(5))
    with pytest.raises(dv.DivulgeError, match="local_hashing counts candidates alone"):
        P.hadamard(2**31, 1.0).report([0]).frequencies([0])
    with pytest.raises(dv.DivulgeError, match="at least one candidate"):
        P.local_hashing(None, 1.0).report(["a"]).frequencies([])
    for wrong in ({"top": 0}, {"confidence": 1.0}, {"confidence": float("nan")}):
        with pytest.raises(dv.DivulgeError):
            reports.frequencies(**wrong)
