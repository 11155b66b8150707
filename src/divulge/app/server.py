"""The application: what is answered beside the steps of a visit, and the server that answers on this machine."""

import contextlib
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
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from divulge import children
from divulge.app.guard import LOCAL, PAGE_POLICY, Guard, Refused
from divulge.app.jobs import get_ready
from divulge.app.pages import HERE, Pages, reachable
from divulge.app.sessions import Session
from divulge.app.words import asked_for
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.shown import printable
from divulge.reporting.statements.voice import languages

MOST_BYTES = 2 << 30
"""The largest upload, in bytes."""

_KEPT = "What was published before is in the ledger; this page published nothing that you can download."


def _back(headers: Any, session: Session) -> str:
    """Return the page of the visit that a request came from, else its first one."""
    base = f"/s/{session.key}/"
    came = urlsplit(headers.get("referer", "")).path
    return came if came.startswith(base) and re.fullmatch(r"[a-z]+", came.removeprefix(base)) else f"{base}data"


class Beside:
    """What a visit can ask for beside its steps, and what it is told when something is refused."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.responses = require("starlette.responses", "app")

    def home(self, request: Any) -> Any:
        """Begin a visit."""
        from divulge.app.steps import data

        session = self.pages.sessions.new()
        session.language = asked_for(request.headers.get("accept-language", ""))
        if self.pages.demo:
            data.choose_census(session)
        return self.pages.to(session, "data")

    def stop(self, request: Any) -> Any:
        """Stop the work behind a part of a page."""
        session, name = self.pages.session(request), request.path_params["name"]
        session.stop(name)
        stopped = [job for known, job in session.jobs.items() if known.partition(":")[0] == name]
        for job in stopped:
            job.wait(2)
        failed = next((job for job in stopped if job.error is not None), None)
        return self.pages.page("_failed.html", session, name, job=failed, name=name)

    async def speak(self, request: Any) -> Any:
        """Go on in another language, on the same page."""
        session = self.pages.session(request)
        async with request.form(max_fields=4) as form:
            wanted, step = str(form.get("language")), str(form.get("step"))
        if wanted in languages():
            session.language = wanted
        return self.pages.to(session, step if step in reachable(session) else "data")

    def over(self, request: Any) -> Any:
        """End a visit."""
        self.pages.sessions.drop(request.path_params["key"])
        return self.responses.RedirectResponse("/", 303)

    def paper(self, request: Any) -> Any:
        """Return a file of the session: shown as a page in a sandbox, or given to keep."""
        session = self.pages.session(request)
        known = session.choices.get("papers", {}).get(request.path_params["kind"])
        if known is None or not Path(known).is_file():
            raise Refused(404, "There is no such file.")
        if "show" in request.query_params and known.endswith(".html"):
            return self.responses.FileResponse(known, headers={"content-security-policy": PAGE_POLICY})
        return self.responses.FileResponse(known, filename=Path(known).name)

    def turned_away(self, headers: Any, status: int, why: str) -> str:
        """Return the message for what the guard refuses; whoever is let in is led back to the visit."""
        came = re.match(r"/s/([\w-]+)/", urlsplit(headers.get("referer", "")).path)
        session = self.pages.sessions.get(came[1]) if came and status == 413 else None
        return self._text(headers, status, why, session)

    async def refused(self, request: Any, error: Exception) -> Any:
        """Say what is wrong with a request."""
        status, why = (error.status, error.why) if isinstance(error, Refused) else (400, str(error))
        return self._message(request, status, why)

    async def broken(self, request: Any, error: Exception) -> Any:
        """Say that something unforeseen happened, of which kind."""
        return self._message(request, 500, f"Something went wrong inside ({type(error).__name__}). {_KEPT}")

    def _message(self, request: Any, status: int, why: str) -> Any:
        """Return a message, as a page or as the part of a page that was asked for."""
        session = self.pages.sessions.get(request.path_params.get("key", ""))
        return self.responses.HTMLResponse(self._text(request.headers, status, why, session), status)

    def _text(self, headers: Any, status: int, why: str, session: Session | None) -> str:
        """Return a message as a page, or as the part of one, with the way back."""
        template = "_message.html" if headers.get("hx-request") else "message.html"
        language = asked_for(headers.get("accept-language", "")) if session is None else session.language
        found = self.pages.templates[language].get_template(template)
        return str(found.render(why=why, status=status, back="" if session is None else _back(headers, session)))

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncGenerator[None]:
        """Keep what is uploaded and made in the folder of the visits, until all are over."""
        multiprocessing.util.get_temp_dir()  # made before uploads get a folder of their own, which goes first
        usual, tempfile.tempdir = tempfile.tempdir, str(self.pages.sessions.root)
        try:
            yield
        finally:
            tempfile.tempdir = usual
            self.pages.sessions.close()


def _bound(pages: Pages, function: Callable[[Pages, Any], Any]) -> Callable[[Any], Any]:
    """Return what answers a request by a function of a step."""
    if not function.__name__.startswith("take"):
        return lambda request: function(pages, request)

    async def taking(request: Any) -> Any:  # reads an upload, which arrives piece by piece
        return await function(pages, request)

    return taking


def _routes(pages: Pages, beside: Beside) -> list[Any]:
    """Return the addresses that are answered: those of all steps, and those beside them."""
    from divulge.app.steps import aim, asked, check, coarse, data, how, many, places, preview, protect, release, table

    routing, staticfiles = require("starlette.routing", "app"), require("starlette.staticfiles", "app")
    steps: list[tuple[str, str, Callable[[Pages, Any], Any]]] = [
        route
        for step in (data, aim, how, table, coarse, places, many, protect, preview, asked, release, check)
        for route in step.ROUTES
    ]
    return [
        routing.Route("/", beside.home),
        routing.Mount("/static", staticfiles.StaticFiles(directory=HERE / "static")),
        *(routing.Route(f"/s/{{key}}/{path}", _bound(pages, function), methods=[method])
          for method, path, function in steps),
        routing.Route("/s/{key}/stop/{name}", beside.stop, methods=["POST"]),
        routing.Route("/s/{key}/language", beside.speak, methods=["POST"]),
        routing.Route("/s/{key}/over", beside.over, methods=["POST"]),
        routing.Route("/s/{key}/paper/{kind}", beside.paper),
    ]  # fmt: skip


def application(
    hosts: frozenset[str],
    *,
    token: str | None = None,
    demo: bool = False,
    limit: int = MOST_BYTES,
    ledger: str | None = None,
) -> Any:
    """Return the ASGI application.

    `hosts` are the names with port under which it may be reached, `token` is asked for on the first request, and
    uploads have at most `limit` bytes.
    """
    require("python_multipart", "app")
    applications = require("starlette.applications", "app")
    pages = Pages(demo, ledger)
    beside = Beside(pages)
    get_ready()
    app = applications.Starlette(
        routes=_routes(pages, beside),
        exception_handlers={Refused: beside.refused, DivulgeError: beside.refused, Exception: beside.broken},
        lifespan=beside.lifespan,
    )
    return Guard(app, hosts, token, limit, beside.turned_away)


def serve(
    host: str = "127.0.0.1", port: int = 8765, *, demo: bool = False, browser: bool = True, ledger: str | None = None
) -> None:
    """Answer until Ctrl-C, SIGTERM or SIGHUP; print the address on a line of its own as soon as it answers."""
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
