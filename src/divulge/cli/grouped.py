"""The help of a command with many options: in groups, what is asked for first."""

from typing import Any

from typer.core import TyperCommand

GROUPS: dict[str, str] = {
    "What goes out with it": "--as --keep --only-column --archive --language --publisher --source-text --consistent",
    "Whose rows they are": "--person --one-answer --rows-per-person --groups-per-person --rows-per-group --per-row "
    "--people --source-name",
    "What adds up": "--ledger --no-ledger --budget",
    "How the table is read": "--delimiter --decimal --encoding --sheet --header --footer --number-names "
    "--one-spelling --group --line-breaks --limit --engine",
    "How files are written": "--force --receipt --sign --escape-formulas --save-request --json --unit",
    "Before anything is drawn": "--preview --by --picture",
}
"""Title -> options; what stands nowhere comes first."""

_MANY = 30
"""From so many options on they are grouped."""


class Grouped(TyperCommand):
    """A command whose options stand in groups where there are many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, each once."""
        own = {name for one in self.get_params(ctx) for name in one.opts}
        if len(own) < _MANY:
            return super().format_options(ctx, formatter)
        titles = {name: title for title, names in GROUPS.items() for name in names.split()}
        if "--preview" not in own:
            titles.pop("--by")
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []} | {title: [] for title in GROUPS}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if one.param_type_name == "argument" else "Options"
                sections[next((titles[name] for name in one.opts if name in titles), usual)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        return None
