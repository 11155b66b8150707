"""Tables: every model, claim and bound of groups against counting row by row."""

import itertools
import math
from collections import Counter
from fractions import Fraction as F
from typing import Any

import mpmath as mp
import numpy as np
import pyarrow as pa
from tables.certificates import ASKED, LADDERS, LOSSES, check, coarse, keeps, nodes, people

import divulge as dv
from search.registry import at_least, at_most, case, mpf, same

g = dv.guarantees
KINDS = ("KAnonymity", "DistinctL", "EntropyL", "RecursiveL", "TCloseness", "OrderedT", "BetaLikeness", "EnhancedBeta",
         "DeltaDisclosure")  # fmt: skip


def drawn(rng: np.random.Generator) -> dict[str, list[Any]]:
    rows = int(rng.integers(1, 60))
    known = {name: rng.integers(0, int(rng.integers(1, 5)), rows) for name in "ab"}
    secret = np.where(rng.random(rows) < 0.5, known["a"], rng.integers(0, int(rng.integers(1, 5)), rows))
    return {name: column.tolist() for name, column in {**known, "s": secret}.items()}


def by_group(table: dict[str, list[Any]], names: Any = "ab") -> dict[tuple[Any, ...], list[Any]]:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for i, value in enumerate(table["s"]):
        found.setdefault(tuple(table[name][i] for name in names), []).append(value)
    return found


def laws(table: dict[str, list[Any]]) -> tuple[list[F], list[list[F]]]:
    """Return p, and q of each group, over the values in their order."""
    values = sorted(set(table["s"]))
    p = [F(table["s"].count(s), len(table["s"])) for s in values]
    return p, [[F(rows.count(s), len(rows)) for s in values] for rows in by_group(table).values()]


def truth(p: list[F], laws: list[list[F]]) -> dict[str, Any]:
    """Return the models by their definitions."""
    lifts = [q / share for law in laws for q, share in zip(law, p, strict=True)]
    surprised = any(mpf(q / s) > 1 - mp.log(mpf(s)) + mp.mpf(10) ** -40
                    for law in laws for q, s in zip(law, p, strict=True))  # fmt: skip
    moved = [[sum(law[: i + 1], F(0)) - sum(p[: i + 1], F(0)) for i in range(len(p))] for law in laws]
    entropies = [-mp.fsum(mpf(q) * mp.log(mpf(q)) for q in law if q) for law in laws]
    low, high = min(lifts), max(lifts)
    return {
        "lift": high, "least_lift": low, "beta": high - 1, "enhanced_beta": None if surprised else high - 1,
        "pml": mp.log(mpf(high)), "pmc": -mp.log(mpf(low)) if low else mp.inf,
        "lip": max(mp.log(mpf(high)), -mp.log(mpf(low)) if low else mp.inf),
        "t": max(sum(abs(q - s) for q, s in zip(law, p, strict=True)) / 2 for law in laws),
        "ordered_t": max(sum(map(abs, row), F(0)) / max(len(p) - 1, 1) for row in moved),
        "certainty": max(max(law) for law in laws), "distinct_l": min(sum(q > 0 for q in law) for law in laws),
        "entropy_l": mp.exp(min(entropies)),
    }  # fmt: skip


