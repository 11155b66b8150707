"""Guesses of a secret against imputation, and synthetic tables against people whose data did not make them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import betaincinv
from scipy.stats import binomtest
from support import few

import divulge as dv
from divulge.auditing.attributes import AttributeAudit
from divulge.auditing.synthetic import _encoded, _guesses, _nearest  # pyright: ignore[reportPrivateUsage]

TINY = pa.table({"a": [1, 2], "b": [1, 2]})
"""The least table with a secret and something known."""


def test_values_of_counts() -> None:
    found = AttributeAudit.of_counts(500, 260, 200, 150)
    assert found.p_value == pytest.approx(1.194e-6, rel=1e-3)
    assert found.p_value == pytest.approx(binomtest(110, 160, alternative="greater").pvalue, rel=1e-9)
    low, high = betaincinv(260, 241, 0.025), betaincinv(201, 300, 0.975)
    assert found.pml == pytest.approx(0.06695, abs=5e-6)
    assert found.lift == pytest.approx(low / high, rel=1e-12)
    assert found.others_lift is None
    with_others = AttributeAudit.of_counts(500, 260, 200, 150, others=(400, 120))
    assert with_others.lift < found.lift
    assert with_others.others_lift is not None
    assert with_others.others_lift == pytest.approx(betaincinv(260, 241, 0.05 / 3) / betaincinv(121, 280, 1 - 0.05 / 3))


def test_nobody_may_be_right() -> None:
    found = AttributeAudit.of_counts(10, 0, 5, 0, others=(4, 0), claim="pml=0")
    assert (found.p_value, found.lift, found.others_lift, found.violated) == (1.0, 1.0, 1.0, False)


def test_labels_are_counted() -> None:
    truth, guesses, filled = list("aabbab"), list("aabbba"), list("aaaaaa")
    found = dv.audit_attribute(guesses, filled, truth, others=(["a", "b"], ["a", "a"]), claim="lift=1.5")
    assert (found.targets, found.right, found.baseline_right, found.both_right) == (6, 4, 3, 2)
    assert (found.others, found.others_right, found.violated, found.lift) == (2, 1, False, 1)
    assert found.to_dict("bits")["claim"] == {"kind": "lift", "ratio": 1.5}
    assert dv.audit_attribute([1, 2.0], ["1", "1"], ["1", 2]).right == 2


def test_an_attack_that_is_no_better_is_refuted_as_seldom_as_promised() -> None:
    rng, runs = np.random.default_rng(1), few(1000, least=500)
    tested = shown = beyond = 0
    for _ in range(runs):
        right, filled = rng.random(120) < 0.6, rng.random(120) < 0.6
        others = int((rng.random(90) < 0.6).sum())
        counts = 120, int(right.sum()), int(filled.sum()), int((right & filled).sum())
        found = AttributeAudit.of_counts(*counts, others=(90, others), claim="pml=0")
        tested += found.p_value <= 0.05
        shown += found.violated
        beyond += (found.others_lift or 1) > 1
    for wrong in (tested, shown, beyond):
        assert wrong <= 0.05 * runs + 3 * math.sqrt(0.0475 * runs)
    assert tested > 0.01 * runs


def gower(a: dict[str, Any], b: dict[str, Any], spread: dict[str, float]) -> float:
    total = 0.0
    for name, width in spread.items():
        total += abs(float(a[name]) - float(b[name])) / width if width else float(a[name] != b[name])
    return total


def test_distances_and_guesses_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(20)):
        rows = [{"age": int(rng.integers(0, 9)), "town": str(rng.choice(list("xyz")))} for _ in range(30)]
        secrets = np.array([str(rng.choice(["ill", "well"])) for _ in rows], dtype=object)
        ages = [row["age"] for row in rows]
        spread = {"age": float(max(ages) - min(ages)), "town": 0.0}
        columns = [np.array([str(row[name]) for row in rows], dtype=object) for name in spread]
        places = np.hstack([_encoded([column])[0] for column in columns])
        made, asked = places[:20], places[20:]
        near, guesses = _nearest(made, asked), _guesses(made, secrets[:20], asked)
        for i, target in enumerate(rows[20:]):
            far = [gower(row, target, spread) for row in rows[:20]]
            assert near[i] == pytest.approx(min(far), abs=1e-8)
            votes = [secrets[j] for j in range(20) if far[j] < min(far) + 1e-9]
            assert votes.count(guesses[i]) == max(votes.count(s) for s in set(votes))


def nearest(person: dict[str, Any], spread: dict[str, float], made: list[dict[str, Any]]) -> set[int]:
    far = [gower(row, person, spread) for row in made]
    return {j for j, d in enumerate(far) if d < min(far) + 1e-9}


def singled(person: dict[str, Any], made: list[dict[str, Any]]) -> bool:
    """One predicate after the other: is it true of one row alone, and of the person?"""
    keys = [("age",), ("town",), ("ill",), ("age", "town")]
    if any(sum(all(row[n] == person[n] for n in key) for row in made) == 1 for key in keys):
        return True
    for name in ("age", "ill"):
        numbers, own = [int(row[name]) for row in made], int(person[name])
        low, high = min(numbers), max(numbers)
        if (own <= low and numbers.count(low) == 1) or (own >= high and numbers.count(high) == 1):
            return True
    return False


def test_links_and_predicates_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    for _ in range(few(12)):
        tables = [
            [{"age": int(rng.integers(0, 25)), "town": str(rng.choice(list("vwxyz"))), "zip": int(rng.integers(0, 12)),
              "ill": str(rng.integers(0, 2))} for _ in range(n)] for n in (12, 15, 14)
        ]  # fmt: skip
        found = dv.audit_synthetic(
            *(pa.Table.from_pylist(rows) for rows in tables), secret="ill", known=["age", "town"], linked=["zip"]
        )
        everybody = [row for rows in tables for row in rows]
        wide = {n: float(max(r[n] for r in everybody) - min(r[n] for r in everybody)) for n in ("age", "zip")}
        halves = {"age": wide["age"], "town": 0.0}, {"zip": wide["zip"]}
        hits = {
            "linkage": [[bool(nearest(r, halves[0], tables[0]) & nearest(r, halves[1], tables[0])) for r in rows]
                        for rows in tables[1:]],
            "singling": [[singled(r, tables[0]) for r in rows] for rows in tables[1:]],
        }  # fmt: skip
        for name, named in hits.items():
            scores = np.array([*named[0], *named[1]], dtype=float)
            audit = found.attacks[name]
            again = dv.audit_membership(scores, np.arange(29) < 15, cut=0.5, confidence=audit.confidence)
            assert audit.rates is not None
            assert again.rates is not None
            assert (audit.rates.lower == again.rates.lower).all()
            assert (audit.rates.upper == again.rates.upper).all()
            assert audit.confidence == pytest.approx(1 - 0.05 / 4)


def people(rng: np.random.Generator, n: int) -> pa.Table:
    age = rng.integers(0, 60, n)
    return pa.table(
        {"age": age, "town": rng.choice(list("abcd"), n), "ill": (rng.random(n) < 0.2 + age / 120).astype(int)}
    )


def test_a_copy_is_told_from_a_fresh_table() -> None:
    rng = np.random.default_rng(0)
    table, fresh = people(rng, 400), people(rng, 200)
    asked: dict[str, Any] = {"secret": "ill", "known": ["age", "town"], "claim": "dp=1", "base_rate": 0.1}
    copied = dv.audit_synthetic(table[:200], table[:200], table[200:], **asked)
    assert copied.violated
    assert copied.membership.lift is not None
    assert copied.membership.lift > 1.5
    wide = table.append_column("zip", pa.array(rng.integers(0, 500, 400)))
    parted = dv.audit_synthetic(
        wide[:200], wide[:200], wide[200:], secret="ill", known=["age", "town"], linked=["zip"], claim="dp=1"
    )
    assert parted.linkage is not None
    assert parted.linkage.epsilon > 2
    assert parted.linkage.violated
    numbers = dv.audit_synthetic(wide[:200], wide[:200], wide[200:], secret="ill", known=["zip"])
    assert numbers.singling.epsilon > 0.3
    assert numbers.linkage is None
    honest = dv.audit_synthetic(fresh, table[:200], table[200:], **asked)
    assert not honest.violated
    assert honest.inference.right > 110, "what holds of everybody is no leak"
    assert honest.inference.others_lift == 1


def test_fresh_tables_show_nothing_as_often_as_promised() -> None:
    rng, runs = np.random.default_rng(8), few(300, least=60)
    wrong = 0
    for _ in range(runs):
        found = dv.audit_synthetic(
            *(people(rng, 40) for _ in range(3)), secret="ill", known=["age"], linked=["town"], confidence=0.9
        )
        wrong += any(one.epsilon > 0 for one in found.attacks.values()) or (found.inference.others_lift or 1) > 1
    assert wrong <= 0.1 * runs + 3 * math.sqrt(0.09 * runs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: AttributeAudit.of_counts(10, 5, 5, 6),
        lambda: AttributeAudit.of_counts(10, 11, 5, 5),
        lambda: AttributeAudit.of_counts(10, 6, 6, 1),  # eleven targets
        lambda: AttributeAudit.of_counts(10, 5, 5, 5, others=(5, 6)),
        lambda: AttributeAudit.of_counts(10, 5, 5, 5, claim="dp=1"),
        lambda: AttributeAudit.of_counts(10, 5, 5, 5, confidence=1.0),
        lambda: dv.audit_synthetic(TINY, TINY, TINY, secret="b", known=["a"], linked=["a"]),
        lambda: dv.audit_synthetic(TINY, TINY, TINY, secret="b", known=["a"], linked=["c"]),
        lambda: dv.audit_synthetic(TINY, TINY, TINY, secret="b", known=["a"], linked=[3]),  # pyright: ignore
        lambda: dv.audit_attribute(["a"], ["a"], ["a"], others=["a"]),  # pyright: ignore[reportArgumentType]
        lambda: dv.audit_attribute(["a"], ["a"], ["a"], others=(["a"], ["a", "b"])),
    ],
)
def test_what_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(dv.DivulgeError):
        wrong()
