"""What is public besides the numbers, said of mechanisms full of ties: run by test_machines.py as on other processors.

Every line is one answer with its numbers masked: labels, pairs, witnesses, orders, numbers of outcomes, methods stay.
`python tests/machines.py SEED` prints them all, `python tests/machines.py SEED geometric` those about one mechanism.
"""

import contextlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

NUMBER = re.compile(r"-?\b\d+\.\d+(?:e[-+]?\d+)?|-?\b\d+e[-+]?\d+|\b\d{7,}/\d+")


def masked(text: str) -> str:
    """Return a text without its floats, and without the width of the columns that holds them."""
    return re.sub(r"[\s─━]+", " ", NUMBER.sub("#", text)).strip()


def subjects(rng: np.random.Generator) -> Iterator[tuple[str, dv.Channel]]:
    """Yield channels in which rows, columns and pairs tie, up to the last bits of how they were computed."""
    names = ["ash", "birch", "cedar", "fir"]
    yield "response", dv.mechanisms.randomized_response(names, epsilon=float(rng.uniform(0.5, 2)))
    yield "geometric", dv.mechanisms.geometric(names, epsilon=float(rng.uniform(0.3, 1)))
    first = np.exp(rng.normal(size=5))
    rows = np.array([np.roll(first, k) for k in range(5)])
    yield "circulant", dv.Channel(rows / rows.sum(axis=1, keepdims=True), list("vwxyz"), list("vwxyz"))
    noise = np.exp(-((np.arange(6)[:, None] - np.arange(6)) ** 2) / float(rng.uniform(2, 9)))
    yield "gaussian", dv.Channel(noise / noise.sum(axis=1, keepdims=True))
    half = rng.dirichlet(np.ones(3), size=4)
    yield "mirrored", dv.Channel(np.concatenate([half, half[:, ::-1]], axis=1) / 2, names, list("abcdef"))


def answers(channel: dv.Channel) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield questions about a channel, with and without a uniform prior."""
    names = channel.secrets
    joint = dv.Joint(dv.Prior(np.full(len(names), 1 / len(names)), names), channel)
    for name in ("kl_privacy", "zcdp_rho", "mean_concentrated", "total_variation", "gaussian_dp"):
        yield name, lambda name=name: getattr(dv.dp, name)(channel)
    yield "delta", lambda: dv.dp.delta_from_epsilon(channel, [0.0, 0.1, 0.5])
    yield "epsilon", lambda: dv.dp.epsilon_from_delta(channel, 1e-3)
    yield "tail", lambda: dv.dp.tail_from_epsilon(channel, 0.3)
    yield "renyi", lambda: dv.dp.renyi_dp(channel, 3.0)
    yield "abs_chi", lambda: dv.dp.abs_chi(channel, 3.0)
    yield "ternary", lambda: dv.dp.ternary_abs_chi(channel, 2.0)
    yield "divergence", lambda: dv.dp.f_divergence(channel, "hellinger")
    yield (
        "neighbors",
        lambda: dv.dp.epsilon_from_delta(channel, 0.01, neighbors=list(pairwise(names))),
    )
    yield "capacity", lambda: dv.measures.capacity(channel).prior.secrets
    yield "profile", lambda: dv.profile(joint)
    yield "by outcome", lambda: sorted(dv.profile(joint).to_dict()["by_outcome"][0])
    yield "secrets", lambda: (dv.pml(joint).secrets, dv.pmc(joint).secrets)
    yield "argmax", lambda: (dv.pml(joint).argmax(), dv.pmc(joint).argmax())
    yield "robust", lambda: dv.measures.L1Ball(joint.prior, 0.1).pml(channel)
    yield "bounded", lambda: dv.measures.LowerBounded(names, 0.05).pmc(channel)
    yield "gain", lambda: dv.worst_gain(joint).words
    yield "function", lambda: dv.worst_function(joint).words
    yield "average", lambda: dv.adversaries.worst_average(joint).words
    yield "priors", lambda: dv.adversaries.lift_capacity_priors(channel)
    yield "actions", lambda: [dv.Gain.identity(names).best_action(joint.posterior(y)) for y in channel.outcomes]
    yield "order", lambda: [dv.Cost.guesswork(names).best_action(joint.posterior(y)) for y in channel.outcomes]
    yield "worst prior", lambda: dv.adversaries.worst_prior(channel, dv.Gain.identity(names)).case
    yield "refinement", lambda: (dv.adversaries.refinement(channel, channel).holds, dv.compare(channel, channel))
    for kind in (dv.PML, dv.PMC, dv.LDP, dv.LIP, dv.guarantees.KL, dv.guarantees.TV, dv.guarantees.MaximalLeakage):
        yield kind.__name__, lambda kind=kind: kind(0.1).holds_for(joint)
    yield "alip", lambda: dv.ALIP(0.05, 0.1).holds_for(joint)
    yield "adp", lambda: dv.ADP(0.1, 0.01).holds_for(channel)
    yield "design", lambda: _designed(dv.design(joint.prior, dv.PML(0.5)))
    yield "audit", lambda: dv.audit(_drawn(channel), secret="secret", released="released")


def _designed(found: Any) -> Any:
    return found.method, found.outcomes, (found.integers > 0).tolist()


def _drawn(channel: dv.Channel) -> Any:
    """Return a table of secrets and outcomes in the channel's proportions, without chance."""
    counts = np.round(channel.floats * 60).astype(int)
    pairs = [(x, y) for x, row in zip(channel.secrets, counts, strict=True)
             for y, n in zip(channel.outcomes, row, strict=True) for _ in range(n)]  # fmt: skip
    return pa.table({"secret": [str(x) for x, _ in pairs], "released": [str(y) for _, y in pairs]})


def commands(path: str) -> Iterator[list[str]]:
    """Yield commands about the channel in a file."""
    yield ["measure", path, "--prior", "uniform"]
    yield ["check", path, "--prior", "uniform", "--guarantee", "pml=0.2", "--guarantee", "pmc=0.2"]
    yield ["attack", path, "--prior", "uniform"]
    yield ["compare", path, path]


def main(seed: int, *wanted: str) -> None:
    """Print every answer about the mechanisms that are wanted (all, when none is named), numbers masked."""
    for name, channel in subjects(np.random.default_rng(seed)):
        if wanted and name not in wanted:
            continue
        for question, answer in answers(channel):
            try:
                said = answer()
            except dv.DivulgeError as error:
                said = error
            print(f"{name} {question}: {masked(' '.join(dict.fromkeys([repr(said), str(said)])))}")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            dv.write_channel(channel, "mechanism.csv")
            for command in commands("mechanism.csv"):
                result = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
                print(f"{name} {' '.join(command)}: {result.exit_code} {masked(result.output)}")
            report = dv.report(
                dv.Joint(dv.Prior([1 / len(channel.secrets)] * len(channel.secrets), channel.secrets), channel)
            )
            print(f"{name} report: {masked(report.text())}")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