@case("assess", "Assessment", "Groups")
def assessed(rng: np.random.Generator) -> None:
    table = drawn(rng)
    found = dv.assess(pa.table(table), ["a", "b"], "s", population=200)
    groups = by_group(table)
    p, q = laws(table)
    for name, value in truth(p, q).items():
        got = getattr(found, name)
        if value is None or isinstance(value, (int, F)):
            assert got == value, name
        else:
            same(name, got, value, 1e-15)
    rows = len(table["s"])
    assert found.groups == len(groups) == len(found.by_group.sizes)
    assert found.k == min(map(len, groups.values())) == int(found.by_group.sizes.min())
    assert found.uniques == F(sum(len(one) == 1 for one in groups.values()), rows)
    assert found.marketer == F(len(groups), rows)
    assert found.journalist is None
    weights = [(F(len(one), rows), law) for one, law in zip(groups.values(), q, strict=True)]
    same("information", found.information,
         mp.fsum(mpf(w * v) * mp.log(mpf(v / s)) for w, law in weights for v, s in zip(law, p, strict=True) if v),
         1e-11, 1e-14)  # fmt: skip
    for l in range(1, 4):
        falling = [sorted(Counter(one).values(), reverse=True) for one in groups.values()]
        ratios = [F(r[0], sum(r[l - 1 :])) if sum(r[l - 1 :]) else math.inf for r in falling]
        assert found.recursive_c(l) == max(ratios)
    others = int(rng.integers(0, 4))
    beside = max(F(n, len(one) - min(others, len(one) - n)) for one in groups.values() for n in Counter(one).values())
    assert found.certainty_beside(others) == beside
    worst = groups[tuple(found.worst.group.values())]
    assert (found.worst.after, found.worst.lift) == (F(worst.count(found.worst.value), len(worst)), found.lift)
    counted = found.by_group
    assert counted.rows == rows == int(counted.sizes.sum()) == int(counted.totals.sum()) == int(counted.dense().sum())
    assert counted.cell_rows.tolist() == [
        int(counted.dense()[i, j]) for i, j in zip(counted.cell_group, counted.cell_value, strict=True)
    ]  # fmt: skip
    assert counted.distinct.tolist() == (counted.dense() > 0).sum(axis=1).tolist()
    for place in range(len(counted)):
        assert len(groups[tuple(counted.group(place).values())]) == int(counted.sizes[place])
        assert tuple(map(int, counted.codes[place])) == tuple(
            of.index(v) for of, v in zip(counted.labels, counted.group(place).values(), strict=True)
        )  # fmt: skip
    assert set(counted.values) == set(table["s"])
    assert len(counted.by(["a"])) == len(set(table["a"])) == len(by_group(table, "a"))
    if len(counted.values) > 1:
        noise = dv.mechanisms.randomized_response(list(counted.values), ratio=3)
        both = found.then(noise)
        assert found.lift <= both.lift.max() * 3 <= found.lift * 9
        assert [sum(both.outer[i :: len(noise.outcomes)]) for i in range(len(noise.outcomes))] == (
            dv.Joint(found.joint.prior, noise).outer.tolist()
        )
    assert found.joint.outer.tolist() == [F(int(n), rows) for n in counted.sizes]
    assert found.measures()["lift"] == found.lift
    assert found.holds(f"k={found.k}")
    assert not found.verdicts(f"k={found.k + 1}")[0].holds
    assert found.left_out == {}
    assert found.alone == ()
    uniques = found.population_uniques()
    assert 0 <= uniques["pitman"] <= 200
    assert uniques["zayatz"] >= 0
    assert counted.starts[0] == 0


@case("ColumnRisk", "Disclosure")
def columns(rng: np.random.Generator) -> None:
    table = drawn(rng)
    found = dv.assess(pa.table(table), ["a", "b"], "s")
    whole = by_group(table)
    for risk in found.columns:
        groups, rest = by_group(table, risk.columns), by_group(table, [n for n in "ab" if n not in risk.columns])
        assert (risk.groups, risk.k) == (len(groups), min(map(len, groups.values())))
        assert risk.uniques == sum(len(one) == 1 for one in groups.values())
        assert risk.certain == sum(len(one) for one in groups.values() if len(set(one)) == 1)
        assert risk.added_uniques == sum(len(r) == 1 for r in whole.values()) - sum(len(r) == 1 for r in rest.values())
        shares = {s: F(table["s"].count(s), len(table["s"])) for s in table["s"]}
        assert risk.lift == max(F(one.count(s), len(one)) / shares[s] for one in groups.values() for s in set(one))
        information = mp.fsum(
            mpf(F(one.count(s), len(table["s"]))) * mp.log(mpf(F(one.count(s), len(one)) / shares[s]))
            for one in groups.values() for s in set(one)
        )  # fmt: skip
        same("information", risk.information, information, 1e-11, 1e-14)
        at_most("added", risk.added_information, found.information * (1 + 1e-9) + 1e-12)
        assert risk.all_known is found.by_group
        assert risk.rise >= 1
        for one in risk.disclosures:
            at_most("low", one.low, one.after)
            at_least("high", one.high, one.after)
            assert (one.before, one.few) == (shares[one.value], one.rows < 30)
            assert F(one.hits, one.rows) == one.after


