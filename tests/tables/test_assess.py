"""What a table tells: every model against counting row by row, claims against their definitions."""

import math
from collections import Counter
from fractions import Fraction as F
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from support import few
from tables.drawn import groups, models, people, recursive_c

import divulge as dv
from divulge.tables.population import _alone  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("seed", range(few(60)))
def test_every_model_is_that_of_counting_row_by_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(1, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 5)))
    known = [name for name in table if name != "s"]
    order = rng.permutation(len(table["s"]))
    shuffled = pa.table({name: [column[i] for i in order] for name, column in table.items()})
    found = dv.assess(shuffled, known, "s")
    for name, value in models(table, known).items():
        measured = getattr(found, name)
        assert measured == (pytest.approx(value, rel=1e-12) if name == "entropy_l" else value), name
    for l in range(1, 5):
        assert found.recursive_c(l) == recursive_c(table, known, l)
    assert found.pml == pytest.approx(math.log(found.lift))
    assert found.pmc == (pytest.approx(-math.log(found.least_lift)) if found.least_lift else math.inf)
    assert found.lip == max(found.pml, found.pmc)
    assert found.information == pytest.approx(dv.mutual_information(found.joint), abs=1e-12)
    assert dv.pml(found.joint).max() == pytest.approx(found.pml, abs=1e-12)
    worst = groups(table, known)[tuple(found.worst.group.values())]
    assert found.worst.after == F(worst.count(found.worst.value), len(worst))
    assert found.worst.lift == found.lift


CLAIMS = ["k", "pml", "pmc", "lip", "lift", "t", "ordered-t", "distinct-l", "entropy-l", "recursive-l", "beta",
          "enhanced-beta", "delta-disclosure", "mean-pml", "mutual-information"]  # fmt: skip


@pytest.mark.parametrize("seed", range(few(24)))
def test_claims_are_decided_at_equality_on_the_groups_that_decide_as_on_all(seed: int) -> None:
    """The joint of the groups at the extremes, others merged, has what the whole joint has, kind by kind."""
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(4, 60)), 2, 3)
    found = dv.assess(pa.table(table), ["a", "b"], "s")
    for name in CLAIMS:
        kind = dv.guarantees.parse(f"{name}=2:2" if name == "recursive-l" else f"{name}=1").__class__
        index = {"l": int(rng.integers(1, 4))} if kind.index else {}
        if name != "k":
            assert kind.of(found, **index) == kind.of(found.joint, **index), name
        else:
            assert kind.of(found).k == found.k
    assert found.holds(f"k={found.k}")
    assert not found.holds(f"k={found.k + 1}")
    assert found.holds(f"t={found.t}")
    assert not found.holds(f"t={found.t * F(999, 1000)}") or not found.t
    assert found.holds(f"distinct-l={found.distinct_l}")
    c = found.recursive_c(2)
    if c < math.inf:  # strictly below
        assert not found.holds(f"recursive-l={c}:2")
        assert found.holds(f"recursive-l={c + F(1, 10**6)}:2")


def test_k_of_a_joint_of_rows_is_that_of_their_groups() -> None:
    rows = dv.Joint(dv.Prior.uniform(5), [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]])
    assert dv.guarantees.KAnonymity(2).holds_for(rows).holds
    assert not dv.guarantees.KAnonymity("2.5").holds_for(rows).holds


def test_what_somebody_learns_who_knows_others_of_the_group() -> None:
    table = {"a": [0] * 5, "s": ["x", "x", "y", "y", "z"]}
    found = dv.assess(pa.table(table), "a", "s")
    for others in range(7):
        left = [F(n, 5 - min(others, 5 - n)) for n in (2, 2, 1)]
        assert found.certainty_beside(others) == max(left)


def test_several_secrets_are_looked_at_alone_and_jointly() -> None:
    rng = np.random.default_rng(3)
    table = people(rng, 60) | {"r": rng.integers(0, 2, 60).tolist()}
    found = dv.assess(pa.table(table), ["a", "b"], ["s", "r"])
    both = table | {"s": list(zip(table["s"], table["r"], strict=True))}
    assert found.lift == models(both, ["a", "b"])["lift"]
    assert [one.lift for one in found.alone] == [
        models(table, ["a", "b"])["lift"], models(table | {"s": table["r"]}, ["a", "b"])["lift"]
    ]  # fmt: skip
    assert len(found.verdicts("t=1")) == 3
    assert len(found.verdicts("k=1")) == 1


def test_missing_values_are_values_of_their_own_and_no_row_vanishes() -> None:
    table = pa.table({"a": [1, None, None, 2], "s": ["x", None, "x", "y"]})
    found = dv.assess(table, "a", "s")
    assert (found.rows, found.groups, found.k, found.distinct_l) == (4, 3, 1, 1)
    assert "missing" in found.by_group.values
    assert any("'a'" in note and "missing value" in note for note in found.notes)
    with pytest.raises(dv.DivulgeError, match="have no value 'missing'"):
        dv.assess(pa.table({"a": [1, 2], "s": ["missing", None]}), "a", "s")


