"""Checks of every request before the page sees it, and headers of every response.

The page is for the person at this machine. Other web sites that this person visits can make the browser send requests
here, so the name of the host is checked (a name that was pointed at 127.0.0.1 is refused), and forms are taken from
this page only.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
LONGEST_BODY = 4_000_000  # bytes of a request
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class TooLong(HTTPException):
    """A body turned out to be longer than is allowed."""

    def __init__(self, most: int) -> None:
        # What is left of the body is not read, so the connection must not be used again.
        super().__init__(413, f"That is more than {most / 1e6:g} MB: send fewer rows.", {"Connection": "close"})


class Guard:
    """ASGI middleware: refuses what should not be answered, and sets headers."""

    def __init__(self, app: ASGIApp, longest_body: int = LONGEST_BODY) -> None:
        self.app, self.longest_body = app, longest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                return  # the page has none; returning refuses it
            await self.app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                found.update(HEADERS)
                found.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._refusal(scope["method"], Headers(scope=scope)) or self.app
        await answer(scope, self._count(receive), sending)

    def _refusal(self, method: str, headers: Headers) -> PlainTextResponse | None:
        """The answer to a request that goes no further; None for one that does."""
        if not is_local(headers.get("host", "")):
            return PlainTextResponse("This page answers at http://127.0.0.1 and http://localhost only.", 400)
        if method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("This page takes GET, HEAD and POST only.", 405)
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return PlainTextResponse("Other sites may link to this page, but not use it.", 403)
        if method == "POST" and not is_same_origin(headers):
            return PlainTextResponse("Forms are taken from this page only, not from other sites.", 403)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            return PlainTextResponse("The Content-Length is not a number.", 400)
        if len(length) > 15 or int(length) > self.longest_body:
            error = TooLong(self.longest_body)
            return PlainTextResponse(error.detail, error.status_code, error.headers)
        return None

    def _count(self, receive: Receive) -> Receive:
        """The same stream, which ends in an error where it grows too long: the length need not be given beforehand."""
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self.longest_body:
                raise TooLong(self.longest_body)
            return message

        return counted


def is_local(host: str) -> bool:
    """Whether a Host header names this machine, with or without a port."""
    name, _, port = host.partition(":")
    return name.lower() in HOSTS and (port == "" or (port.isascii() and port.isdigit()))


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from this page.

    Browsers send it in Sec-Fetch-Site. Those that do not know this header send the Origin.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return headers.get("origin") == f"http://{headers.get('host')}"