@case(*KINDS)
def levels(rng: np.random.Generator) -> None:
    """What a table has of each kind, decided at equality, from fractions and from doubles."""
    table = drawn(rng)
    found = dv.assess(pa.table(table), ["a", "b"], "s")
    p, q = laws(table)
    values = truth(p, q)
    floats = dv.Joint(found.joint.prior.floats, found.joint.channel.floats)
    for kind, name in ((g.TCloseness, "t"), (g.OrderedT, "ordered_t"), (g.BetaLikeness, "beta")):
        (value,) = kind.of(found).values().values()
        assert value == values[name]
        at_least(kind.kind, *kind.of(floats).values().values(), values[name] - F(1, 10**15))
        same(kind.kind, *kind.of(floats).values().values(), values[name], 1e-10, 1e-12)
    assert g.DistinctL.of(found).l == g.DistinctL.of(floats).l == values["distinct_l"]
    for subject in (found, floats):
        at_most("entropy l", g.EntropyL.of(subject).l, values["entropy_l"] * (1 + mp.mpf("1e-13")))
        same("entropy l", g.EntropyL.of(subject).l, values["entropy_l"], 1e-10)
    assert g.EnhancedBeta.of(found).beta == (math.inf if values["enhanced_beta"] is None else values["enhanced_beta"])
    l = int(rng.integers(1, 4))
    c = found.recursive_c(l)
    assert g.RecursiveL.of(found, l=l).c == c if c == math.inf else g.RecursiveL.of(found, l=l).c > c
    if c < math.inf:
        assert not g.RecursiveL(c, l).holds_for(found).holds
    delta = g.DeltaDisclosure.of(found).epsilon
    at_least("delta", delta, values["lip"])
    assert g.DeltaDisclosure(delta).holds_for(found).holds
    assert g.KAnonymity.of(found).k == found.k


def transport(q: list[F], p: list[F], cost: np.ndarray) -> float:
    """Return the earth mover's distance by a linear program."""
    from scipy.optimize import linprog

    m = len(p)
    rows = np.zeros((2 * m, m * m))
    for i in range(m):
        rows[i, i * m : (i + 1) * m] = 1
        rows[m + i, i::m] = 1
    found = linprog(cost.ravel(), A_eq=rows, b_eq=[float(v) for v in (*q, *p)], method="highs")
    return float(found.fun)


@case("Hierarchy", "Assessment")
def hierarchies(rng: np.random.Generator) -> None:
    """Paths are those of their definition, and the hierarchical distance is that of moving shares over the tree."""
    H = dv.tables.Hierarchy
    value, width, times = int(rng.integers(-100, 100)), int(rng.integers(1, 9)), int(rng.integers(2, 5))
    ladder = H.ladder(width, width * times)
    for label, wide in zip(ladder.path(value)[1:], (width, width * times), strict=False):
        low, high = (int(part) for part in label.strip("[)").split(","))
        assert low <= value < high
        assert (high - low, low % wide) == (wide, 0)
    assert H.prefix(3, 1).path("01067") == ("01067", "010*", "0*", "*")
    assert H.dates("month", "year").path("2026-05-17") == ("2026-05-17", "2026-05", "2026", "*")
    assert H.flat().path(3) == ("3", "*")
    assert (ladder.height, H.flat().height) == (3, 1)
    m = int(rng.integers(2, 6))
    up = rng.integers(0, 2, m).tolist()
    tree = H.table([[s, f"n{up[s]}", "*"] for s in range(m)])
    assert len(set(tree.coded(list(range(m)), "s").maps[1].tolist())) == len(set(up))
    rows = int(rng.integers(2, 30))
    secret = np.concatenate([np.arange(m), rng.integers(0, m, rows)])
    table = {"a": rng.integers(0, 3, m + rows).tolist(), "b": [0] * (m + rows), "s": secret.tolist()}
    found = dv.assess(pa.table(table), ["a", "b"], "s", hierarchies={"s": tree})
    p, q = laws(table)
    cost = np.array([[0 if i == j else 1 if up[i] == up[j] else 2 for j in range(m)] for i in range(m)]) / 2
    same("hierarchical t", found.hierarchical_t, max(transport(law, p, cost) for law in q), 1e-7, 1e-9)
    for kind in (dv.PML, g.TCloseness):
        assert kind.of(found.subject_of(kind)) == kind.of(found.joint)


def bits_lost(values: list[Any], coarse: list[Any]) -> mp.mpf:
    """Return the non-uniform entropy of one column."""
    fine, wide = Counter(values), Counter(coarse)
    return -mp.fsum(mp.log(mp.mpf(fine[v]) / wide[c], 2) for v, c in zip(values, coarse, strict=True))


