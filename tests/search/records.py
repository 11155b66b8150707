"""Results of designs, audits, estimates, releases and publications: all their numbers, by counting and by hand."""

import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pyarrow as pa
from scipy import stats
from scipy.special import rel_entr

import divulge as dv
from search.registry import at_least, at_most, between, case, mpf, same
from search.subjects import distribution, drawn, pick


@case("Design", "Frontier", "LeastEpsilon", "Score")
def parts_of_designs(rng: np.random.Generator) -> None:
    n = int(rng.integers(2, 4))
    prior = distribution(rng, n, span=0.7)
    epsilon = float(rng.uniform(0.2, 1.5))
    found = dv.design(dv.Prior(prior), dv.LDP(epsilon), utility="hamming")
    whole = [[Fraction(int(w), 1 << found.bits) for w in row] for row in found.integers.tolist()]
    assert found.channel.matrix.tolist() == whole
    assert found.joint.p.tolist() == prior
    right = sum((p * max(row) for p, row in zip(prior, zip(*whole, strict=True), strict=False)), Fraction(0))
    hits = sum(
        (
            p * row[list(found.outcomes).index(x)]
            for x, (p, row) in enumerate(zip(prior, whole, strict=True))
            if x in found.outcomes
        ),
        Fraction(0),
    )
    same("utility", found.utility, hits, 1e-12)
    assert right >= 0
    same("gap", found.gap, max(0.0, found.bound - found.utility), 1e-12)
    same("relative_gap", found.relative_gap, found.gap / found.bound, 1e-12)
    at_least("rounding_loss", found.rounding_loss or 0.0, 0)
    same("unrounded", found.unrounded or found.utility, found.utility, 1e-6)
    assert (found.side, found.minimized, found.logarithmic) == ("at most", False, False)
    ratios = [max(c) / min(c) for c in zip(*whole, strict=True) if max(c) > 0]
    at_least("achieved", found.achieved[0].epsilon, mp.log(mpf(max(ratios))))
    at_most("achieved", found.achieved[0].epsilon, mpf(epsilon))
    other = [distribution(rng, n, span=0.5) for _ in range(n)]
    readings = mp.fsum(max(mpf(p) * mpf(row[y]) for p, row in zip(prior, other, strict=True)) for y in range(n))
    same("utility_of: outcomes are read at their best", found.utility_of(other), readings, 1e-9)
    rows = found.compare().rows
    same("compare", rows[0].utility, found.utility, 1e-12)
    for row in rows:
        at_most("no named mechanism beats the bound", row.utility, found.bound * (1 + 1e-9))
    named = dv.design(dv.Prior(prior), dv.LDP(epsilon), outcomes=dv.OwnNames())
    at_least("names_cost", named.names_cost, 0)
    at_most("unnamed_bound", named.bound, named.unnamed_bound * (1 + 1e-9) + 1e-12)
    reached = Fraction(3, 4)
    if max(prior) < reached:
        least = dv.least_epsilon(dv.Prior(prior), dv.LDP, at_least=float(reached), utility="hamming")
        at_most("lower", least.lower, least.epsilon)
        at_least("it reaches the utility", least.design.utility, reached * (1 - Fraction(1, 10**9)))
        assert least.undecided == least.epsilon - least.lower >= 0
        if n == 2:  # P_0 a + P_1 b with a, b in ratio e^epsilon to what they leave
            short = dv.design(dv.Prior(prior), dv.LDP(least.lower * (1 - 1e-6)), utility="hamming")
            at_most("below it none does", short.bound, float(reached) * (1 + 1e-6))
    curve = dv.frontier(dv.Prior(prior), dv.LDP, [0.0, epsilon], utility="hamming", named=["randomized response"])
    same("utilities", curve.utilities[1], found.utility, 1e-6)
    same("at 0", curve.bounds[0], max(prior), 1e-6)
    assert curve.epsilons.tolist() == [0.0, epsilon]
    assert [design.utility for design in curve.designs] == curve.utilities.tolist()
    for utility, bound in zip([one.utility for one in curve.named["randomized response"]], curve.bounds, strict=True):
        at_most("named", utility, bound * (1 + 1e-9))
    score = dv.Score(lambda x, y: float(x == y))
    table, _ = score.table(range(n), None)
    assert table.tolist() == np.eye(n).tolist()
    floats = np.array([[float(v) for v in row] for row in other])
    p = np.array([float(v) for v in prior])
    same("value", score.value(p, table, floats), p @ np.diag(floats), 1e-12)
    same(
        "decided",
        score.decided(p, dv.Channel(floats, outcomes=[f"o{y}" for y in range(n)]), range(n), range(n)),
        readings,
        1e-9,
    )
    assert (score.sign, dv.Score(score.of, least=True).sign) == (1.0, -1.0)


