"""A noise mechanism's leakage as plain data."""

from typing import Any

import numpy as np

from divulge.noise.answers.ranges import values
from divulge.noise.answers.supremum import Supremum
from divulge.noise.laws.law import SIDES
from divulge.units import Unit, nats_per


def plain(mechanism: Any, at: Any, epsilons: Any, unit: Unit) -> dict[str, Any]:
    """Return the leakage of a noise mechanism as plain data: see `NoiseMechanism.to_dict`."""
    nats = nats_per(unit)

    def side(found: Supremum) -> dict[str, Any]:
        numbers = {name: getattr(found, name) / nats for name in ("value", "lower", "upper")}
        return {
            **numbers,
            "at": found.at,
            "method": found.method,
            "reason": found.reason,
            "certified": found.certified,
        }

    out: dict[str, Any] = {
        "noise": {"kind": mechanism.noise.kind, **mechanism.noise.described},
        "secret": {
            "distribution": mechanism.secret.description,
            "low": mechanism.secret.low,
            "high": mechanism.secret.high,
            "records": mechanism.records,
        },
        "unit": unit,
        "pml": side(mechanism.pml_supremum),
        "pmc": side(mechanism.pmc_supremum),
        "ldp": mechanism.ldp.epsilon / nats,
        "theorems": [
            {"theorem": v.theorem, "claim": v.claim, "holds": v.holds, "words": v.sentence(unit)}
            for v in mechanism.theorems()
        ],
    }
    for name, found in (
        ("mean_pml", mechanism.mean_pml(unit)),
        ("mutual_information", mechanism.mutual_information(unit)),
    ):
        out[name], out[f"{name}_error"], out[f"{name}_certified"] = found.value, found.error, found.certified
    if np.size(at):
        y = np.atleast_1d(np.asarray(at, dtype=np.float64))
        errors = (values(mechanism.law, side, mechanism.points(y)).off / nats for side in SIDES)
        columns = (y, mechanism.pml(y, unit), mechanism.pmc(y, unit), mechanism.density(y), *errors)
        names = ("y", "pml", "pmc", "density", "pml_error", "pmc_error")
        out["points"] = [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)]
    if np.size(epsilons):
        rows = [(float(e), mechanism.tail(float(e), "pml", unit)) for e in np.atleast_1d(epsilons)]
        out["tail"] = [
            {"epsilon": e, "delta": delta.value, "error": delta.error, "certified": delta.certified}
            for e, delta in rows
        ]
    return out
