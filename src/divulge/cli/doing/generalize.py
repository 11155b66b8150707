"""`divulge generalize`: coarsen a table as little as guarantees allow, with proof and papers."""

from typing import Any

from divulge.cli.asking.assess import columns_and_files, group_words
from divulge.cli.common import emit, lower, note, print_table, say, upper
from divulge.cli.doing.ledger import default_ledger
from divulge.cli.doing.run import NoLedgerOption, SaveOption, save
from divulge.cli.fields import with_fields
from divulge.cli.names import names_between_commas
from divulge.cli.options import JsonOption
from divulge.errors import DivulgeError, number_of
from divulge.files.opening import name_of
from divulge.model.shown import named


@with_fields("generalize")
def command(
    typed: dict[str, Any],
    no_ledger: NoLedgerOption = False,
    save_request: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Coarsen the known columns of a table as little as guarantees allow: the optimum, with a certificate.

    With -o the table goes out with codebook, statement and receipt, and is recorded in the ledger; the certificate is
    in a record for the keeper. Known and sensitive columns go out, no others, group by group.
    """
    from divulge.releasing.request import Request

    out = typed.get("sink")
    typed["ledger"] = None if no_ledger or out is None else default_ledger(typed.get("ledger"))
    typed["known"] = names_between_commas(typed["known"], "--known")
    if "secret" in typed:
        typed["secret"] = names_between_commas(typed["secret"], "--secret")
    if "hierarchies" in typed:
        typed["hierarchies"] = columns_and_files(typed["hierarchies"])
    if "levels" in typed:
        given = columns_and_files(typed["levels"], "--levels", "LEVEL")
        typed["levels"] = {name: whole_of("--levels", level) for name, level in given.items()}
    request = Request.of("generalize", **typed)
    saved = save(request, save_request, request.force)
    if out is not None or not saved:
        carry_out(request, as_json)


def whole_of(option: str, text: str) -> int:
    """Return a whole number that was typed.

    >>> whole_of("--levels", "2")
    2
    """
    if not (text.isascii() and text.isdigit() and len(text) < 5):
        raise DivulgeError.of(option, "be whole numbers, at least 0", "one", repr(text)[:40])
    return int(text)


def carry_out(request: Any, as_json: bool) -> None:
    """Coarsen what is asked, and tell what came of it."""
    from divulge.releasing.request import run

    found = run(request, warn=note)
    if as_json:
        files = {name: str(path) for name, path in found.papers.items()}
        emit(found.to_dict() | ({"files": files} if files else {}))
        return
    _print(found)
    for line in found.notes:
        note(f"note: {line}")
    if found.papers:
        say("files:")
    for name, path in found.papers.items():
        kept = "  (for the keeper only: groups as they were; readable by you alone)" if "keeper" in name else ""
        say(f"  {name_of(path)}{kept}")


def _print(found: Any) -> None:
    proof, told = found.certificate, found.assessment
    local = found.local
    rows = [[name, *([local.finest[name]] if local else []), level, found.hierarchies[name].height,
             found.hierarchies[name].kind] for name, level in found.levels.items()]  # fmt: skip
    asked = ", ".join(map(str, found.guarantees))
    header = ["column", *(["from level", "to"] if local else ["level"]), "of", "hierarchy"]
    print_table(f"{number_of(told.rows, 'row')} under {asked}", header, rows, left=(0, len(header) - 1))
    if local:
        say(f"loss: {found.loss:,.6f} ({found.title}); group by group, not said to be the best")
        say(f"  nothing by these hierarchies loses less than {lower(local.bound)}: a gap of at most {upper(local.gap)}")
    best = "the best levels for all rows" if local else "loss"
    say(f"{best}: {proof.loss:,.6f} ({found.title}); no other of {number_of(proof.nodes, 'node')} loses less")
    fail = number_of(len(proof.infeasible), "node")
    below = f"{fail} {'fails' if len(proof.infeasible) == 1 else 'fail'}, and so does all below"
    say(f"  {below if proof.infeasible else 'no node fails'}; nodes that were counted: {proof.visited:,}")
    say(f"k {told.k:,}, {number_of(told.groups, 'group')}; {number_of(found.suppressed, 'row')} suppressed")
    if told.secret:
        worst = told.worst
        say(f"largest lift {upper(told.lift)}: {named(worst.value)} in the group {group_words(worst.group)}")
    if found.perturbed is not None:
        of_row = " of one row" if found.rows_per_person > 1 else ""
        say(f"largest lift by group and perturbed value{of_row} together: {upper(found.both)}")
    if found.minimality is not None:
        say(f"largest lift for somebody who knows the rule: {upper(found.minimality.lift)}")