@case("Audit", "Contingency")
def parts_of_audits(rng: np.random.Generator) -> None:
    counts = rng.integers(0, 60, size=(int(rng.integers(2, 4)), int(rng.integers(2, 4))))
    counts[0] += 1
    counts[:, 0] += 1
    found = dv.audit(counts, secret=None, released=None, claim=dv.LDP(1.0))
    assert found.counts.tolist() == counts.tolist()
    assert found.thinnest == counts.min()
    for name, level in found.measures.items():
        between(name, level.lower, max(level.lower, min(level.estimate, level.upper)), level.upper)
        if name in found.refutable:
            at_least("refutable", found.refutable[name] * (1 + 1e-9) + 1e-12, level.lower)
    assert found.violated == (found.measures["ldp"].lower > 1.0)
    assert (found.witness is not None) == found.violated or not found.violated
    columns: dict[str, list[str | None]] = {
        "x": [str(i) for i, row in enumerate(counts) for c in row for _ in range(c)],
        "y": [str(j) for row in counts for j, c in enumerate(row) for _ in range(c)],
    }
    columns["x"][0] = None
    table = dv.contingency(pa.table(columns), ["x", "y"])
    dense = table.dense()
    assert dense.sum() == counts.sum() == table.counts.sum()
    for cell, count in zip(table.cells.tolist(), table.counts.tolist(), strict=True):
        x, y = table.labels[0][cell[0]], table.labels[1][cell[1]]
        assert (
            dense[tuple(cell)]
            == count
            == sum(a == x and b == y for a, b in zip(columns["x"], columns["y"], strict=True))
        )
    assert table.missing == (1, 0)


@case("audit")
def audits_of_reports(rng: np.random.Generator) -> None:
    """Reports of other values than the true ones: what ran is epsilon-LDP, and 0-LDP where all become one."""
    values, shares = list("abcdef"), rng.dirichlet(np.full(6, 0.3))
    secret = rng.choice(6, 20_000, p=shares)
    becomes = pick(rng, [np.full(6, int(shares.argmax())), rng.permutation(6), rng.integers(0, 6, 6)])
    if len(set(secret.tolist())) < 2:
        return
    epsilon = float(rng.uniform(0.1, 5))
    name = pick(rng, ["randomized-response", "optimized-unary", "local-hashing", "hadamard"])
    told = pa.table({"x": [values[x] for x in becomes[secret]]})
    done = dv.release(told, column="x", guarantee=dv.LDP(epsilon), protocol=name, values=values)
    rows = done.table.append_column("x", [[values[x] for x in secret]])
    claim = dv.LDP(epsilon * (1 + 1e-9))
    found = dv.audit(rows, secret="x", released="x_perturbed", mechanism=done, claim=claim, confidence=1 - 1e-12)
    constant = len(set(becomes.tolist())) == 1
    at_most(f"{name}, epsilon from below", found.measures["ldp"].lower, 0.0 if constant else epsilon)
    assert not found.violated


