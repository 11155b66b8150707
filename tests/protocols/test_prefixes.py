"""Prefix extension against its matrix, written out length by length, and the prefixes of texts."""

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.measures import bayes_vulnerability
from divulge.protocols.sets.prefixes import children, ended, read, written

P = dv.protocols
WORDS = ["a", "ab", "abc", "abd", "b", "ba", "é", "éa", "bab", ""]
LENGTHS = (2, 3, (1, 2), "1,3", 5)


def beginning(text: str, length: int, most: int) -> str:
    """Return what stands for the first bytes of a text, by another route than that of the code: digits and a sign."""
    whole = text.encode()
    if len(whole) < most:
        return (whole.hex() + "end")[: 2 * length] if 2 * length <= len(whole.hex()) else whole.hex() + "end"
    kept = "".join(c for i, c in enumerate(text) if len(text[: i + 1].encode()) <= most).encode().hex()
    return (kept + "cut" * (len(kept) < 2 * most))[: 2 * length] if 2 * length <= len(kept) else kept + "cut"


def matrix(protocol: P.Protocol, names: list[str]) -> dv.Channel:
    """Return all reports: a length, and the set of beginnings that a hash puts into the bucket."""
    lengths, q = protocol.sets.lengths, protocol.q
    columns: dict[str, list[F]] = {}
    for length in lengths:
        own = [beginning(name, length, lengths[-1]) for name in names]
        different = sorted(set(own))
        for bits in product((False, True), repeat=len(different)):
            raised = dict(zip(different, bits, strict=True))
            weight = F(1, len(lengths))
            for bit in bits:
                weight *= q if bit else 1 - q
            columns[f"{length}: {raised}"] = [weight * (protocol.a if raised[x] else protocol.b) for x in own]
    return dv.Channel([list(row) for row in zip(*columns.values(), strict=True)], names, list(columns))


@pytest.mark.parametrize("seed", range(few(60, 12)))
def test_it_leaks_what_its_matrix_leaks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    names = [str(word) for word in rng.choice(WORDS, size, replace=False)]
    counts = [int(c) for c in rng.integers(0, 6, size) + (np.arange(size) < 2)]
    prior = dv.Prior.from_counts(counts, names) if seed % 2 else dv.Prior(rng.dirichlet(np.ones(size)), names)
    protocol = P.prefix_extension(
        float(rng.choice([0.3, 1.0, 2.5])), LENGTHS[seed % 5], buckets=int(rng.integers(2, 5))
    )
    channel = matrix(protocol, names)
    joint, pair = dv.Joint(prior, channel), (prior, protocol)
    if joint.exact:
        assert dv.lift(pair) == dv.lift(joint)
    assert dv.pml(pair).max() == pytest.approx(dv.pml(joint).max(), rel=1e-12, abs=1e-15)
    assert dv.pmc(pair).max() == pytest.approx(dv.pmc(joint).max(), rel=1e-12, abs=1e-15)
    found, want = dv.mutual_information(pair), dv.mutual_information(joint)
    assert found.lower - 1e-15 <= want <= found + 1e-15
    assert float(found) == pytest.approx(want, rel=1e-11, abs=1e-13)
    assert bayes_vulnerability(pair) == pytest.approx(float(bayes_vulnerability(joint)), rel=1e-12)
    under = protocol.under(prior).protocol
    assert under.bayes_capacity() == dv.bayes_capacity(channel) == dv.bayes_capacity(under.channel())
    assert float(protocol.a) >= float(under.bayes_capacity())
    for side, measure in (("pml", dv.pml), ("pmc", dv.pmc)):
        level = protocol.under(prior).leakage(side)
        if level:
            assert measure(protocol.under(prior).extremes(side)).max() == pytest.approx(level, rel=1e-12)


def test_shares_that_are_no_counts_are_added_up_exactly() -> None:
    """Shares that differ by 2^70 do not fit 64 bits together."""
    shares = np.array([2.0**-72, 0.3, 0.7 - 2.0**-72, 2.0**-73])
    names = ["ab", "abc", "b", "abd"]
    protocol = P.prefix_extension(1.0, 2)
    prior = dv.Prior(shares / shares.sum(), names)
    together = sum(F(p) for p in prior.floats[[0, 1, 3]].tolist()) / sum(map(F, prior.floats.tolist()))
    assert together.denominator > 2**64
    assert protocol.pml(prior).ratio == protocol.a / (protocol.b + (protocol.a - protocol.b) * together)


