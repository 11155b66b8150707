"""A coarsened table whose sensitive column is then perturbed, by one mechanism for what all groups say at once."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from divulge.files.tables.source import Source
from divulge.late import late
from divulge.model.shown import printable_json
from divulge.releasing.column import Release
from divulge.releasing.planning.choosing import Chosen
from divulge.releasing.records.ledger import Expected
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.release import expected, released
from divulge.tables.generalization import Generalization
from divulge.tables.notes import by_choice
from divulge.tables.papers import as_json
from divulge.tables.request import Generalize, between_commas

SAME = ("sink", "ledger", "budget", "people", "force", "table_format", "receipt", "sign", "escape_formulas", "language",
        "unit")  # fmt: skip
"""Options that mean the same of the coarser table as of the one that was given."""


def perturbed(
    request: Generalize, table: Source, found: Generalization, *, progress: Any, warn: Callable[[str], object]
) -> Generalization:
    """Release the sensitive column of a coarsened table: one mechanism for all groups, and the papers of a release."""
    for warning in by_choice(found):
        warn(warning)
    asked = release_of(request, table)
    papers = late("divulge.reporting.release:papers")(asked)

    def made(receipt: Receipt, chosen: Chosen) -> Mapping[str, bytes]:
        """Return the papers of the release, with the certificate in the keeper's record."""
        written = dict(papers(receipt, chosen))
        told = replace(found, perturbed=receipt).to_dict() | {"request": request.to_dict(strict=False)}
        kept = json.loads(written["keeper.json"]) | {"coarsened": as_json(told)}
        text = json.dumps(kept, ensure_ascii=False, allow_nan=False)
        return written | {"keeper.json": (printable_json(text) + "\n").encode()}

    done = released(asked, found.rows, made, progress=progress, warn=warn, coarsened=_coarser(found))
    own = None if done.table is None else table.restore(done.table)
    return replace(found, perturbed=done, table=own, papers=done.papers, together=done.together, person=request.person)


def expected_perturbed(request: Generalize, table: Source, found: Generalization) -> Expected:
    """Return the same as it would be, and what it adds up to; nothing is drawn or stays on record."""
    made = expected(replace(release_of(request, table), sink=None), found.rows, _coarser(found))
    return replace(made, receipt=replace(found, perturbed=made.receipt))


def _coarser(found: Generalization) -> dict[str, int]:
    """Return the levels of columns that go out otherwise than they were."""
    return {name: level for name, level in found.levels.items() if name not in found.as_they_were}


def release_of(request: Generalize, table: Source) -> Release:
    """Return the release of the sensitive columns that follows a coarsening.

    >>> asked = Generalize(known="age", secret="ill", guarantees="k=5", perturb="pml=0.5")
    >>> release_of(asked, dv.open_table({"age": [1], "ill": [2]})).prior
    'groups=age'
    """
    path = None if request.ledger is None or table.path is None else str(table.path.resolve())
    named = request.source_name or path
    whose = {"rows_per_person": request.rows_per_person} if request.rows_per_person else {"per_row": True}
    return Release(
        column=request.secrets, guarantee=request.perturb, prior=f"groups={between_commas(request.columns)}",
        within=request.guarantees, source_name=named, **whose,
        **{name: getattr(request, name) for name in SAME},
    )  # fmt: skip
