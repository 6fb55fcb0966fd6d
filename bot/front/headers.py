"""Headers that every reply carries, for browsers and caches. Source: OWASP REST security cheat sheet."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

FIELDS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
KEPT = "/static/"
"""Files that are the same for everybody: browsers may keep them."""


class ResponseHeaders:
    """No browser guesses what a reply is, and nobody keeps it; a reply's own field stays as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        fields = FIELDS[:1] if scope["path"].startswith(KEPT) else FIELDS

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                more = [field for field in fields if field[0] not in own]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, told)