def test_every_beginning_of_a_text_is_reached_by_its_bytes() -> None:
    rng = np.random.default_rng(4)
    alphabet = "abz.-/ Aé€𝄞ß日\u00a0\u07ff\u0800\uffff\U0010ffff"
    for _ in range(few(400, 100)):
        text = "".join(rng.choice(list(alphabet), int(rng.integers(0, 8))))
        most = int(rng.integers(1, 12))
        code = written(text, most)
        assert len(code) <= most
        for end in range(len(code)):
            assert code[: end + 1] in children(code[:end], most), (text, most, end)
        assert ended(code) or len(code) == most
        assert children(code, most) == []
        shown, whole = read(code)
        assert whole == (len(text.encode()) < most)
        assert text == shown if whole else text.startswith(shown)
        kept = [i for i in range(len(text) + 1) if len(text[:i].encode()) <= most]
        assert len(shown) == (len(text) if whole else kept[-1])


def test_texts_have_a_code_of_their_own_unless_they_are_long() -> None:
    texts = ["", "a", "ab", "abc", "abcd", "a\u00ff", "a\u00fe", "\u00ff", "\x7f"]
    assert len({written(text, 9) for text in texts}) == len(texts)
    assert written("abcdef", 4) == written("abcdxyz", 4)
    assert written("abc", 4) != written("abcd", 4)
    assert written(3, 4) == written("3", 4)
    # what is no text in UTF-8 is nothing that could follow
    assert b"a\xc3a" not in children(b"a\xc3", 9)
    assert not [one for one in children(b"", 1) if one[-1] in range(0xC0, 0xF8)]


def test_whatever_is_reached_is_a_text() -> None:
    rng = np.random.default_rng(5)
    for _ in range(few(300, 60)):
        most = int(rng.integers(1, 9))
        code = b""
        while not ended(code) and len(code) < most:
            following = children(code, most)
            if not following:  # the first two bytes of a surrogate, which no text has
                assert code[-2] == 0xED
                break
            code = following[int(rng.integers(len(following)))]
        else:
            text, whole = read(code)
            assert written(text, most) == code or not whole
            assert text.encode().decode() == text


def test_the_variance_is_that_of_the_reports_that_tell_of_a_whole_text() -> None:
    """Simulated: a report is of the longest prefix with chance 1/3; the estimate is from those reports."""
    protocol, n, f = P.prefix_extension(1.5, 4), 3000, F(1, 3)
    rng = np.random.default_rng(7)
    p, q = float(protocol.p_star), float(protocol.q_star)
    errors = []
    has = np.arange(n) < n * float(f)
    for _ in range(few(4000, 2000)):
        mine = has[rng.random(n) < 1 / 3]
        seen = (rng.random(len(mine)) < np.where(mine, p, q)).mean()
        errors.append((seen - q) / (p - q) - float(f))
    assert np.mean(np.square(errors)) == pytest.approx(protocol.variance(f, n), rel=0.15)
    assert protocol.variance(0) == pytest.approx(3 * P.local_hashing(None, 1.5).variance(0))


@pytest.mark.parametrize(
    "wrong", [0, 1, 300, 10**15, (), (3,), (2, 5), (3, 4), (2, 2), (2, 1), "a", "2,x", None, 2.5, (2.5, 3)]
)
def test_lengths_that_are_none_are_refused(wrong: object) -> None:
    with pytest.raises(dv.DivulgeError, match="rise by 1 or 2 bytes"):
        P.prefix_extension(1.0, wrong)


def test_levels_of_other_protocols_are_left_alone() -> None:
    protocol = P.prefix_extension(2.0, (2, 4), buckets=5)
    assert protocol.ldp == P.local_hashing(None, 2.0, buckets=5).ldp <= 2.0
    assert protocol.sets.lengths == (2, 4)
    assert protocol.bits == pytest.approx(192 + np.log2(5) + 1)
    assert dv.LDP(2).holds_for(protocol)
    assert P.prefix_extension(2.0, (2, 4)) != P.prefix_extension(2.0, (2, 3))
    with pytest.raises(dv.DivulgeError, match="written out"):
        protocol.channel()
