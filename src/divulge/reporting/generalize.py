"""The papers of a coarsened table for reading: statement and codebook, in the language of the request."""

from collections.abc import Callable, Mapping

from divulge.reporting.statements import codebook
from divulge.reporting.statements.statement import statement
from divulge.reporting.statements.voice import Voice
from divulge.tables.generalization import Generalization
from divulge.tables.request import Generalize


def papers(request: Generalize) -> Callable[[Generalization], Mapping[str, bytes]]:
    """Return what makes the papers of a coarsened table that people read."""
    Voice(request.language)

    def made(done: Generalization) -> Mapping[str, bytes]:
        said = statement(done, request.language)
        return {
            "codebook.md": codebook.of_groups(done, request.language),
            "statement.html": said.html().encode(),
            "statement.txt": said.text().encode(),
        }

    return made
