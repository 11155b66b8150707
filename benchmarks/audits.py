"""How often audits of models are wrong, and how much they show: `python benchmarks/audits.py [RUNS]` prints it.

Scores with Laplace noise, members further up by epsilon, keep epsilon-DP of membership. At epsilon 0 nothing may be
shown; at 1 and 3 the truth may be exceeded as seldom as the confidence of 95 % says. Beside the audits stand two ways
of choosing, written out here: the best of all thresholds or numbers of guesses at its own level, and with a share of
the risk for each. Public implementations run as they are, where a folder has them:

    pip install --no-deps --target PEERS jax-privacy
    git clone https://github.com/privacytrustlab/ml_privacy_meter PEERS/ml_privacy_meter
    python benchmarks/audits.py 1000 --peers PEERS

The audits of jax-privacy are one file that needs NumPy, SciPy and dp-accounting, and no JAX. Those of ML Privacy Meter
stand in a program that trains networks; its three functions about guesses are taken out of their file, unchanged.

A second table is about guesses that are as good as filling in, and about synthetic tables of other people than those
who are asked about: whatever is shown is a false alarm. Anonymeter, where it is installed, has the same tables.
"""

import argparse
import ast
import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats
from scipy.special import betaincinv

import divulge as dv

PEOPLE = 400
GROUP = 150
TRUTHS = (0.0, 1.0, 3.0)
RISK = 0.05
DELTA = 1e-9
"""Of the one-run audits of jax-privacy, which take no 0."""

Way = Callable[[np.ndarray, np.ndarray], float]
"""Returns a lower bound from scores and who is a member."""


def counts(scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return members and others above every score that occurs."""
    ordered = member[np.argsort(-scores)]
    return np.cumsum(ordered), np.cumsum(~ordered)


def at_each(scores: np.ndarray, member: np.ndarray, risk: float) -> float:
    """Return the greatest bound over thresholds, each at this risk."""
    hits, alarms = counts(scores, member)
    n, m = int(member.sum()), int((~member).sum())
    low = betaincinv(hits, n - hits + 1, risk / 2, where=hits > 0, out=np.zeros(len(hits)))
    high = betaincinv(alarms + 1, m - alarms, 1 - risk / 2, where=alarms < m, out=np.ones(len(hits)))
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.log(low / high).max()), float(np.log((1 - high) / (1 - low)).max()))


def one_run_of_all(scores: np.ndarray, member: np.ndarray, risk: float) -> float:
    """Return the greatest one-run bound over numbers of guesses, "in" far up and "out" far down, each at this risk.

    At delta = 0 it is the log odds of the Clopper-Pearson lower bound on the share of right guesses.
    """
    ordered, n = member[np.argsort(-scores)], len(member)
    right = np.empty(n, dtype=bool)
    right[0::2], right[1::2] = ordered[: (n + 1) // 2], ~ordered[::-1][: n // 2]
    hits, k = np.cumsum(right), np.arange(1, n + 1)
    low = betaincinv(hits, k - hits + 1, risk, where=hits > 0, out=np.full(n, 0.5))
    return max(0.0, float(np.log(low / (1 - low)).max()))


def ours(method: str) -> Way:
    def bound(scores: np.ndarray, member: np.ndarray) -> float:
        found = dv.audit_membership(scores, member, method=method)
        return found.mu if method == "f-dp" else found.epsilon

    return bound


WAYS: dict[str, Way] = {
    "rates": ours("rates"),
    "one-run": ours("one-run"),
    "anytime": ours("anytime"),
    "f-dp (mu)": ours("f-dp"),
    "every threshold at its own level": lambda s, m: at_each(s, m, RISK),
    "every threshold, Bonferroni": lambda s, m: at_each(s, m, RISK / len(s)),
    "every number of guesses at its own level": lambda s, m: one_run_of_all(s, m, RISK),
    "every number of guesses, Bonferroni": lambda s, m: one_run_of_all(s, m, RISK / len(s)),
}


def loaded(path: Path, name: str) -> Any:
    """Return the module in a file, without the package around it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def of_jax_privacy(path: Path) -> dict[str, Way]:
    """Return the audits in the file of jax-privacy, with the strategies that choose a threshold."""
    from dp_accounting import get_sigma_gaussian

    peer = loaded(path, "jax_privacy_auditing")

    def at(scores: np.ndarray, member: np.ndarray) -> Any:
        return peer.CanaryScoreAuditor(scores[member], scores[~member])

    def f_dp(scores: np.ndarray, member: np.ndarray) -> float:
        epsilon = at(scores, member).epsilon_one_run_fdp(RISK, DELTA)
        return 1 / get_sigma_gaussian(epsilon, DELTA) if epsilon > 0 else 0.0

    def rates(strategy: Any) -> Way:
        return lambda s, m: at(s, m).epsilon_clopper_pearson(RISK, one_sided=False, threshold_strategy=strategy)

    return {
        "jax-privacy: rates, Bonferroni": rates(peer.Bonferroni()),
        "jax-privacy: rates, one half chooses": rates(peer.Split(seed=0)),
        "jax-privacy: one run, Bonferroni": lambda s, m: at(s, m).epsilon_one_run(RISK, DELTA),
        "jax-privacy: one run, one half chooses": lambda s, m: at(s, m).epsilon_one_run(
            RISK, DELTA, threshold_strategy=peer.Split(seed=0)
        ),
        "jax-privacy: f-DP (mu), Bonferroni": f_dp,
    }


def of_privacy_meter(path: Path) -> dict[str, Way]:
    """Return the one-run audit of ML Privacy Meter: its functions, out of a file that imports much else."""
    wanted = ("compute_abstain_attack_results", "p_value_DP_audit", "get_eps_audit")
    tree = ast.parse(path.read_text())
    tree.body = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name in wanted]
    peer: dict[str, Any] = {"np": np, "math": math, "scipy": scipy}
    exec(compile(tree, str(path), "exec"), peer)
    return {"ML Privacy Meter: one run": lambda s, m: peer[wanted[0]](s, m, p_value=RISK)["eps_opt"]}


