"""Composition side by side with dp-accounting, prv-accountant and OpenDP, in one run.

    python benchmarks/composition.py [REPEATS]

For each task: the bracket on epsilon (or the one upper bound a library gives), its width, the median wall time of
REPEATS alternating runs, and that time over Divulge's: its fastest way whose bracket is no wider (above 1: Divulge is
faster at that accuracy or better). Every run starts from the parameters of the mechanism; nothing is kept between runs.
prv-accountant and OpenDP (`pip install prv-accountant opendp`) are left out when they are missing.
"""

import logging
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import math

from dp_accounting.pld import privacy_loss_distribution as pld

import divulge as dv
from divulge.dp.accounting.composition import Composition
from divulge.dp.accounting.summing.grids import GridEngine

DELTA = 1e-6
logging.disable(logging.WARNING)
Answer = tuple[float, float]


class OnGrid(Composition):
    """A composition that takes the general way even where there is a closed form."""

    def _engine(self, index: int, tolerance: float) -> GridEngine:
        return GridEngine(self.directions[index].parts, tolerance)


@dataclass(frozen=True)
class Task:
    """One question put to several libraries; each gives bounds on epsilon."""

    name: str
    ways: dict[str, Callable[[], Answer]]


def ours(*releases: tuple[Any, int], grid: bool = False, tolerance: float = 1e-6) -> Answer:
    """Return the bracket of Divulge."""
    composed = dv.compose(*releases, tolerance=tolerance)
    if grid:  # with every draw by itself: Gaussian losses would be counted as one
        parts = tuple((mechanism.losses()[0], count) for mechanism, count in releases)
        directions = tuple(replace(turn, parts=parts) for turn in composed.directions)
        composed = OnGrid(composed.releases, directions, composed.tolerance)
    found = composed.epsilon(DELTA)
    return found.lower, found.upper


def google(build: Callable[[bool], pld.PrivacyLossDistribution], count: int) -> Answer:
    """Return the optimistic and the pessimistic estimate of dp-accounting."""
    low, high = (build(side).self_compose(count).get_epsilon_for_delta(DELTA) for side in (False, True))
    return low, high


def microsoft(mechanism: object, count: int, error: float) -> Answer:
    """Return the bracket of prv-accountant."""
    from prv_accountant import PRVAccountant

    found = PRVAccountant(prvs=[mechanism], max_self_compositions=[count], eps_error=error, delta_error=DELTA / 1000)
    low, _, high = found.compute_epsilon(DELTA, [count])
    return low, high


def opendp(scale: float, count: int) -> Answer:
    """Return the upper bound of OpenDP, which adds up zCDP; it has none from below."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    together = dp.c.make_composition([dp.m.make_gaussian(*space, scale=scale)] * count)
    return 0.0, dp.c.make_zCDP_to_approxDP(together).map(1.0).epsilon(DELTA)


def tasks() -> list[Task]:
    """Return the tasks."""
    gaussian = dv.dp.GaussianMechanism(10.0), 1000
    response = dv.dp.RandomizedResponse(0.1), 1000
    laplace = dv.dp.LaplaceMechanism(10.0), 1000
    sampled = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01), 1000
    noise = 2 / (1 + math.exp(0.1))

    def of_gaussian(step: float) -> Callable[[bool], pld.PrivacyLossDistribution]:
        return lambda side: pld.from_gaussian_mechanism(10.0, 1.0, side, value_discretization_interval=step)

    found = [
        Task(
            "1000 x Gaussian(sigma 10)",
            {
                "divulge, closed form": lambda: ours(gaussian),
                "divulge, grid of 1000 draws": lambda: ours(gaussian, grid=True),
                "divulge, grid, tolerance 1e-2": lambda: ours(gaussian, grid=True, tolerance=1e-2),
                "dp-accounting, step 1e-4": lambda: google(of_gaussian(1e-4), 1000),
            },
        ),
        Task(
            "1000 x randomized response(0.1)",
            {
                "divulge": lambda: ours(response),
                "dp-accounting, step 1e-4": lambda: google(
                    lambda side: pld.from_randomized_response(noise, 2, side, value_discretization_interval=1e-4), 1000
                ),
            },
        ),
        Task(
            "1000 x Laplace(10)",
            {
                "divulge": lambda: ours(laplace),
                "divulge, tolerance 1e-2": lambda: ours(laplace, tolerance=1e-2),
                "dp-accounting, step 1e-4": lambda: google(
                    lambda side: pld.from_laplace_mechanism(10.0, 1.0, side, value_discretization_interval=1e-4), 1000
                ),
            },
        ),
        Task(
            "1000 x Gaussian(sigma 1), Poisson 0.01",
            {
                "divulge": lambda: ours(sampled),
                "divulge, tolerance 1e-2": lambda: ours(sampled, tolerance=1e-2),
                "dp-accounting, step 1e-4": lambda: google(
                    lambda side: pld.from_gaussian_mechanism(
                        1.0, 1.0, side, value_discretization_interval=1e-4, sampling_prob=0.01
                    ),
                    1000,
                ),
            },
        ),
    ]
    if find_spec("prv_accountant"):
        from prv_accountant import GaussianMechanism, PoissonSubsampledGaussianMechanism

        peers = {0: GaussianMechanism(10.0)}  # its Laplace mechanism refuses: "discrete mean differs"
        peers[3] = PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=1.0)
        for place, mechanism in peers.items():
            for error in (0.1, 0.01):
                found[place].ways[f"prv-accountant, error {error}"] = lambda m=mechanism, e=error: microsoft(m, 1000, e)
    else:
        print("prv-accountant is not installed")
    if find_spec("opendp"):
        found[0].ways["opendp, by zCDP"] = lambda: opendp(10.0, 1000)
    else:
        print("opendp is not installed")
    return found


def timed(way: Callable[[], Answer]) -> tuple[float, Answer]:
    """Return the wall time of a run and its answer."""
    start = time.perf_counter()
    answer = way()
    return time.perf_counter() - start, answer


def main(repeats: int) -> None:
    """Run every task and print its table."""
    for task in tasks():
        runs = [{name: timed(way) for name, way in task.ways.items()} for _ in range(repeats + 1)][1:]
        print(f"\n{task.name}, delta {DELTA:g}")
        median = {name: statistics.median(run[name][0] for run in runs) for name in task.ways}
        width = {name: high - low for name, (_, (low, high)) in runs[-1].items()}
        for name, (_, (low, high)) in runs[-1].items():
            matching = [median[mine] for mine in task.ways if "divulge" in mine and width[mine] <= width[name]]
            ratio = f"{median[name] / min(matching):8.1f}" if "divulge" not in name else ""
            bracket = f"[{low:.9f}, {high:.9f}]  width {width[name]:8.1e}"
            print(f"  {name:30} {bracket}  {1e3 * median[name]:9.2f} ms {ratio}")
    composed = dv.compose((dv.dp.RandomizedResponse(0.1), 1000))
    composed.epsilon(DELTA)
    asked = [timed(lambda: composed.epsilon(DELTA))[0] for _ in range(max(repeats, 20))]
    print(f"\nrandomized response, one more question after set-up: {1e3 * statistics.median(asked):.3f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
