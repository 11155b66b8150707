"""The application: pages by step, the work beside them, and the server that answers on this machine."""

import contextlib
import math
import multiprocessing.util
import os
import re
import secrets
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import AsyncGenerator, Callable
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from divulge import children
from divulge.app.guard import LOCAL, PAGE_POLICY, Guard, Refused
from divulge.app.jobs import Job, get_ready
from divulge.app.sessions import OWN, Session, Sessions
from divulge.app.words import asked_for, filters, pictured, translated
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.shown import at_least, at_most, named, printable, promised, reached
from divulge.reporting.remarks import remark
from divulge.reporting.statements.voice import Voice, languages

HERE = Path(__file__).parent
MOST_BYTES = 2 << 30
"""The largest upload, in bytes."""
STEPS = (
    ("data", "Data"),
    ("aim", "What must not happen"),
    ("how", "How"),
    ("preview", "Preview"),
    ("release", "Release"),
    ("check", "Check"),
)
"""Name and title of each step, in order."""


_KEPT = "What was published before is in the ledger; this page published nothing that you can download."

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


def _back(headers: Any, session: Session) -> str:
    """Return the page of the visit that a request came from, else its first one."""
    base = f"/s/{session.key}/"
    came = urlsplit(headers.get("referer", "")).path
    return came if came.startswith(base) and re.fullmatch(r"[a-z]+", came.removeprefix(base)) else f"{base}data"


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


def application(
    hosts: frozenset[str],
    *,
    token: str | None = None,
    demo: bool = False,
    limit: int = MOST_BYTES,
    ledger: str | None = None,
) -> Any:
    """Return the ASGI application.

    Parameters
    ----------
    hosts : names with port under which it may be reached
    token : asked for on the first request, None for none
    demo : whether a visit begins with the bundled census
    limit : bytes of an upload at most
    ledger : path or address of the ledger that releases are recorded in, None for none
    """
    require("python_multipart", "app")
    applications, routing = require("starlette.applications", "app"), require("starlette.routing", "app")
    staticfiles, responses = require("starlette.staticfiles", "app"), require("starlette.responses", "app")
    from divulge.app.steps import aim, asked, check, coarse, data, how, many, places, preview, protect, release, table

    pages = Pages(demo, ledger)
    get_ready()

    def home(request: Any) -> Any:
        session = pages.sessions.new()
        session.language = asked_for(request.headers.get("accept-language", ""))
        if demo:
            data.choose_census(session)
        return pages.to(session, "data")

    def stop(request: Any) -> Any:
        session, name = pages.session(request), request.path_params["name"]
        session.stop(name)
        stopped = [job for known, job in session.jobs.items() if known.partition(":")[0] == name]
        for job in stopped:
            job.wait(2)
        failed = next((job for job in stopped if job.error is not None), None)
        return pages.page("_failed.html", session, name, job=failed, name=name)

    async def speak(request: Any) -> Any:
        """Go on in another language, on the same page."""
        session = pages.session(request)
        async with request.form(max_fields=4) as form:
            wanted, step = str(form.get("language")), str(form.get("step"))
        if wanted in languages():
            session.language = wanted
        return pages.to(session, step if step in reachable(session) else "data")

    def over(request: Any) -> Any:
        pages.sessions.drop(request.path_params["key"])
        return responses.RedirectResponse("/", 303)

    def paper(request: Any) -> Any:
        """A file of the session: shown as a page in a sandbox, or given to keep."""
        session = pages.session(request)
        known = session.choices.get("papers", {}).get(request.path_params["kind"])
        if known is None or not Path(known).is_file():
            raise Refused(404, "There is no such file.")
        if "show" in request.query_params and known.endswith(".html"):
            return responses.FileResponse(known, headers={"content-security-policy": PAGE_POLICY})
        return responses.FileResponse(known, filename=Path(known).name)

    def said(headers: Any, status: int, why: str, session: Session | None) -> str:
        """Return a message as a page, or as the part of one, with the way back."""
        template = "_message.html" if headers.get("hx-request") else "message.html"
        language = asked_for(headers.get("accept-language", "")) if session is None else session.language
        found = pages.templates[language].get_template(template)
        return str(found.render(why=why, status=status, back="" if session is None else _back(headers, session)))

    def turned_away(headers: Any, status: int, why: str) -> str:
        """Return the message for what the guard refuses; whoever is let in is led back to the visit."""
        came = re.match(r"/s/([\w-]+)/", urlsplit(headers.get("referer", "")).path)
        return said(headers, status, why, pages.sessions.get(came[1]) if came and status == 413 else None)

    def message(request: Any, status: int, why: str) -> Any:
        """Return a message, as a page or as the part of a page that was asked for."""
        session = pages.sessions.get(request.path_params.get("key", ""))
        text = said(request.headers, status, why, session)
        return responses.HTMLResponse(text, status)

    async def refused(request: Any, error: Exception) -> Any:
        status, why = (error.status, error.why) if isinstance(error, Refused) else (400, str(error))
        return message(request, status, why)

    async def broken(request: Any, error: Exception) -> Any:
        return message(request, 500, f"Something went wrong inside ({type(error).__name__}). {_KEPT}")

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        multiprocessing.util.get_temp_dir()  # made before uploads get a folder of their own, which goes first
        usual, tempfile.tempdir = tempfile.tempdir, str(pages.sessions.root)
        try:
            yield
        finally:
            tempfile.tempdir = usual
            pages.sessions.close()

    steps: list[tuple[str, str, Callable[[Pages, Any], Any]]] = [
        route
        for step in (data, aim, how, table, coarse, places, many, protect, preview, asked, release, check)
        for route in step.ROUTES
    ]

    def bound(function: Callable[[Pages, Any], Any]) -> Callable[[Any], Any]:
        if function.__name__.startswith("take"):  # reads an upload, which arrives piece by piece

            async def taking(request: Any) -> Any:
                return await function(pages, request)

            return taking
        return lambda request: function(pages, request)

    routes = [
        routing.Route("/", home),
        routing.Mount("/static", staticfiles.StaticFiles(directory=HERE / "static")),
        *(routing.Route(f"/s/{{key}}/{path}", bound(function), methods=[method]) for method, path, function in steps),
        routing.Route("/s/{key}/stop/{name}", stop, methods=["POST"]),
        routing.Route("/s/{key}/language", speak, methods=["POST"]),
        routing.Route("/s/{key}/over", over, methods=["POST"]),
        routing.Route("/s/{key}/paper/{kind}", paper),
    ]
    app = applications.Starlette(
        routes=routes,
        exception_handlers={Refused: refused, DivulgeError: refused, Exception: broken},
        lifespan=lifespan,
    )
    return Guard(app, hosts, token, limit, turned_away)


