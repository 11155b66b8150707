"""The papers of published statistics: statement and codebook, for everybody."""

from collections.abc import Callable, Mapping

from divulge.publishing.published import Published
from divulge.publishing.request import Publish
from divulge.reporting.statements import codebook
from divulge.reporting.statements.statement import statement
from divulge.reporting.statements.voice import Voice


def papers(request: Publish) -> Callable[[Published], Mapping[str, bytes]]:
    """Return what makes the public papers of a release, in the language of the request."""
    Voice(request.language)

    def made(done: Published) -> Mapping[str, bytes]:
        said = statement(done, request.language)
        return {
            **codebook.of_statistics(done, request),
            "statement.html": said.html().encode(),
            "statement.txt": said.text().encode(),
        }

    return made
