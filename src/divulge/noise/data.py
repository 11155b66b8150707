"""A noise mechanism's leakage as plain data."""

from typing import Any

import numpy as np

from divulge.noise.answers.ranges import values
from divulge.noise.answers.supremum import Supremum
from divulge.noise.laws.law import SIDES
from divulge.units import Unit, nats_per


def as_data(mechanism: Any, at: Any, epsilons: Any, unit: Unit) -> dict[str, Any]:
    """Return the leakage of a noise mechanism as plain data: see `NoiseMechanism.to_dict`."""
    nats, secret, records = nats_per(unit), mechanism.secret, mechanism.records

    def side(found: Supremum) -> dict[str, Any]:
        numbers = {name: getattr(found, name) / nats for name in ("value", "lower", "upper")}
        return numbers | {name: getattr(found, name) for name in ("at", "method", "reason", "certified")}

    out: dict[str, Any] = {
        "noise": {"kind": mechanism.noise.kind, **mechanism.noise.described},
        "secret": {"distribution": secret.description, "low": secret.low, "high": secret.high, "records": records},
        "unit": unit,
        "pml": side(mechanism.pml_supremum),
        "pmc": side(mechanism.pmc_supremum),
        "ldp": mechanism.ldp.epsilon / nats,
        "theorems": [
            {"theorem": v.theorem, "claim": v.claim, "holds": v.holds, "words": v.sentence(unit)}
            for v in mechanism.theorems()
        ],
    }
    for name in ("mean_pml", "mutual_information"):
        found = getattr(mechanism, name)(unit)
        out[name], out[f"{name}_error"], out[f"{name}_certified"] = found.value, found.error, found.certified
    if np.size(at):
        y = np.atleast_1d(np.asarray(at, dtype=np.float64))
        errors = (values(mechanism.law, side, mechanism.points(y)).off / nats for side in SIDES)
        columns = (y, mechanism.pml(y, unit), mechanism.pmc(y, unit), mechanism.density(y), *errors)
        names = ("y", "pml", "pmc", "density", "pml_error", "pmc_error")
        out["points"] = [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)]
    if np.size(epsilons):
        rows = [(float(e), mechanism.tail(float(e), "pml", unit)) for e in np.atleast_1d(epsilons)]
        out["tail"] = [{"epsilon": e, "delta": d.value, "error": d.error, "certified": d.certified} for e, d in rows]
    return out