def serve(
    host: str = "127.0.0.1", port: int = 8765, *, demo: bool = False, browser: bool = True, ledger: str | None = None
) -> None:
    """Answer until Ctrl-C, SIGTERM or SIGHUP; print the address on a line of its own as soon as it answers.

    Raises
    ------
    DivulgeError
        When the port is taken or the host is not of this machine.
    """
    uvicorn = require("uvicorn", "app")
    local = host in ("127.0.0.1", "localhost", "::1")
    token = secrets.token_urlsafe(24)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    names = {f"{name}:{port}" for name in (LOCAL if local else (shown.lower(), *LOCAL))}
    if host in ("0.0.0.0", "::"):
        names |= {f"{name}:{port}" for name in (socket.gethostname().lower(), *_addresses())}
    app = application(
        frozenset(names | ({n.rpartition(":")[0] for n in names} if port == 80 else set())),
        token=token,
        demo=demo,
        ledger=ledger,
    )
    address = f"http://{shown}:{port}/?token={token}"
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    ends = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # the terminal is closed
        ends.append(signal.SIGHUP)
    for name in ends:
        signal.signal(name, lambda *_: setattr(server, "should_exit", True))

    def announce() -> None:
        while not server.started and not server.should_exit:
            threading.Event().wait(0.02)
        if server.started:
            print(address, flush=True)
            if local:
                print("Nothing leaves this machine. Ctrl-C ends it.", file=sys.stderr)
            else:
                print(
                    "Reachable from other machines, over a connection that is not encrypted, with this token only.",
                    file=sys.stderr,
                )
            if browser:
                webbrowser.open(opened.as_uri())

    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    with children.private_folder("door") as folder:
        opened = door(folder, address)
        threading.Thread(target=announce, daemon=True).start()
        server.run(sockets=[listening])


def door(folder: Path, address: str) -> Path:
    """Write the page that a browser is given to open, for this user's eyes only: process lists show what it is called.

    It leads to the address with its token.
    """
    path = folder / "open.html"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as page:
        page.write(
            f'<!doctype html><meta charset="utf-8"><title>Divulge</title>'
            f'<meta http-equiv="refresh" content="0;url={address}"><a href="{address}">Open Divulge</a>'
        )
    return path


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise DivulgeError.of("--port", "be from 0 to 65535", "it", str(port))
    listening: socket.socket | None = None
    try:
        listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is no address here"
        raise DivulgeError(
            f"cannot listen on {printable(host)}:{port}: {why}. Hint: --port 0 takes a free one."
        ) from None
    return listening


def _addresses() -> list[str]:
    try:
        return sorted({str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)})
    except OSError:
        return []
