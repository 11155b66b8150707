"""What lists of releases add up to."""

import math
from collections.abc import Callable
from typing import Any

import divulge as dv
from growth.work import Goal, Maker, Task, Work

LISTS = (10, 100, 2000)
GOOGLE, NARROWER = "dp-accounting at 2e-5", "prv-accountant at 0.01"


def four_kinds(count: int) -> Task:
    """Return the epsilon of a list of four kinds of releases."""
    kinds = [
        dv.dp.GaussianMechanism(40.0), dv.dp.LaplaceMechanism(60.0), dv.dp.RandomizedResponse(0.02),
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(2.0), 0.01),
    ]  # fmt: skip
    return lambda: dv.compose(*[(kind, max(1, count // 4)) for kind in kinds]).epsilon(1e-6)


def ten_kinds(count: int) -> Task:
    """Return the epsilon of a list of ten Laplace mechanisms whose losses share no lattice."""
    root = math.sqrt(count)
    kinds = [dv.dp.LaplaceMechanism((1.1 + 0.16 * math.sqrt(i + 2)) * root) for i in range(10)]
    return lambda: dv.compose(*[(kind, max(1, count // 10)) for kind in kinds]).epsilon(1e-6)


def by_dp_accounting(kinds: Callable[[int, Any, dict[str, Any]], list[tuple[Any, int]]]) -> Maker:
    """Return the maker of both bounds by dp-accounting on a grid on which they lie up to .03 apart, and ours 1e-6."""

    def maker(count: int) -> Task:
        import logging

        from dp_accounting.pld import privacy_loss_distribution as pld

        logging.disable(logging.WARNING)

        def run() -> list[float]:
            found = []
            for side in (False, True):
                grid = {"value_discretization_interval": 2e-5, "pessimistic_estimate": side}
                one, *others = (loss.self_compose(times) for loss, times in kinds(count, pld, grid))
                for other in others:
                    one = one.compose(other)
                found.append(one.get_epsilon_for_delta(1e-6))
            return found

        return run

    return maker


def four_losses(count: int, pld: Any, grid: dict[str, Any]) -> list[tuple[Any, int]]:
    answer = 2 / (1 + math.exp(0.02))
    kinds = [
        pld.from_gaussian_mechanism(40.0, **grid), pld.from_laplace_mechanism(60.0, **grid),
        pld.from_randomized_response(answer, 2, **grid), pld.from_gaussian_mechanism(2.0, sampling_prob=0.01, **grid),
    ]  # fmt: skip
    return [(kind, max(1, count // 4)) for kind in kinds]


def ten_losses(count: int, pld: Any, grid: dict[str, Any]) -> list[tuple[Any, int]]:
    scales = [(1.1 + 0.16 * math.sqrt(i + 2)) * math.sqrt(count) for i in range(10)]
    return [(pld.from_laplace_mechanism(scale, **grid), max(1, count // 10)) for scale in scales]


def narrow(found: Any) -> str:
    """Say how wide a bracket is that is wider than asked."""
    return f"bracket {found.upper - found.lower:.1e} wide" if found.upper - found.lower > 1e-6 else ""


def sampled(count: int) -> Task:
    mechanism = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01)
    return lambda: dv.compose((mechanism, count), tolerance=1e-6).epsilon(1e-6)


def by_prv(count: int) -> Task:
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism

    def run() -> Any:
        mechanism = PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=0.01)
        accountant = PRVAccountant(prvs=[mechanism], max_self_compositions=[count], eps_error=0.01, delta_error=1e-10)
        return accountant.compute_epsilon(1e-6, [count])

    return run


WORK = (
    Work("account, four kinds", "releases", LISTS, four_kinds, {GOOGLE: by_dp_accounting(four_losses)},
         (Goal(1, GOOGLE, LISTS),), narrow),
    Work("account, ten kinds", "releases", LISTS, ten_kinds, {GOOGLE: by_dp_accounting(ten_losses)},
         (Goal(1, GOOGLE, LISTS),), narrow),
    Work("sampled Gaussians", "releases", (1, 10, 100, 1000), sampled, {NARROWER: by_prv},
         (Goal(1, NARROWER),), narrow),
)  # fmt: skip
