"""Who may talk to the app: whoever has the token, on this machine unless told otherwise; no other site's page."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing but what the package serves; no inline script, and no style but an empty one (the hash) that figures fill."""

PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""For statements and reports, which hold their own style and no script."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
MOST_FIELDS = 100_000
"""So many fields of a form at most: wide tables have a box for each column."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "divulge-token"


class Refused(Exception):
    """A request that is not answered: the status, and what to say instead."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(frozen=True)
class Guard:
    """An ASGI application that lets requests through to `app` when they come from where they may.

    `hosts` are the names under which the app may be reached, with the port; a page of another site that has its own
    name resolved to this machine (DNS rebinding) comes with another Host. `token` is asked for where it is not None:
    other users of the machine reach its ports too. `page` makes what a refusal says a page: of headers, status, words.
    """

    app: Any
    hosts: frozenset[str]
    token: str | None
    most_bytes: int
    page: Callable[[Mapping[str, str], int, str], str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            new = self._admitted(scope, headers)
            if new and _foreign(headers):  # the cookie is sent back to pages that the app's own pages open
                await _answer(send, 200, _ENTER, **{"set-cookie": self._cookie(headers)})
                return
        except Refused as refused:
            await _answer(send, refused.status, self.page(headers, refused.status, refused.why))
            return
        seen = 0

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.most_bytes:
                raise Refused(413, f"A file may have {self.most_bytes:,} bytes at most.")
            return message

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                extra = dict(HEADERS)
                if new:
                    extra["set-cookie"] = self._cookie(headers)
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in given),
                ]
            await send(message)

        try:
            await self.app(scope, bounded, with_headers)
        except Refused as refused:
            await _answer(send, refused.status, self.page(headers, refused.status, refused.why))

    def _cookie(self, headers: Mapping[str, str]) -> str:
        """Return what makes the browser remember the token, for this app and not for requests of other sites."""
        return f"{_name(headers)}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def _admitted(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        """Raise Refused, or return whether the token was given just now and is to be remembered."""
        if headers.get("host", "").lower() not in self.hosts:
            raise Refused(421, "This address is not one of the app's own.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            raise Refused(403, "Requests from other sites are not answered.")
        opens = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"
        if _foreign(headers) and (not opens or scope["method"] != "GET"):
            raise Refused(403, "Requests from other sites are not answered.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refused(405, "Only GET and POST are answered.")
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self.most_bytes:
            raise Refused(413, f"A file may have {self.most_bytes:,} bytes at most.")
        if self.token is None:
            return False
        (asked,) = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[:1]
        if secrets.compare_digest(asked.encode(), self.token.encode()):
            return True
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(_name(headers))
        except CookieError:
            kept = None
        if kept is None or not secrets.compare_digest(kept.value.encode(), self.token.encode()):
            raise Refused(401, "Open the address with the token that was printed when the app started.")
        return False


_ENTER = (
    '<!doctype html><title>Divulge</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0;url=/"><a href="/">Go on</a>'
)
"""The page that opens the first page, where the address with the token was opened by a page that is not the app's."""


def _foreign(headers: Mapping[str, str]) -> bool:
    """Return whether a page of another site asks."""
    return headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")


def _name(headers: Mapping[str, str]) -> str:
    """Return the name of the cookie that remembers the token: of this port alone, as cookies are shared by ports."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}-{port if port.isdecimal() else 80}"


async def _answer(send: Send, status: int, said: str, **more: str) -> None:
    given = {"content-type": "text/html; charset=utf-8"} | HEADERS | more
    headers = [(k.encode(), v.encode()) for k, v in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": said.encode()})