def test_the_journalist_has_a_table_of_the_population() -> None:
    sample = pa.table({"a": [1, 1, 2], "s": ["x", "y", "x"]})
    found = dv.assess(sample, "a", "s", population=pa.table({"a": [1] * 7 + [2] * 3 + [3]}))
    assert found.journalist == F(1, 3)
    with pytest.raises(dv.DivulgeError, match="rows of the table in every group"):
        dv.assess(sample, "a", "s", population=pa.table({"a": [1] * 7}))


def test_estimates_of_population_uniques_are_near_the_truth() -> None:
    rng = np.random.default_rng(5)
    weights = rng.pareto(1.2, 4000) + 0.05
    whole = rng.choice(4000, 20_000, p=weights / weights.sum())
    truth = sum(n == 1 for n in Counter(whole.tolist()).values())
    sample = rng.choice(whole, 5000, replace=False)
    found = dv.assess(pa.table({"a": sample, "s": sample % 2}), "a", "s", population=20_000).population_uniques()
    assert set(found) == {"zayatz", "pitman"}
    for estimate in found.values():
        assert 0.3 * truth < estimate < 3 * truth


@pytest.mark.parametrize("seed", range(3))
def test_columns_are_those_of_counting_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, 200, 3)
    table["a"] = [None if value == 2 else value for value in table["a"]]
    found = dv.assess(pa.table(table), ["a", "b", "c"], "s")
    assert {risk.columns for risk in found.columns} == {("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")}
    whole = groups(table, ["a", "b", "c"])
    for risk in found.columns:
        mine, others = groups(table, risk.columns), groups(table, [n for n in "abc" if n not in risk.columns])
        assert (risk.groups, risk.k) == (len(mine), min(map(len, mine.values())))
        assert risk.uniques == sum(len(rows) == 1 for rows in mine.values())
        assert risk.certain == sum(len(rows) for rows in mine.values() if len(set(rows)) == 1)
        assert risk.lift == max(share_of(rows, s) / share_of(table["s"], s) for rows in mine.values() for s in range(3)
                                if s in table["s"])  # fmt: skip
        assert risk.added_uniques == sum(len(r) == 1 for r in whole.values()) - sum(
            len(r) == 1 for r in others.values()
        )
        assert risk.added_information >= 0
        many = len(mine) * len(set(table["s"]))
        for one in risk.disclosures:
            rows = mine[tuple(one.group.values())]
            k, n = rows.count(one.value), len(rows)
            assert (one.hits, one.rows, one.after) == (k, n, F(k, n))
            lows = [stats.beta.ppf(0.025 / many, r.count(one.value), len(r) - r.count(one.value) + 1)
                    for r in mine.values() if r.count(one.value)]  # fmt: skip
            assert one.low == pytest.approx(max(lows))
            assert one.high == pytest.approx(stats.beta.isf(0.025 / many, k + 1, n - k) if k < n else 1)


def share_of(rows: list[Any], value: Any) -> F:
    return F(rows.count(value), len(rows))


