"""What a type checker says of a script: every line passes but for those marked, which must not (`make check`)."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from fractions import Fraction
from pathlib import Path

import numpy as np

import divulge as dv
from divulge.results import (
    Assessment,
    Attack,
    Audit,
    Calibration,
    Composition,
    Design,
    Pointwise,
    Preview,
    Profile,
    Published,
    Receipt,
    Report,
    Statement,
    Unknown,
    Verdict,
    Witness,
)

prior = {"rare": 0.1, "common": 0.9}
rows = [["3/4", "1/4"], ["1/4", "3/4"]]
joint = dv.Joint(prior, rows)
of_each: list[Pointwise] = [
    dv.pml(joint),
    dv.pml((prior, rows)),
    dv.pml(np.full((2, 2), 0.25)),
    dv.pmc((joint.prior, joint.channel), unit="bits"),
]
best: Design = dv.design(prior, dv.PML(0.5), utility="mutual-information")
numbers: list[float] = [dv.mutual_information(joint), dv.ldp(rows), dv.maximal_leakage(joint)]
ratios: list[float | Fraction] = [
    dv.lift(joint),
    dv.lift_capacity(rows),
    dv.bayes_capacity(rows),
    dv.leakage(joint, dv.Gain.identity(["rare", "common"])),
    dv.vulnerability(prior, dv.Gain.identity(2)),
    joint.prior.p_min,
    dv.PML("3/4").epsilon,
]
profile: Profile = dv.profile(joint)

dv.pml(0.5)  # pyright: ignore[reportArgumentType]
dv.ldp(0.5)  # pyright: ignore[reportArgumentType]
dv.pml(joint, unit="bit")  # pyright: ignore[reportArgumentType]
dv.design(0.5, dv.PML(0.5))  # pyright: ignore[reportArgumentType]
dv.design(prior, 0.5)  # pyright: ignore[reportArgumentType]
dv.design(prior, dv.PML(0.5), utility="mutual-infromation")  # pyright: ignore[reportArgumentType]
dv.ldp(rows, neighbors=0.5)  # pyright: ignore[reportArgumentType]
dv.dp.renyi_dp(dv.PML(0.5), 2.0)  # pyright: ignore[reportArgumentType]
kinds = dv.PML("3/4"), dv.ZCDP(1), dv.MetricPrivacy("0.7/step", dv.Metric.line([1, 2]))
dv.PML([1])  # pyright: ignore[reportArgumentType]
dv.ADP(1)  # pyright: ignore[reportCallIssue]
dv.leakage(joint, 0.5)  # pyright: ignore[reportArgumentType]
dv.Channel(0.5)  # pyright: ignore[reportArgumentType]
dv.Prior(0.5)  # pyright: ignore[reportArgumentType]
dv.mechanisms.randomized_response(2, ratio=[3])  # pyright: ignore[reportArgumentType]

# What a guarantee is asked, and what it answers.
verdict: Verdict = dv.PML(0.5).holds_for(joint)
where: Witness = verdict.witness
attack: Attack | None = verdict.attack
kept: dv.PML = dv.PML.of((prior, rows))
follows: dv.Guarantee | Unknown = dv.PML("1/4").implies(dv.LDP, p_min="1/2")
dv.PML(0.5).holds_for(0.5)  # pyright: ignore[reportArgumentType]
dv.PML.of(0.5)  # pyright: ignore[reportArgumentType]
dv.guarantees.implied(dv.PML(1), dv.LDP, n="two")  # pyright: ignore[reportArgumentType]

# Releases that add up.
together: Composition = dv.compose(dv.dp.LaplaceMechanism(1.0), (dv.dp.GaussianMechanism(2.0), 10), rows)
least: Calibration = dv.calibrate("gaussian", "adp=1:1e-6")
dv.compose(0.5)  # pyright: ignore[reportArgumentType]
dv.calibrate("gaussian", 1.0)  # pyright: ignore[reportArgumentType]

# Tables: paths, frames and columns by name go in, records come out.
survey = {"answer": ["yes", "no", "no"], "age": [31, 40, 52]}
receipt: Receipt = dv.release(survey, column="answer", guarantee="ldp=1")
into_a_file: Receipt = dv.release(Path("survey.csv"), "out.csv", column="answer", guarantee=dv.LDP(1))
before: Preview = dv.preview("survey.csv", column="answer", guarantee="ldp=1")
published: Published = dv.publish(survey, [dv.Count("answer"), dv.Mean("age", (0, 90))], guarantee="dp=1")
seen: Audit = dv.audit(survey, secret="age", released="answer", claim="ldp=1")
at_risk: Assessment = dv.assess(survey, known=["age"], secret="answer")
plain: Statement = dv.statement(receipt)
page: Report = dv.report(joint, guarantees=[dv.PML(0.5), "ldp=1"])
counts = dv.contingency(dv.open_table(survey), ["answer"])
dv.release(3, column="answer", guarantee="ldp=1")  # pyright: ignore[reportArgumentType]
dv.publish(survey, "answer")  # pyright: ignore[reportArgumentType]
dv.publish(0.5, dv.Count("answer"))  # pyright: ignore[reportArgumentType]
dv.audit(survey, secret=1, released="answer")  # pyright: ignore[reportArgumentType]
dv.assess(0.5, known=["age"])  # pyright: ignore[reportArgumentType]
dv.report(0.5)  # pyright: ignore[reportArgumentType]
dv.statement(0.5)  # pyright: ignore[reportArgumentType]
dv.open_table(survey, group=3)  # pyright: ignore[reportArgumentType]

# Noise on numbers, chains.
noise = dv.NoiseMechanism("laplace", "bernoulli(0.3)", scale=1.0)
chain = dv.Chain([0.5, 0.5], rows, rows, steps=3)
over_time: list[float | Fraction] = [chain.lift(0, [0, 0, 0]), chain.probability([0, 1])]
dv.NoiseMechanism(0.5, "bernoulli(0.3)", scale=1.0)  # pyright: ignore[reportArgumentType]
dv.Chain(0.5, rows, rows, steps=3)  # pyright: ignore[reportArgumentType]