def of_peers(folder: Path | None) -> dict[str, Way]:
    """Return the audits of the public implementations that are in a folder."""
    found: dict[str, Way] = {}
    files = {"jax_privacy/auditing.py": of_jax_privacy, "ml_privacy_meter/audit.py": of_privacy_meter}
    for name, ways in files.items():
        if folder is not None and (folder / name).is_file():
            found |= ways(folder / name)
        else:
            print(f"{name} is not there: left out", file=sys.stderr)
    return found


def greatest_mu(epsilon: float) -> float:
    """Return the mu of Gaussians next to Laplace noise that is moved by epsilon."""
    from scipy.stats import laplace, norm

    t = np.linspace(-12, 12, 4001)
    return float((norm.isf(laplace.sf(t)) - norm.isf(laplace.sf(t - epsilon))).max())


def population(rng: np.random.Generator, n: int) -> dict[str, list[int]]:
    """Return people of whom age says something of the secret."""
    age = rng.integers(0, 60, n)
    ill = (rng.random(n) < 0.2 + age / 120).astype(int)
    columns = {"age": age, "town": rng.integers(0, 5, n), "zip": rng.integers(0, 300, n), "ill": ill}
    return {name: column.tolist() for name, column in columns.items()}


def of_tables(rng: np.random.Generator) -> dict[str, bool]:
    """Return what alarms about a synthetic table of people who are not asked about."""
    import pyarrow as pa

    given = [pa.table(population(rng, GROUP)) for _ in range(3)]
    found = dv.audit_synthetic(*given, secret="ill", known=["age", "town"], linked=["zip"])
    alarms = {name: audit.epsilon > 0 for name, audit in found.attacks.items()}
    alarms["inference"] = (found.inference.others_lift or 1) > 1
    return {**alarms, "any of them": any(alarms.values())}


def of_guesses(rng: np.random.Generator) -> dict[str, bool]:
    """Return what alarms about an attack that is right as often as the imputation, and about others."""
    truth, guesses, filled, told, real = (rng.integers(0, 2, GROUP) for _ in range(5))
    found = dv.audit_attribute(guesses, filled, truth, others=(told, real))
    return {"guesses: lift": found.lift > 1, "guesses: McNemar": found.p_value <= RISK,
            "guesses: about others": (found.others_lift or 1) > 1}  # fmt: skip


def of_anonymeter(rng: np.random.Generator) -> dict[str, bool]:
    """Return where the interval of a risk by anonymeter is above 0, on the same tables."""
    import pandas as pd
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator

    made, members, others = (pd.DataFrame(population(rng, GROUP)) for _ in range(3))
    attacks = {
        "anonymeter: inference": InferenceEvaluator(
            ori=members, syn=made, control=others, aux_cols=["age", "town"], secret="ill", n_attacks=GROUP
        ),
        "anonymeter: linkage": LinkabilityEvaluator(
            ori=members, syn=made, control=others, aux_cols=(["age", "town"], ["zip"]), n_attacks=GROUP, n_neighbors=1
        ),
    }
    return {name: one.evaluate(n_jobs=1).risk(1 - RISK).ci[0] > 0 for name, one in attacks.items()}


def under_the_null(runs: int) -> None:
    """Print how often each audit alarms where there is nothing."""
    ways = [of_tables, of_guesses]
    if importlib.util.find_spec("anonymeter"):
        ways.append(of_anonymeter)
    print(f"| {runs:,} runs each, {GROUP} people each | alarms where nothing is |")
    print("|---|---|")
    for way in ways:
        rng = np.random.default_rng(0)
        found = [way(rng) for _ in range(runs)]
        for name in found[0]:
            print(f"| {name} | {np.mean([one[name] for one in found]):.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=1000)
    parser.add_argument("--peers", type=Path, help="a folder with public implementations")
    parser.add_argument("--only", default="", help="ways whose name has this in it, and no second table")
    asked = parser.parse_args()
    runs = asked.runs
    heads = "".join(f" wrong at {e:g} | mean at {e:g} |" for e in TRUTHS)
    print(f"| {runs:,} runs each, {PEOPLE} people |{heads}")
    print("|---|" + "---|" * (2 * len(TRUTHS)))
    for name, bound in (WAYS | of_peers(asked.peers)).items():
        if asked.only not in name:
            continue
        cells = []
        for epsilon in TRUTHS:
            rng = np.random.default_rng(0)
            truth = greatest_mu(epsilon) if "mu" in name else epsilon
            found = []
            for _ in range(runs):
                member = rng.random(PEOPLE) < 0.5
                found.append(bound(rng.laplace(epsilon * member), member))
            wrong = float(np.mean(np.array(found) > truth + 1e-9))
            cells += [f"{wrong:.3f}", f"{math.fsum(found) / runs:.3f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if not asked.only:
        print()
        under_the_null(runs)


if __name__ == "__main__":
    main()
