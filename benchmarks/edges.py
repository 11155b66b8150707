"""One call on a small mechanism, and single questions that took long: least processor time of some runs.

    python benchmarks/edges.py

Calls are on a channel of 3 x 3, in turns with the formula of max pml in NumPy; everything else runs once, after its
libraries were loaded.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import divulge as dv

ROUNDS = 30

DENSITIES: dict[str, Callable[..., Any]] = {
    "skew normals": partial(stats.skewnorm, 4),
    "exponnorms": partial(stats.exponnorm, 1.5),
    "gennorms": partial(stats.gennorm, 1.5),
    "norminvgausses": partial(stats.norminvgauss, 1, 0.5),
}
"""Laws without a closed loss, by their place."""


def calls() -> dict[str, Callable[[], Any]]:
    """Return what is asked of one small mechanism."""
    rng = np.random.default_rng(0)
    matrix, weights = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3))
    joint, lists, other = dv.Joint(weights, matrix), matrix.tolist(), dv.Channel(rng.dirichlet(np.ones(3), 3))
    return {
        "max pml by its formula in NumPy": lambda: np.log((matrix.max(axis=0) / (weights @ matrix)).max()),
        "`dv.pml(joint).max()`": lambda: dv.pml(joint).max(),
        "`dv.pml((prior, matrix)).max()`, of arrays": lambda: dv.pml((weights, matrix)).max(),
        "`dv.profile(joint)`": lambda: dv.profile(joint),
        "`dv.profile(joint).capacity`": lambda: dv.profile(joint).capacity,
        **{
            f"`{guarantee!r}.holds_for(joint)`": lambda guarantee=guarantee: guarantee.holds_for(joint)
            for guarantee in (dv.PML(1.0), dv.LIP(1.0), dv.ALIP(1.0, 1.0), dv.LDP(1.0), dv.ADP(1.0, 0.1))
        },
        "`dv.PML(1.0).holds_for(joint)`, the guarantee made anew": lambda: dv.PML(1.0).holds_for(joint),
        "`dv.PML(0.1).holds_for(joint).attack`": lambda: dv.PML(0.1).holds_for(joint).attack,
        "`dv.Channel(matrix)`": lambda: dv.Channel(matrix),
        "`dv.Channel(lists)`": lambda: dv.Channel(lists),
        "`channel.then(channel)`": lambda: joint.channel.then(joint.channel),
        "`channel.alongside(channel)`": lambda: joint.channel.alongside(joint.channel),
        "`joint.posterior(0)`": lambda: joint.posterior(0),
        "`dv.compare(channel, other)`, four linear programs": lambda: dv.compare(joint.channel, other),
        '`dv.design(prior, dv.PML(0.5), utility="mutual-information")`': lambda: dv.design(
            joint.prior, dv.PML(0.5), utility="mutual-information"
        ),
        **{
            f"`{given!r}.implies(dv.ADP, delta=1e-6)`": lambda given=given: given.implies(dv.ADP, delta=1e-6)
            for given in (
                dv.ADP(0.5, 1e-5),
                dv.guarantees.GDP(0.5),
                dv.ZCDP(0.1),
                dv.RDP(2.0, 0.5),
                dv.guarantees.MCDP(0.1, 0.4),
                dv.guarantees.ADPCurve(0.5, 0.125),
                dv.MetricPrivacy(0.5, dv.Metric.line(3)),
            )
        },
    }


def measures() -> dict[str, Callable[[Any], Any]]:
    """Return what is measured of one small mechanism."""
    guess = dv.Gain.identity(3)
    return {
        "`pml`": dv.pml,
        "`pmc`": dv.pmc,
        "`lip`": dv.lip,
        "`lift`": dv.lift,
        "`mutual_information`": dv.mutual_information,
        "`bayes_vulnerability`": dv.measures.bayes_vulnerability,
        "`leakage` of a gain": lambda one: dv.leakage(one, guess),
        "`profile`": dv.profile,
    }


def of_channels() -> dict[str, Callable[[Any], Any]]:
    """Return what is measured of a small channel alone."""
    return {
        "`ldp`": dv.ldp,
        "`lift_capacity`": dv.lift_capacity,
        "`maximal_leakage`": dv.maximal_leakage,
        "`maximal_cost_leakage`": dv.maximal_cost_leakage,
        "`bayes_capacity`": dv.bayes_capacity,
    }


def ready_and_given() -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """Return each measure of a joint or channel that is there, and of arrays, which are checked first."""
    rng = np.random.default_rng(0)
    matrix, weights = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3))
    joint = dv.Joint(weights, matrix)
    kinds: tuple[Any, ...] = ((measures(), joint, (weights, matrix)), (of_channels(), joint.channel, matrix))
    ready = {name: lambda f=f, one=one: f(one) for some, one, _ in kinds for name, f in some.items()}
    return ready, {name: lambda f=f, one=one: f(one) for some, _, one in kinds for name, f in some.items()}


def stacks() -> dict[str, Callable[[], Any]]:
    """Return max pml of 10,000 channels of 10 x 10, by the formula and by a stack."""
    rng = np.random.default_rng(0)
    c, p = rng.dirichlet(np.ones(10), (10_000, 10)), rng.dirichlet(np.ones(10), 10_000)
    return {
        "10,000 channels of 10 x 10 by the formula in NumPy": lambda: np.log(
            c.max(axis=1) / np.einsum("bn,bnm->bm", p, c)
        ).max(axis=1),
        "the same by `Stack(c, p).pml().max(axis=1)`": lambda: dv.measures.Stack(c, p).pml().max(axis=1),
    }


def questions() -> dict[str, Callable[[], Any]]:
    """Return single questions about losses and noise."""
    d = dv.dp

    def moved(law: Any) -> Any:
        return d.DistributionPair(law(loc=0), law(loc=1))

    def noise(name: str) -> Any:
        return dv.NoiseMechanism(name, "uniform(0, 1)")

    several = [(d.GaussianMechanism(20.0), 100), (d.LaplaceMechanism(30.0), 100)]
    rare = (d.PoissonSampled(d.GaussianMechanism(0.4), 1e-9), 1_000_000)
    return {
        "trade-off function of 100 Gaussian and 100 Laplace releases": lambda: d.trade_off(d.compose(*several)),
        "`gaussian_dp` of a pair of logistic densities": lambda: d.gaussian_dp(moved(stats.logistic)),
        "`gaussian_dp` of a pair of Cauchy densities": lambda: d.gaussian_dp(moved(stats.cauchy)),
        "`mean_concentrated` of the logistic pair": lambda: d.mean_concentrated(moved(stats.logistic)),
        "`mean_concentrated` of the Cauchy pair": lambda: d.mean_concentrated(moved(stats.cauchy)),
        "discrete Gaussian, sigma 5,000, 1,000 times": lambda: d.compose(
            (d.DiscreteGaussianMechanism(5000.0), 1000)
        ).epsilon(1e-6),
        "sampled Gaussian, sigma 0.4, rate 1e-9, a million times, delta 1e-20": lambda: d.compose(rare).epsilon(1e-20),
        **{
            f"ten releases of a pair of {name}": lambda law=law: d.compose((moved(law), 10)).epsilon(1e-6)
            for name, law in DENSITIES.items()
        },
        "one release of the pair of exponnorms": lambda: d.compose(moved(DENSITIES["exponnorms"])).epsilon(1e-6),
        "trade-off function of the pair of skew normals": lambda: d.trade_off(moved(DENSITIES["skew normals"])),
        "trade-off function of ten releases of it": lambda: d.trade_off(
            d.compose((moved(DENSITIES["skew normals"]), 10))
        ),
        "1,228 samples of 28 of 1e6 records, sigma 0.7, delta 4e-11": lambda: d.compose(
            (d.FixedSizeSampled(d.GaussianMechanism(0.7), 28, 10**6), 1228)
        ).epsilon(4e-11),
        "tail of pml under `skewnorm(4)`, of a uniform secret": lambda: noise("skewnorm(4)").tail(0.3),
        "tail of pml under `exponnorm(1.5)`, of a uniform secret": lambda: noise("exponnorm(1.5)").tail(0.3),
        "tail of pml under `norminvgauss(1, 0.5)`, of a uniform secret": lambda: noise("norminvgauss(1, 0.5)").tail(
            0.3
        ),
        "intervals by betting for 100 values, 20,000 rows": betting,
    }


def betting() -> Any:
    """Return the frequencies behind rows that went through a channel of 100 values whose inverse takes many values."""
    rng, places = np.random.default_rng(0), np.arange(100)
    weights = np.exp(-np.abs(np.subtract.outer(places, places)) / 2)
    channel = dv.Channel(weights / weights.sum(axis=1, keepdims=True))
    released = [int(rng.choice(100, p=channel.floats[x])) for x in rng.choice(100, 20_000)]
    return dv.estimate_frequencies({"v": released}, channel, column="v")


def seconds(call: Callable[[], Any], times: int) -> float:
    """Return the processor time of a call, on average over so many."""
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def warm(call: Callable[[], Any], times: int) -> float:
    """Return `seconds` after some calls that bring back into the caches what others have pushed out of them."""
    seconds(call, min(times, 20))
    return seconds(call, times)


def in_turns(tasks: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the least processor time of each, all in turns, in laps of at least about two milliseconds."""
    for task in tasks.values():
        task()  # libraries are loaded
    times = {name: max(1, int(2e-3 / max(seconds(task, 5), 1e-6))) for name, task in tasks.items()}
    laps = [{name: warm(task, times[name]) for name, task in tasks.items()} for _ in range(rounds)]
    return {name: min(lap[name] for lap in laps) for name in tasks}


def main() -> None:
    """Print the tables as Markdown."""
    print("| one call | µs |\n|---|---|")
    for name, taken in in_turns(calls(), ROUNDS).items():
        print(f"| {name} | {1e6 * taken:,.0f} |", flush=True)
    for name, taken in in_turns(stacks(), ROUNDS).items():
        print(f"| {name} | {1e6 * taken:,.0f} |", flush=True)
    print("\n| measure | of what is there, µs | of arrays, µs |\n|---|---|---|")
    ready, given = ready_and_given()
    taken = in_turns({f"ready {name}": one for name, one in ready.items()} | given, ROUNDS)
    for name in given:
        print(f"| {name} | {1e6 * taken[f'ready {name}']:,.0f} | {1e6 * taken[name]:,.0f} |", flush=True)
    print("\n| question | s |\n|---|---|")
    for name, task in questions().items():
        print(f"| {name} | {seconds(task, 1):.2g} |", flush=True)


if __name__ == "__main__":
    main()
