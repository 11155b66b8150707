"""What numbers are said to be: sentences, texts that read back, forms of one matrix, and time that was asked for."""

import math
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

import divulge as dv
from divulge.guarantees.catalog import KINDS
from divulge.guarantees.parameters import PARAMETERS
from search import registry
from search.designs import CONVEX, LINEAR, guarantee, prior_of
from search.registry import at_least, case, same
from search.subjects import drawn, pick

DENSITY = [
    kind for kind in KINDS.values()
    if kind.about in ("joint", "channel") and not kind.index and kind.kind not in ("k", "metric", "adp-curve")
]  # fmt: skip
WORDS = "merging outcomes afterwards can"


@case("MeanPML", "MCDP", "TailPML", "TailPMC")
def merging_raises_what_says_so_alone(rng: np.random.Generator) -> None:
    """No level of a kind whose sentence is silent about merging is raised by a random post-processing."""
    d = drawn(rng, most=5, form="exact", positive_prior=True)
    post = rng.dirichlet(np.full(int(rng.integers(2, 4)), 0.3), size=len(d.rows[0]))
    if rng.random() < 0.5:
        post = np.eye(post.shape[1])[rng.integers(0, post.shape[1], len(post))]
    before = d.joint()
    after = dv.Joint(before.prior, before.channel.then([[Fraction(v) / Fraction(sum(map(Fraction, row))) for v in row]
                                                        for row in post.tolist()]))  # fmt: skip
    for kind in DENSITY:
        ends = [kind.of(joint if kind.about == "joint" else joint.channel) for joint in (before, after)]
        for name in kind.bounded() if WORDS not in kind.sentence else ():
            first, second = (float(getattr(one, name)) for one in ends)
            if PARAMETERS[name].at_least:
                first, second = second, first
            at_least(f"{kind.kind} after merging", first * (1 + 1e-9) + 1e-12, second)


@case("parse")
def texts_are_read_back(rng: np.random.Generator) -> None:
    """What stands for a guarantee is the guarantee: no digit is lost, of doubles, of fractions and of decimals."""
    for kind in KINDS.values():
        if kind.kind in ("metric", "f-divergence", "capacity-bounded"):
            continue
        values: dict[str, Any] = {}
        for name in (*kind.index, *kind.bounded()):
            low, high = float(PARAMETERS[name].low), float(PARAMETERS[name].high)
            x = min(max(low, -1.0) + float(10.0 ** rng.uniform(-12, 0)), high)
            values[name] = pick(rng, [x, Fraction(x), Fraction(int(1 + x * 1000), 1000), Decimal(repr(x))])
        try:
            made = kind(**values)
        except dv.DivulgeError:
            continue
        assert dv.guarantees.parse(str(made)) == made, str(made)


@case("f_information", "design")
def one_divergence_has_one_size(rng: np.random.Generator) -> None:
    """The utility of a design is the f-information of its joint, by the same name."""
    prior = prior_of(rng, 4)
    for name in CONVEX:
        found = dv.design(prior, guarantee(rng, prior), utility=name)
        if name != "mutual-information":
            same(name, dv.measures.f_information(found.joint, name), found.utility, 1e-9, 1e-12)


@case("Channel", "Joint")
def forms_of_one_matrix(rng: np.random.Generator) -> None:
    """Whatever holds the numbers, they are the same channel; labels that a form has are kept."""
    import xarray

    n, m = (int(v) for v in rng.integers(2, 6, 2))
    counts = rng.multinomial(64, np.full(m, 1 / m), size=n)
    rows = counts / 64
    plain = dv.Channel(rows)
    names, outcomes = [f"s{i}" for i in range(n)], [f"y{j}" for j in range(m)]
    labelled: list[Any] = [
        pd.DataFrame(rows, names, outcomes),
        xarray.DataArray(rows, coords={"x": names, "y": outcomes}, dims=("x", "y")),
        pl.DataFrame({"s": names, **{y: rows[:, j] for j, y in enumerate(outcomes)}}),
        pa.table({"s": names, **{y: rows[:, j] for j, y in enumerate(outcomes)}}),
    ]
    for form in labelled:
        assert dv.Channel(form) == dv.Channel(rows, names, outcomes)
    bare: list[Any] = [
        rows.astype(np.float32), rows.tolist(), memoryview(np.ascontiguousarray(rows)), np.asfortranarray(rows),
        [[Decimal(repr(float(v))) for v in row] for row in rows], [[Fraction(float(v)) for v in row] for row in rows],
        *(getattr(sp, f"{kind}_{form}")(rows) for kind in ("dok", "csr", "coo", "lil") for form in ("matrix", "array")),
    ]  # fmt: skip
    for form in bare:
        given = dv.Channel(form).floats
        assert np.array_equal(given.toarray() if sp.issparse(given) else given, plain.floats)
    for kind in KINDS.values():
        said = ""
        try:
            kind.of(plain, nonsense=1)
        except dv.DivulgeError as error:
            said = str(error)
        assert "nonsense" in said, f"{kind.kind}.of with a keyword that it has not"


@case("assess", "Assessment")
def no_column_is_left_out(rng: np.random.Generator) -> None:
    """However many values a column has: a key that is unique decides every secret, and is said to."""
    rows = int(rng.integers(50, 3000))
    table = {
        "zip": [f"z{v}" for v in rng.integers(0, pick(rng, [3, 1100, 10**6]), rows).tolist()],
        "key": [f"k{v}" for v in rng.permutation(rows).tolist()],
        "s": rng.integers(0, 3, rows).tolist(),
    }
    found = dv.assess(pa.table(table), secret="s")
    assert not found.left_out
    shown = {risk.columns: risk for risk in found.columns}
    assert {("zip",), ("key",)} <= set(shown)
    assert shown["key",].groups == rows
    assert shown["zip",].groups == len(set(table["zip"]))
    assert (found.uniques, found.k) == (1, 1)
    rarest = min(table["s"].count(value) for value in set(table["s"]))
    same("the key decides", found.lift, Fraction(rows, rarest))


@case("design")
def time_that_was_asked_for(rng: np.random.Generator) -> None:
    """A limit of time is kept but for a share and a start, at every size; what comes is a design with a bound.

    The less of two clocks counts: a busy machine delays that of the wall, threads that wait for each other the other.
    """
    n = int(rng.integers(2, pick(rng, [30, 400, 1200])))
    prior = [float(p) for p in rng.dirichlet(np.full(n, pick(rng, [0.5, 5.0])))]
    asked = [guarantee(rng, prior) for _ in range(int(rng.integers(1, 3)))]
    limit = float(pick(rng, [0.0, 0.2, 1.0]))
    start, wall = time.process_time(), time.monotonic()
    found = dv.design(prior, *asked, utility=pick(rng, [*CONVEX, *LINEAR]), time_limit=limit)
    spent = min(time.process_time() - start, time.monotonic() - wall)
    sign = -1 if found.minimized else 1
    at_least("the bound", sign * found.bound + 1e-9, sign * found.utility)
    assert not registry.timed or spent < 2 * limit + 8, f"{n} secrets under {asked} took {spent:.1f} s of {limit}"
    assert math.isfinite(found.utility)