@case("generalize", "Generalization", "Certificate", "Infeasible", "Minimality")
def generalized(rng: np.random.Generator) -> None:
    """The loss is the least of all nodes that keep k and t, and the certificate names only nodes that do not."""
    H = dv.tables.Hierarchy
    table = drawn(rng)
    ladders = {"a": H.ladder(2), "b": H.table([[v, f"n{v // 2}", "*"] for v in range(5)])}
    k, t = int(rng.integers(1, 6)), F(int(rng.integers(1, 8)), 8)
    feasible: dict[tuple[int, int], mp.mpf] = {}
    nodes = [(i, j) for i in range(3) for j in range(3)]
    coarse = {}
    for node in nodes:
        wide = {n: [ladders[n].path(v)[level] for v in table[n]] for n, level in zip("ab", node, strict=True)}
        coarse[node] = table | wide
        groups = by_group(coarse[node])
        p, q = laws(coarse[node])
        if min(map(len, groups.values())) >= k and truth(p, q)["t"] <= t:
            feasible[node] = mp.fsum(bits_lost(table[n], wide[n]) for n in "ab")
    asked: dict[str, Any] = {"guarantees": [f"k={k}", f"t={t}"], "hierarchies": ladders}
    if not feasible:
        try:
            dv.generalize(pa.table(table), ["a", "b"], "s", **asked)
        except dv.DivulgeError:
            return
        raise AssertionError("nothing is feasible")
    found = dv.generalize(pa.table(table), ["a", "b"], "s", **asked)
    same("loss", found.loss, min(feasible.values()), 1e-11, 1e-12)
    best = tuple(found.levels.values())
    assert best in feasible
    assert found.certificate.optimum == found.levels
    same("certified", found.certificate.loss, found.loss)
    assert found.certificate.nodes == len(nodes)
    assert 1 <= found.certificate.visited <= len(nodes)
    assert found.certificate.costly == ()
    for why in found.certificate.infeasible:
        assert why.below
        assert tuple(why.levels.values()) not in feasible
        groups = by_group(coarse[tuple(why.levels.values())])
        if why.guarantee.startswith("k="):
            assert why.measured == len(groups[tuple(why.group.values())]) < k
            assert why.value is None
        else:
            assert t < why.measured <= 1
    covered = [n for n in nodes if any(all(x <= y for x, y in zip(n, w.levels.values(), strict=True))
                                       for w in found.certificate.infeasible)]  # fmt: skip
    assert not set(covered) & set(feasible)
    assert found.assessment.k >= k
    assert found.assessment.holds(asked["guarantees"])
    assert found.suppressed == 0
    assert (found.columns, found.rows_per_person, found.people) == (("a", "b", "s"), 1, found.assessment.k)
    assert set(found.as_they_were) == {"s", *(name for name, level in found.levels.items() if not level)}
    assert (found.person, found.together, found.papers) == (None, None, {})
    assert found.rows.num_rows == found.table.num_rows == len(table["s"])
    if found.minimality is not None:
        chosen(table, asked, coarse[best], found)


def chosen(table: dict[str, list[Any]], asked: dict[str, Any], coarse: dict[str, list[Any]], found: Any) -> None:
    """What the choice of levels tells is at least what groups tell, and where orders are few, what all orders tell."""
    seen, secrets = found.minimality, Counter(table["s"])
    assert seen.before == F(secrets[seen.value], len(table["s"]))
    who = [i for i in range(len(table["s"])) if all(str(table[n][i]) == str(v) for n, v in seen.group.items())]
    group = [s for a, b, s in zip(coarse["a"], coarse["b"], coarse["s"], strict=True)
             if (a, b) == (coarse["a"][who[0]], coarse["b"][who[0]])]  # fmt: skip
    assert seen.by_group == F(group.count(seen.value), len(group))
    assert 1 <= seen.left <= seen.tables
    assert 0 < seen.after <= 1
    if len(table["s"]) > 6:
        return
    places = list(zip(coarse["a"], coarse["b"], strict=True))
    ends = Counter(zip(places, table["s"], strict=True))
    kept = []
    for order in sorted(set(itertools.permutations(table["s"])), key=str):
        if Counter(zip(places, order, strict=True)) == ends:
            try:
                other = dv.generalize(pa.table(table | {"s": list(order)}), ["a", "b"], "s", **asked)
            except dv.DivulgeError:
                continue
            if other.levels == found.levels:
                kept.append(order)
    lifts = {(i, s): F(sum(order[i] == s for order in kept), len(kept)) * len(table["s"]) / secrets[s]
             for i in range(len(table["s"])) for s in secrets}  # fmt: skip
    assert seen.lift == max(lifts.values())
    assert all(lifts[i, seen.value] == seen.lift for i in who)


def unmerged(joint: dv.Joint) -> dict[str, Any]:
    """Return what the spec of tables says cannot rise when groups are merged, of the joint of secret and group."""
    lifts = [[F(v) for v in column] for column in joint.lift.T]
    shares = [F(v) for v in joint.outer]
    pmc = dv.pmc(joint)
    return {
        "pml": dv.pml(joint).max(), "pmc": pmc.max(), "mean pmc": pmc.mean(), "lip": dv.lip(joint),
        "alip lower": dv.alip(joint).lower, "alip upper": dv.alip(joint).upper,
        "mutual information": dv.mutual_information(joint),
        "mean of e^pml": sum(q * max(column) for q, column in zip(shares, lifts, strict=True)),
        **{f"f-information {power}": sum(
            float(q) * float(p) * float(v) ** power for q, column in zip(shares, lifts, strict=True)
            for p, v in zip(joint.prior.probabilities, column, strict=True)) for power in (1.5, 2, 3)},
    }  # fmt: skip