@case("audit", "Audit")
def audits_of_events(rng: np.random.Generator) -> None:
    """Claims about sets of outcomes that are just true are kept, and what is shown lies below the truth."""
    n, m, rows = int(rng.integers(2, 5)), int(rng.integers(2, 40)), int(rng.integers(50, 4000))
    matrix = rng.dirichlet(np.full(m, float(rng.choice([0.2, 1.0, 5.0]))), n)
    pairs = [(a, b) for a in matrix for b in matrix if a is not b]
    tv = max(float(np.maximum(a - b, 0).sum()) for a, b in pairs)
    epsilon = float(rng.uniform(0, 2))
    delta = max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = max(float(np.where(a > 0, a * np.log(a / b), 0.0).sum()) for a, b in pairs)
    counts = np.stack([rng.multinomial(rows, row) for row in matrix])
    for claim, truth in ((dv.guarantees.TV(tv), tv), (dv.ADP(epsilon, delta), epsilon), (dv.guarantees.KL(kl), kl)):
        found = dv.audit(counts, secret=None, released=None, claim=claim, confidence=1 - 1e-9)
        assert not found.violated, claim
        if found.chosen is not None:
            at_most(f"{claim.kind}, from below", found.chosen.level, truth * (1 + 1e-9) + 1e-12)
            at_least("what could be refuted", found.chosen.most * (1 + 1e-9) + 1e-12, found.chosen.level)
            assert 0 < len(found.chosen.outcomes) < found.counts.shape[1]


@case("Frequencies")
def parts_of_frequencies(rng: np.random.Generator) -> None:
    n, rows, keep = int(rng.integers(2, 5)), int(rng.integers(50, 3000)), float(rng.uniform(0.5, 0.95))
    names, other = [f"x{i}" for i in range(n)], (1 - keep) / (n - 1)
    channel = dv.Channel([[keep if i == j else other for j in range(n)] for i in range(n)], names, names)
    counts = rng.multinomial(rows, rng.dirichlet(np.ones(n)) @ channel.floats)
    table = pa.table({"x": [name for name, c in zip(names, counts, strict=True) for _ in range(c)]})
    found = dv.estimate_frequencies(table, channel, column="x", confidence=0.95)
    same("condition", found.condition, 1 / (keep - other), 1e-9)
    assert (found.biased, found.simultaneous, found.interval) == (False, True, "exact")
    assert found.group is None
    for frequency, low, high in () if found.empty else zip(found.frequency, found.lower, found.upper, strict=True):
        between("an interval", max(low, 0.0), min(max(low, 0.0), high), min(high, 1.0))
        if 0.02 < frequency < 0.98 and found.frequency.min() > 0:
            between("the estimate lies in it", low, frequency, high)
            spread = stats.norm.ppf(0.975) * math.sqrt(keep * (1 - keep) / rows) / (keep - other)
            if low > 0 and high < 1:
                at_least("no interval is narrower than half of one for a known share", high - low, spread / 2)
    assert all("asymptotic" not in text for text in found.warnings)


@case("Guessability", "Disclosure", "ColumnRisk")
def parts_of_guesses(rng: np.random.Generator) -> None:
    secrets = rng.integers(0, 3, size=240)
    found = dv.guessability(secrets, secrets + rng.normal(scale=0.3, size=240))
    same("leakage", found.leakage, max(0.0, math.log(found.accuracy / found.before)), 1e-12, 1e-15)
    public = np.where(rng.random(240) < 0.7, secrets, rng.integers(0, 3, size=240))
    columns = {"s": secrets.astype(str).tolist(), "a": public.astype(str).tolist()}
    shown = dv.assess(pa.table(columns | {"tags": [["x"]] * 240}), secret="s")
    assert set(shown.left_out) == {"tags"}
    for risk in shown.columns:
        assert (risk.columns, risk.groups) == (("a",), len(set(public.tolist())))
        same("rise", risk.rise, max([1.0, *(float(shift.low / shift.before) for shift in risk.disclosures)]), 1e-12)
        for shift in risk.disclosures:
            same("its own rise", shift.rise, shift.low / float(shift.before), 1e-12)
            same("lift", shift.lift, shift.after / shift.before)
            assert shift.few == (shift.rows < 30)
            members = public.astype(str) == str(shift.group["a"])
            hits = int((secrets.astype(str)[members] == str(shift.value)).sum())
            assert (shift.rows, shift.hits) == (int(members.sum()), hits)
            same("before", shift.before, (secrets.astype(str) == str(shift.value)).mean(), 1e-12)
            same("after", shift.after, hits / members.sum(), 1e-12)
            between("low and high", shift.low, shift.after, shift.high)
            same("rise", shift.rise, shift.low / shift.before, 1e-12)
            # a bound of confidence 1 - r on a share is no nearer than where n KL(share || bound) = log 1/r - log(n + 1)
            for end in (shift.low, shift.high):
                if 0 < end < 1:
                    share = float(shift.after)
                    spent = shift.rows * float(rel_entr(share, end) + rel_entr(1 - share, 1 - end))
                    at_least(
                        "no bound is near", spent + math.log(shift.rows + 1), math.log(1 / (1 - shown.confidence)) - 1
                    )