def test_chance_is_rarely_taken_for_knowledge() -> None:
    """Columns that have nothing to do with the secret surely raise something in at most 5 of 100 tables or so."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(100):
        columns = {"faith": rng.choice(["a", "b"], size=200, p=[0.9, 0.1]), "town": rng.integers(0, 40, size=200)}
        (risk,) = dv.assess(pa.table(columns), "town", "faith").columns
        wrong += any(one.low > {"a": 0.9, "b": 0.1}[str(one.value)] for one in risk.disclosures)
    assert wrong <= 10


def test_no_column_is_left_out_in_silence_and_keys_have_any_number_of_values() -> None:
    rows = 3000
    columns = {"ill": ["no", "yes"] * (rows // 2), "name": [f"n{i}" for i in range(rows)], "tags": [["x"]] * rows}
    found = dv.assess(pa.table(columns), secret="ill")
    assert found.known == ("name",)
    assert found.uniques == 1
    assert set(found.left_out) == {"tags"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": ["a", "s"], "secret": "s"}, "none of the sensitive columns"),
        ({"known": ["a", "a"], "secret": "s"}, "no column twice"),
        ({"known": ["a"], "secret": "q"}, "has no column 'q'"),
        ({"known": ["a"], "secret": "s", "confidence": math.nan}, "be a number"),
        ({"known": ["a"], "secret": "s", "population": 1}, "at least the 2 rows"),
        ({"known": ["a"], "secret": "s", "hierarchies": {"a": {1: ["*"]}}}, "of sensitive columns"),
        ({"known": 3, "secret": "s"}, "name, or names"),
    ],
)
def test_what_cannot_be_assessed_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.assess(pa.table({"a": [1, 2], "s": [1, 2]}), **options)
    with pytest.raises(dv.DivulgeError, match="have rows"):
        dv.assess(pa.table({"a": pa.array([], pa.int64()), "s": pa.array([], pa.int64())}), "a", "s")


def test_the_students_of_pycanon() -> None:
    """Values by scripts that share no code with this, on a table of the tests of pyCANON."""
    found = dv.assess(Path(__file__).with_name("students.csv"), ["Teacher", "Gender", "Ethnic", "Freeredu"], "Score")
    assert (found.k, found.beta, found.ordered_t, found.t) == (5, F(149, 5), F(2771, 8932), F(13, 14))
    assert found.lip == math.inf
    assert found.enhanced_beta is None


def test_adult_as_it_is() -> None:
    found = dv.assess(dv.datasets.adult())
    assert (found.groups, float(found.marketer), float(found.uniques)) == (
        19_502, 0.6465751607983555, 0.5142895033485844,
    )  # fmt: skip


def test_a_perturbed_secret_in_groups_has_one_bound_for_both() -> None:
    """PRAM by hand: prior 1/4, 1/2, 1/4; a group 1/2, 1/3, 1/6; randomized response with a ratio of 2."""
    rows = ["x"] * 3 + ["y"] * 2 + ["z"] + ["y"] * 4 + ["z"] * 2
    found = dv.assess(pa.table({"a": [0] * 6 + [1] * 6, "s": rows}), "a", "s")
    noise = dv.mechanisms.randomized_response(["z", "x", "y"], ratio=2)
    both = found.then(noise)
    inside = [j for j, (group, _) in enumerate(both.outcomes) if group == 0]
    assert both.lift[:, inside].max() == F(8, 3) <= 2 * 2
    assert both.lift[:, inside].min() == F(4, 9) >= F(2, 3) / 2
    alone = dv.Joint(found.joint.prior, noise)
    assert alone.lift.max() == F(8, 5)
    group = dv.Joint(dv.Prior([F(1, 2), F(1, 3), F(1, 6)], ["x", "y", "z"]), noise)
    assert group.lift.max() == F(12, 7)  # what was designed under the table may break inside a group
    for kind in (dv.PML, dv.PMC):  # what a group rules out stays ruled out
        assert kind.of(both).epsilon <= kind.of(found).epsilon + dv.LDP.of(noise).epsilon + 1e-15
    with pytest.raises(dv.DivulgeError):
        found.then(dv.mechanisms.randomized_response(["x", "y"], ratio=2))


@pytest.mark.parametrize("seed", range(few(30)))
def test_who_sees_group_and_perturbed_value_learns_at_most_the_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(4, 40)), 2, 3)
    found = dv.assess(pa.table(table), ["a", "b"], "s")
    if len(found.by_group.values) < 2:
        return
    ratio = int(rng.integers(2, 6))
    both = found.then(dv.mechanisms.randomized_response(list(found.by_group.values), ratio=ratio))
    n, m = len(table["s"]), len(found.by_group.values)
    for j, (group, said) in enumerate(both.outcomes):
        members = groups(table, ["a", "b"])[group]
        weights = {s: members.count(s) * F(ratio if s == said else 1, m - 1 + ratio) for s in set(members)}
        for i, s in enumerate(both.secrets):
            after = F(weights.get(s, F(0)), sum(weights.values(), F(0)))
            assert both.lift[i, j] == after / F(table["s"].count(s), n)
    assert both.lift.max() <= found.lift * ratio


@pytest.mark.parametrize("seed", range(few(12)))
def test_a_channel_for_all_posteriors_keeps_its_guarantee_in_every_group(seed: int) -> None:
    """By Bayes' rule in fractions, group by group; for who knows fewer columns; and with one bound for both."""
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(8, 40)), 2, 3)
    found = dv.assess(pa.table(table), ["a", "b"], "s")
    if len(found.by_group.values) < 2:
        return
    made = dv.design(found.posteriors, "lip=0.4", utility="hamming")
    entries = [[F(v) for v in row] for row in made.channel.floats.tolist()]
    whole, most = dv.Channel(entries, made.channel.secrets, made.channel.outcomes), math.exp(0.4) * (1 + 1e-12)
    c = dict(zip(whole.secrets, whole.matrix.tolist(), strict=True))
    for known in ([], ["a"], ["b"], ["a", "b"]):
        for rows in groups(table, known).values():
            for y in range(whole.shape[1]):
                mean = F(sum(c[s][y] for s in rows), len(rows))
                for s in set(rows):
                    assert float(c[s][y] / mean) <= most
                    assert float(mean / c[s][y]) <= most
    assert float(found.then(whole).lift.max()) <= float(found.lift) * most


