"""What a type checker says of a script: every line passes but for those marked, which must not (`make check`)."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

import numpy as np

import divulge as dv
from divulge.results import Design, Pointwise

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

dv.pml(0.5)  # pyright: ignore[reportArgumentType]
dv.ldp(0.5)  # pyright: ignore[reportArgumentType]
dv.pml(joint, unit="bit")  # pyright: ignore[reportArgumentType]
dv.design(0.5, dv.PML(0.5))  # pyright: ignore[reportArgumentType]
dv.design(prior, dv.PML(0.5), utility="mutual-infromation")  # pyright: ignore[reportArgumentType]
dv.ldp(rows, neighbors=0.5)  # pyright: ignore[reportArgumentType]
dv.dp.renyi_dp(dv.PML(0.5), 2.0)  # pyright: ignore[reportArgumentType]
kinds = dv.PML("3/4"), dv.ZCDP(1), dv.MetricPrivacy("0.7/step", dv.Metric.line([1, 2]))
dv.PML([1])  # pyright: ignore[reportArgumentType]
dv.ADP(1)  # pyright: ignore[reportCallIssue]