@case("Assessment")
def merged(rng: np.random.Generator) -> None:
    """Merging two groups raises none of what the search of levels takes for monotone, and lowers none of its twins."""
    table = drawn(rng)
    values = sorted(set(table["a"]))
    if len(values) == 1:
        return
    one, other = (int(v) for v in rng.choice(values, 2, replace=False))
    fine = dv.assess(pa.table(table), ["a"], "s")
    wide = dv.assess(pa.table(table | {"a": [one if v == other else v for v in table["a"]]}), ["a"], "s")
    for name in ("lift", "t", "ordered_t", "certainty", "uniques", "marketer", "beta"):
        assert getattr(wide, name) <= getattr(fine, name), name
    for name in ("k", "distinct_l", "least_lift"):
        assert getattr(wide, name) >= getattr(fine, name), name
    assert wide.entropy_l >= fine.entropy_l * (1 - 1e-12)
    assert wide.enhanced_beta is not None or fine.enhanced_beta is None
    assert all(wide.recursive_c(l) <= fine.recursive_c(l) for l in range(1, 5))
    before = unmerged(fine.joint)
    for name, value in unmerged(wide.joint).items():
        at_most(name, value, before[name] * (1 + 1e-12) + 1e-12)


@case("Assessment", "ConvexHull")
def believed(rng: np.random.Generator) -> None:
    """The corners are the shares in the groups, counted row by row, each once."""
    table = drawn(rng)
    values = sorted(set(table["s"]))
    inside: dict[int, list[int]] = {}
    for a, s in zip(table["a"], table["s"], strict=True):
        inside.setdefault(a, []).append(s)
    shares = {tuple(F(rows.count(s), len(rows)) for s in values) for rows in inside.values()}
    found = dv.assess(pa.table(table), ["a"], "s").posteriors
    assert list(found.secrets) == values
    assert sorted(map(tuple, found.corners.tolist())) == sorted(shares)


@case("Assessment")
def not_merged(_: np.random.Generator) -> None:
    """The examples of what can rise: the mean of pml, and the rows in groups that break a bound on lifts."""
    table = {"a": [0, 0, 1, 1, 1, 2], "s": [0, 1, 0, 1, 1, 1]}
    fine, wide = (dv.assess(pa.table(table | {"a": a}), ["a"], "s").joint for a in (table["a"], [0] * 5 + [2]))
    same("mean pml", dv.pml(fine).mean(), mp.mpf("0.202732554054082190989006557732"), 1e-12)
    assert dv.pml(wide).mean() > dv.pml(fine).mean()
    counts = [[1, 0], [1, 1], [1, 3]]

    def broken(groups: list[list[int]]) -> F:
        totals = [sum(column) for column in zip(*counts, strict=True)]
        rows = sum(totals)
        lifts = [max(F(n, sum(g)) * rows / t for n, t in zip(g, totals, strict=True)) for g in groups]
        return F(sum(sum(g) for g, lift in zip(groups, lifts, strict=True) if lift > F(3, 2)), rows)

    assert broken(counts) == F(1, 7)
    assert max(broken([[2, 1], [1, 3]]), broken([[2, 3], [1, 1]]), broken([[1, 0], [2, 4]])) == F(3, 7)


@case("generalize", "Certificate")
def certified(rng: np.random.Generator) -> None:
    """A certificate is right by its words, for any guarantee and loss: all nodes are listed."""
    table = people(rng, int(rng.integers(6, 30)))
    asked, loss = ASKED[int(rng.integers(len(ASKED)))], list(LOSSES)[int(rng.integers(len(LOSSES)))]
    known, texts = list(LADDERS), [f"{kind}={value}" for kind, value in asked]
    feasible = [node for node in nodes() if keeps(coarse(table, node), known, asked)]
    try:
        found = dv.generalize(pa.table(table), known, "s", guarantees=texts, hierarchies=LADDERS, loss=loss)
    except dv.DivulgeError:
        assert not feasible
        return
    assert found.levels in feasible
    same("loss", found.loss, min(LOSSES[loss](table, node) for node in feasible), 1e-9, 1e-9)
    assert found.certificate.optimum == found.levels
    check(table, found, asked, loss)