def test_a_channel_for_the_table_breaks_inside_a_group_where_one_for_all_groups_does_not() -> None:
    table = pa.table({"a": [0] * 6 + [1] * 6, "s": list("xxxxxy") + list("yyyyyx")})
    found = dv.assess(table, "a", "s")
    alone = dv.design(found.joint.prior, "pml=0.3", utility="hamming").channel
    both = dv.design(found.posteriors, "pml=0.3", utility="hamming").channel
    for channel, holds in ((alone, False), (both, True)):
        inside = dv.Joint(dv.Prior(["5/6", "1/6"], ["x", "y"]), channel)
        assert bool(dv.PML(0.3).holds_for(inside)) is holds


@pytest.mark.parametrize("rows", ["xy", "xxy", "xyz", "xxyz"])
def test_who_counts_a_group_and_sees_everybodys_release_learns_twice_the_epsilon_at_most(rows: str) -> None:
    """All ways in which the values may stand in the rows are listed; for two rows the bound is attained."""
    ratio, values = F(3), sorted(set("xy" + rows))
    noise = dv.mechanisms.randomized_response(values, ratio=ratio)
    c = {(s, y): noise.matrix[i, j] for i, s in enumerate(values) for j, y in enumerate(noise.outcomes)}
    orders, most = set(permutations(rows)), F(0)
    for said in product(values, repeat=len(rows)):
        weight = {s: F(0) for s in values}
        for order in orders:
            weight[order[0]] += math.prod((c[pair] for pair in zip(order, said, strict=True)), start=F(1))
        for s, other in permutations(sorted(set(rows)), 2):
            changed = weight[s] / weight[other] / F(rows.count(s), rows.count(other))
            assert changed <= ratio**2
            most = max(most, changed)
    assert most > ratio  # more than the release of the row itself can do
    assert most == ratio**2 or len(rows) > 2
    # who takes rows to be drawn from the shares of the group learns from the others' releases nothing
    q = {s: F(rows.count(s), len(rows)) for s in values}
    for said in product(values, repeat=2):
        weight = {s: q[s] * c[s, said[0]] * sum(q[t] * c[t, said[1]] for t in values) for s in values}
        alone = {s: q[s] * c[s, said[0]] for s in values}
        assert all(weight[s] * sum(alone.values()) == alone[s] * sum(weight.values()) for s in values)


WRONG: Any = ("x", None)
SMALL = {"a": ["all other groups", "x", "y", "y", "z", "z"], "s": ["a", "b", "b", "a", "a", "b"]}


def test_a_value_may_be_called_as_what_is_merged() -> None:
    table = pa.table(SMALL)
    renamed = pa.table({"a": ["w", *SMALL["a"][1:]], "s": SMALL["s"]})
    for claim in ("pml=3", "t=1/10", "entropy-l=1.1", "recursive-l=2:1"):
        (own,), (other,) = (dv.assess(one, "a", "s").verdicts(claim) for one in (table, renamed))
        assert (own.holds, own.measured) == (other.holds, other.measured)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda table: dv.assess(table, "a", "s").holds(5), "`claims` must name at least one guarantee; it is a int"),
        (lambda table: dv.assess(table, "a", "s").holds(None), "`claims` must name at least one"),
        (lambda table: dv.generalize(table, "a", "s", guarantees=None), "`guarantees` must name at least one"),
        (lambda table: dv.generalize(table, "a", "s", guarantees=5), "`guarantees` must name at least one"),
        (lambda table: dv.assess(table, "a", "s", confidence=WRONG[0]), "`confidence` must be a number"),
        (lambda table: dv.assess(table, "a", "s", confidence=WRONG[1]), "`confidence` must be a number"),
        (lambda table: dv.assess(table, "a", "s", population=10**400).to_dict(), "`population` must be at most"),
    ],
)
def test_what_is_of_another_kind_is_refused_in_words(wrong: Any, said: str) -> None:
    with pytest.raises(dv.DivulgeError, match=said):
        wrong(pa.table(SMALL))


def test_numbers_beyond_machine_words_count_as_all() -> None:
    found = dv.assess(pa.table(SMALL), "a", "s")
    assert found.certainty_beside(10**30) == found.certainty_beside(6) == 1
    assert found.recursive_c(10**30) == math.inf


@pytest.mark.parametrize("people", [7, 20, 10**6, 10**14])
def test_the_share_that_is_alone_in_a_sample_is_hypergeometric(people: int) -> None:
    for j in (1, 2, 3):
        exactly = F(j * math.comb(people - j, 3), math.comb(people, 4))
        assert _alone(j, 4, people) == pytest.approx(float(exactly), rel=1e-12)