@case("Receipt")
def rows_that_follow_each_other(rng: np.random.Generator) -> None:
    """What all rows of a person tell of one of them, over every trajectory and every list of outcomes."""
    n, times, names = int(rng.integers(2, 4)), int(rng.integers(2, 4)), ["a", "b", "c"]
    moves = [distribution(rng, n, span=0.9) for _ in range(n)]
    start = dv.Prior(distribution(rng, n, span=0.7), names[:n])
    mechanism = dv.mechanisms.randomized_response(names, epsilon=float(rng.uniform(0.1, 2)))
    table = pa.table({"who": np.arange(12) // times, "x": [names[i] for i in rng.integers(0, n, size=12)]})
    prior = dv.Prior([*start.probabilities, *[0] * (3 - n)], names)
    receipt = dv.release(table, column="x", mechanism=mechanism, person="who", rows_per_person=times, prior=prior,
                         chain=dv.Channel(moves, names[:n], names[:n]))  # fmt: skip
    assert receipt.chain is not None
    rows = [[mpf(p) for p in row] for row in receipt.channel.matrix.tolist()]
    found = receipt.chain.leakage(np.array(rows, dtype=float), times)
    paths = list(itertools.product(range(n), repeat=times))
    weights = [mpf(start.probabilities[p[0]]) * mp.fprod(mpf(moves[a][b]) for a, b in itertools.pairwise(p))
               for p in paths]  # fmt: skip
    most = {"ldp": mp.mpf(0), "pml": mp.mpf(0), "pmc": mp.mpf(0)}
    for seen in itertools.product(range(3), repeat=times):
        after = [w * mp.fprod(rows[x][y] for x, y in zip(p, seen, strict=True))
                 for p, w in zip(paths, weights, strict=True)]  # fmt: skip
        for t in range(times):
            before = {x: mp.fsum(w for p, w in zip(paths, weights, strict=True) if p[t] == x) for x in range(n)}
            there = {x: mp.fsum(w for p, w in zip(paths, after, strict=True) if p[t] == x) for x in range(n)}
            lifts = [there[x] / before[x] / mp.fsum(after) for x in range(n) if before[x] > 0]
            reached = {"ldp": max(lifts) / min(lifts), "pml": max(lifts), "pmc": 1 / min(lifts)}
            most = {side: max(most[side], mp.log(value)) for side, value in reached.items()}
    for side, value in most.items():
        at_least(side, getattr(found, side) + 1e-13, value)
        same(side, getattr(found, side), value, 1e-9, 1e-12)


@case("Receipt", "Ledger", "Published", "Preview")
def what_is_on_record(rng: np.random.Generator) -> None:
    """What several releases guarantee together is at least the sum that their channels have."""
    names, epsilon, times = ["a", "b", "c"], float(rng.uniform(0.2, 2)), int(rng.integers(1, 4))
    prior = dv.Prior.from_counts([int(v) for v in rng.integers(1, 9, size=3)]).renamed(names)
    mechanism = dv.mechanisms.randomized_response(names, epsilon=epsilon)
    table = pa.table({"x": [names[i] for i in rng.integers(0, 3, size=40)]})
    with tempfile.TemporaryDirectory() as folder:
        ledger = dv.Ledger(Path(folder) / "ledger.db")
        for k in range(times):
            receipt = dv.release(
                table, Path(folder) / f"{k}.parquet", column="x", mechanism=mechanism, ledger=ledger, source_name="s"
            )
        assert len(ledger.entries("s")) == times
        spent, known = ledger.spent("s", ["x"]), ledger.spent("s", ["x"], prior)
    exact = receipt.channel(receipt.columns[0]) if callable(receipt.channel) else receipt.channel
    rows = exact.matrix.tolist()
    apart = max(max(c) / min(c) for c in zip(*rows, strict=True))
    at_least("ldp of the ledger", spent["ldp"], times * mp.log(mpf(apart)))
    same("ldp of the ledger", spent["ldp"], times * mp.log(mpf(apart)), 1e-9)
    if "pml" in known:
        most = max(
            mpf(row[y]) ** times
            / mp.fsum(mpf(p) * mpf(r[y]) ** times for p, r in zip(prior.probabilities, rows, strict=True))
            for row in rows
            for y in range(3)
        )
        at_least("pml of the ledger", known["pml"] + 1e-12, mp.log(most))
    assert receipt.mechanism_of("x") is receipt.mechanisms[0]
    shown = dv.preview(table, column="x", mechanism=mechanism)
    (level,) = shown.levels
    assert len(level.values) == 3
    alike = rng.integers(0, 2, size=40)
    beside = dv.preview(table.append_column("g", pa.array(alike)), column="x", mechanism=mechanism).beside
    if beside is not None:  # of groups of ten rows and more
        cells = [np.array(table["x"].to_pylist())[alike == g].tolist() for g in (0, 1) if (alike == g).sum() >= 10]
        held = max(Fraction(cell.count(beside.value), len(cell)) for cell in cells)
        same("before", beside.before, held, 1e-12)
        odds = mp.exp(level.ldp) * mpf(held)
        same("after", beside.after, odds / (odds + 1 - mpf(held)), 1e-9)
        assert beside.alone == sum(n for g in (0, 1) if (n := int((alike == g).sum())) < 10)
    kept = dv.publish(
        table, [dv.Count("x"), dv.Count()], guarantee=f"dp={epsilon}", values={"x": names}, noise="laplace"
    )
    at_most("loss", kept.loss, epsilon)
    at_least("loss", kept.loss * (1 + 1e-9), mp.fsum(mpf(query["loss"]) for query in kept.queries))
    assert kept.level == 0.95 or 0 < kept.level < 1
    assert [one["value"] for one in kept.statistics()] == kept.table["value"].to_pylist()


@case("Ledger")
def whom_releases_protect(rng: np.random.Generator) -> None:
    """Releases about rows and about people of one table: the losses of all draws about the person with most rows."""
    rows = rng.integers(1, 5, size=6)
    who = np.repeat(np.arange(6), rows)
    answers = np.array(["a", "b", *rng.choice(["a", "b"], size=4)])
    table = pa.table({"who": who, "x": answers[who], "n": range(len(who))})
    with tempfile.TemporaryDirectory() as folder:
        ledger, draws, people = dv.Ledger(Path(folder) / "ledger.db"), mp.mpf(0), False
        kinds = [str(pick(rng, ["row", "one", "some"])) for _ in range(int(rng.integers(1, 4)))]
        for kind in kinds:
            most = int(rng.integers(1, 4))
            how = {"row": {"per_row": True}, "one": {"person": "who", "one_answer": True},
                   "some": {"person": "who", "rows_per_person": most}}[kind]  # fmt: skip
            done = dv.release(table, column="x", mechanism="randomized-response", ratio=3, ledger=ledger,
                              source_name="s", **how)  # fmt: skip
            each = done.channel.matrix.tolist()
            loss = mp.log(mpf(max(max(c) / min(c) for c in zip(*each, strict=True))))
            draws += loss * {"row": int(rows.max()), "one": 1, "some": most}[kind]
            people = people or kind != "row"
        spent = ledger.spent("s", ["x"])["ldp"]
    if people:
        at_least("ldp of a person", spent * (1 + 1e-12), draws)
        same("ldp of a person", spent, draws, 1e-9)
    else:
        same("ldp of a row", spent, len(kinds) * mp.log(3), 1e-9)


@case("ConvexHull", "L1Ball", "LowerBounded", "Polytope", "Robust", "Profile", "DensityBounds", "Capacity")
def parts_of_measures(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4, zeros=False, positive_prior=True, form=str(pick(rng, ["float", "exact"])))
    n, channel, joint = len(d.rows), d.channel(), d.joint()
    found, q = dv.profile(joint), d.q
    up = [mp.log(max(row[y] for row in d.c) / q[y]) for y in d.seen]
    down = [mp.inf if min(row[y] for row in d.c) == 0 else mp.log(q[y] / min(row[y] for row in d.c)) for y in d.seen]
    same("alip.lower", found.alip.lower, max(down), 1e-12, 1e-14)
    same("alip.upper", found.alip.upper, max(up), 1e-12, 1e-14)
    same("lip", found.lip, max(*down, *up), 1e-12, 1e-14)
    same("maximal_realizable_cost", found.maximal_realizable_cost, max(down), 1e-12, 1e-14)
    same("mean_pml", found.mean_pml, mp.fsum(q[y] * v for y, v in zip(d.seen, up, strict=True)), 1e-11, 1e-14)
    same("mean_pmc", found.mean_pmc, mp.fsum(q[y] * v for y, v in zip(d.seen, down, strict=True)), 1e-11, 1e-14)
    guess = mp.fsum(max(p * row[y] for p, row in zip(d.p, d.c, strict=True)) for y in range(len(q))) / max(d.p)
    same("min_entropy_leakage", found.min_entropy_leakage, mp.log(guess), 1e-10, 1e-14)
    capacity = found.capacity
    same("gap", capacity.gap, capacity.upper - capacity.lower, 1e-12, 1e-300)
    between("value", capacity.lower, capacity.value, capacity.upper, 1e-12)
    worst = [mpf(v) for v in capacity.prior.probabilities]
    outer = [mp.fsum(p * row[y] for p, row in zip(worst, d.c, strict=True)) for y in range(len(q))]
    told = [mp.fsum(v * mp.log(v / o) for v, o in zip(row, outer, strict=True) if v > 0) for row in d.c]
    at_least(
        "upper: no row is farther from some mixture than the capacity",
        max(told) * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -12,
        capacity.upper * (1 - 1e-7) - 1e-10,
    )
    at_most("lower", capacity.lower, max(told) + mp.mpf(10) ** -14)
    radius, center = float(pick(rng, [0.0, 0.05, 0.4])), d.prior if d.form == "exact" else [float(v) for v in d.prior]
    sets = {
        "ball": dv.measures.L1Ball(center, Fraction(radius) if d.form == "exact" else radius),
        "bounded": dv.measures.LowerBounded(n, Fraction(1, 3 * n)),
        "hull": dv.measures.ConvexHull(
            [[Fraction(1, 3 * n) + (Fraction(2, 3) if i == j else 0) for j in range(n)] for i in range(n)]
        ),
        "polytope": dv.measures.Polytope(
            [[-1 if i == j else 0 for j in range(n)] for i in range(n)], [Fraction(-1, 3 * n)] * n
        ),
    }
    values = np.array([Fraction(int(v), 7) for v in rng.integers(-9, 9, size=n)], dtype=object)
    for name, one in sets.items():
        least = [mpf(v) for v in one.least(values).tolist()]
        same(f"{name}: sums to 1", mp.fsum(least), 1, 1e-13)
        if name == "ball":
            at_most(
                "in the ball",
                mp.fsum(abs(a - b) for a, b in zip(least, d.p, strict=True)),
                mpf(radius) + mp.mpf(10) ** -14,
            )
            low = mpf(min(values))
            moved, budget = mp.fsum(p * mpf(v) for p, v in zip(d.p, values, strict=True)), mpf(radius) / 2
            for p, v in sorted(zip(d.p, values, strict=True), key=lambda pair: -pair[1]):
                part = min(budget, p) if mpf(v) > low else mp.mpf(0)
                moved, budget = moved - part * (mpf(v) - low), budget - part
        else:
            moved = mp.fsum(mpf(v) for v in values) / (3 * n) + mpf(min(values)) * 2 / 3
        same(f"{name}: least", mp.fsum(p * mpf(v) for p, v in zip(least, values, strict=True)), moved, 1e-12, 1e-14)
        assert one.possible().all()
        pml, pmc = one.pml(channel), one.pmc(channel)
        same(f"{name}: lift", one.lift(channel), mp.exp(mpf(pml.max())), 1e-9)
        same(f"{name}: alip", one.alip(channel).lower, pmc.max(), 1e-12, 1e-14)
        same(f"{name}: lip", one.lip(channel), max(pml.max(), pmc.max()), 1e-12, 1e-14)
        for outcome, value, prior in zip(pml.outcomes, pml.values, pml.priors, strict=True):
            y = list(channel.outcomes).index(outcome)
            p = [mpf(v) for v in prior.probabilities]
            mixed = mp.fsum(a * row[y] for a, row in zip(p, d.c, strict=True))
            same(f"{name}: priors", value, mp.log(max(row[y] for row in d.c) / mixed), 1e-8, 1e-12)
    counts, confidence = [int(v) for v in rng.integers(1, 400, size=n)], 0.9
    samples = dv.measures.L1Ball.from_samples(counts, confidence)
    m = mp.mpf(sum(counts))
    first = mp.sqrt(2 * mp.log((mp.mpf(2) ** n - 2) / (1 - mpf(confidence))) / m)
    second = mp.sqrt((n - 1) / m) + mp.sqrt(2 * mp.log(1 / (1 - mpf(confidence))) / m)
    same("from_samples", samples.radius, min(first, second, mp.mpf(2)), 1e-9)
    assert samples.center.probabilities.tolist() == [Fraction(c, sum(counts)) for c in counts]


@case("Verdict", "Region", "PosteriorBounds")
def parts_of_verdicts(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4, positive_prior=True, zeros=False)
    joint, level = d.joint(), Fraction(int(rng.integers(1, 200)), 100)
    q = d.q
    truth = max(mp.log(max(row[y] for row in d.c) / q[y]) for y in d.seen)
    found = dv.PML(level).holds_for(joint)
    assert found.holds == (truth <= mpf(level)) or abs(truth - mpf(level)) < mp.mpf(10) ** -30
    same("measured", found.measured, truth, 1e-11, 1e-14)
    assert list(found.levels) == ["epsilon"]
    same("levels", found.levels["epsilon"], truth, 1e-11, 1e-14)
    same("slack", found.slack, mpf(level) - truth, 1e-9, 1e-12)
    at_least("margin", mpf(found.margin) + mp.mpf(10) ** -16 * (1 + truth), abs(mpf(found.measured) - truth))
    same("level", found.level.value, found.measured, 1e-15)
    if found.attack is not None:
        same("attack", found.attack.log(), truth, 1e-9, 1e-12)
    before = Fraction(int(rng.integers(1, 99)), 100)
    bounds = dv.guarantees.posterior_bounds(dv.LDP(level), before)
    assert (bounds.before, bounds.lower <= float(before) <= bounds.upper) == (float(before), True)
    odds = mpf(before) / (1 - mpf(before))
    for said, truth_ in zip(bounds.odds, (mpf(before), mpf(bounds.lower), mpf(bounds.upper)), strict=True):
        same("odds", said, truth_ / (1 - truth_), 1e-9)
    growth = mp.exp(mpf(level))
    at_least("upper", bounds.upper * (1 + 1e-12), odds * growth / (1 + odds * growth))
    at_most("lower", bounds.lower * (1 - 1e-12), odds / growth / (1 + odds / growth))
    prior = distribution(rng, int(rng.integers(2, 6)))
    if min(prior) == 0:
        return
    region = dv.guarantees.privacy_region(dv.PML(level), prior)
    falling = sorted(prior, reverse=True)
    ends = [-mp.log(mpf(sum(falling[: len(prior) - k], Fraction(0)))) for k in range(len(prior))] + [
        -mp.log(mpf(min(prior)))
    ]
    between("lower and upper", region.lower, mpf(level), max(region.upper, float(level)), 1e-12)
    assert any(abs(mpf(region.lower) - end) < mp.mpf(10) ** -9 for end in ends)
    kept = mp.exp(-mpf(level))
    for x in region.excludable:
        at_least("what may be ruled out leaves enough", 1 - mpf(prior[x]), kept * (1 - mp.mpf(10) ** -12))
