"""Pages of a visit: made from templates in its language, with numbers and messages as people read them."""

import math
import re
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from divulge.app.guard import Refused
from divulge.app.jobs import Job
from divulge.app.sessions import OWN, Session, Sessions
from divulge.app.words import filters, pictured, translated
from divulge.extras import require
from divulge.model.shown import at_least, at_most, named, promised, reached
from divulge.reporting.remarks import remark
from divulge.reporting.statements.voice import Voice, languages

HERE = Path(__file__).parent
STEPS = (
    ("data", "Data"),
    ("aim", "What must not happen"),
    ("how", "How"),
    ("preview", "Preview"),
    ("release", "Release"),
    ("check", "Check"),
)
"""Name and title of each step, in order."""
PATIENCE = 2.0
"""So many seconds a page waits for work to be done before it shows the progress."""


def found_only(found: Any) -> dict[str, Any]:
    """Show a result as it is."""
    return {"found": found}


class Pages:
    """What all steps share: the session of a request, pages made from templates, work shown while it runs."""

    def __init__(self, demo: bool, ledger: str | None) -> None:
        jinja2 = require("jinja2", "app")
        self.sessions = Sessions()
        self.demo = demo
        self.ledger = (
            ledger if ledger is None or "://" in ledger else str(Path(ledger).absolute())
        )  # jobs run elsewhere
        self.templates = {language: _templates(jinja2, Voice(language)) for language in languages()}

    def session(self, request: Any) -> Session:
        """Return the session a request belongs to."""
        found = self.sessions.get(request.path_params["key"])
        if found is None:
            raise Refused(404, "This visit has ended. Start over from the first page.")
        return found

    def page(self, template: str, session: Session, step: str, *, status: int = 200, **context: Any) -> Any:
        """Return a page, or a part of one."""
        responses = require("starlette.responses", "app")
        base = f"/s/{session.key}"
        open_steps = reachable(session)
        context = {name: pictured(value, Voice(session.language)) if name == "figure" else value
                   for name, value in context.items()}  # fmt: skip
        text = (
            self.templates[session.language]
            .get_template(template)
            .render(base=base, step=step, steps=STEPS, reachable=open_steps, choices=session.choices, **context)
        )
        return responses.HTMLResponse(text, status)

    def part(
        self, session: Session, name: str, job: Job, template: str, done: Callable[[Any], dict[str, Any]] = found_only
    ) -> Any:
        """Return the part of a page that shows the result of a job, or its progress while it runs.

        `done` makes what the template shows from the result, and remembers what the session keeps of it.
        """
        if not job.wait(PATIENCE):
            return self.page("_running.html", session, name, job=job, name=name)
        if job.error is not None:
            return self.page("_failed.html", session, name, job=job, name=name)
        return self.page(template, session, name, **done(job.result))

    def to(self, session: Session, step: str) -> Any:
        """Send the visitor to a step."""
        responses = require("starlette.responses", "app")
        return responses.RedirectResponse(f"/s/{session.key}/{step}", 303)


def _templates(jinja2: Any, voice: Voice) -> Any:
    """Return the templates in a language: their sentences, and numbers as it writes them."""

    class Translated(jinja2.FileSystemLoader):
        def get_source(self, environment: Any, template: str) -> Any:
            source, *rest = super().get_source(environment, template)
            return (translated(source, voice), *rest)

    found = jinja2.Environment(loader=Translated(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined)
    numbers = {
        "share": in_hundred,
        "count": "{:,}".format,
        "number": number,
        "factor": lambda value: "no bound" if math.isinf(value) else at_most(value),
        "least": partial(number, rounded=math.floor),
        "most": partial(number, rounded=math.ceil),
        "bound": lambda value, rounded="{:.4g}".format: (
            "no bound" if math.isinf(float(value)) else rounded(float(value))
        ),
    }
    found.filters |= {
        "shown": lambda label: voice.known(named(label)) if label == "" else named(label),
        "begun": lambda text: text[:1].upper() + text[1:],
    }
    found.filters |= filters(voice, numbers) | {"remark": lambda text: remark(voice, on_page(text))}
    found.filters |= {"lines": partial(in_lines, voice)}
    found.globals |= {"at_most": at_most, "at_least": at_least, "language": voice.language}
    return found


_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?(?![\w.])")


def in_lines(voice: Voice, text: str) -> str:
    """Return a text of sentences and tables, line by line in a language, each as far from the edge as it was."""
    if voice.language == "en":
        return text
    found: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if (said := remark(voice, bare)) == bare:
            said = _DECIMAL.sub(lambda number: voice.numeral(number[0]), bare)
        found.append(line[: len(line) - len(line.lstrip())] + said)
    return "\n".join(found)


def reachable(session: Session) -> set[str]:
    """Return the steps whose questions can be asked by now."""
    known = session.choices
    steps = {"data", "check"}
    if "secret" in known:
        steps |= {"aim"}
    if "aim" in known:
        steps |= {"how"}
    if "how" in known:
        steps |= {"release"} | ({"how"} if known["how"]["way"] in OWN else {"preview"})
    return steps


def in_hundred(share: float) -> str:
    """Return a share as people say it: in 100, with the digits that it needs.

    >>> in_hundred(0.0113), in_hundred(0.5), in_hundred(0.00002)
    ('1.1 in 100', '50 in 100', 'fewer than 1 in 1,000')
    >>> in_hundred(0.99999), in_hundred(1.0)
    ('more than 999 in 1,000', '100 in 100')
    """
    if 0 < share < 0.001:
        return "fewer than 1 in 1,000"
    if 0.999 < share < 1:
        return "more than 999 in 1,000"
    return f"{100 * share:.2g} in 100" if share < 0.1 else f"{100 * share:.3g} in 100"


_OPTION = re.compile(r"(?:^|[\s(])--[a-z]|\([a-z_]+=|\b[a-z_]+=[A-Z(]")
"""What only a command line or a program has."""


def on_page(text: str) -> str:
    """Return a message without the parts that speak of options of a command: pages have fields for these.

    >>> on_page("t.csv: read as text with decimal commas; --decimal would set it.")
    't.csv: read as text with decimal commas.'
    >>> on_page("t.csv: `header` must be a row that the file has; it is row 99.")
    't.csv: `header` must be a row that the file has; it is row 99.'
    >>> on_page("line 4 must have 1 cell. Hint: leave out lines above: --header 4 (header=4) does.")
    'line 4 must have 1 cell. Hint: leave out lines above.'
    """
    kept: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        parts = re.split(r"(?<=[;:,])\s+", sentence)
        there = list(takewhile(lambda part: not _OPTION.search(part), parts))
        if len(there) == len(parts):
            kept.append(sentence)
        elif there and there != ["Hint:"]:
            kept.append(" ".join(there).rstrip(";:, ") + ".")
    return " ".join(kept)


def number(value: Any, rounded: Callable[[Any], int] = round) -> str:
    """Return a number as tables show it; the end of an interval is rounded away from the other.

    >>> number(12345), number(34.494), number(-0.5), number(1234567.8)
    ('12,345', '34.49', '-0.5', '1,234,568')
    >>> number(34.491, rounded=math.ceil), number(1234.5, rounded=math.floor)
    ('34.5', '1,234')
    """
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{rounded(value):,}"
    return {math.floor: reached, math.ceil: promised}.get(rounded, "{:.{}g}".format)(value, 4)
