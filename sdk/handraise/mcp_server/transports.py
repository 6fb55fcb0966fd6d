"""The server: the tools with their texts, over standard input and output or over HTTP.

Over HTTP each client brings a key of its own as its bearer. Nothing is kept between requests, in either era: so a
restart, or a second server beside this one, makes no difference.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import Icon, ToolAnnotations
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from handraise.errors import HandraiseError
from handraise.mcp_server import tool_texts
from handraise.mcp_server.asking_keys import KeyRefused, Keys, KeySeal
from handraise.mcp_server.tools import Tools

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_BODY = 1024 * 1024
"""The service takes no larger question (API.md §1)."""

_ICON = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="18" fill="#2f6b5e"/>'
    b'<g fill="none" stroke="#fff" stroke-width="6" stroke-linecap="round" stroke-linejoin="round">'
    b'<path d="M23 34V21M31 32V14M39 32V16M47 35V23"/>'
    b'<path d="M47 34v6c0 8-5 13-12 13-6 0-9-3-12-8l-7-10"/></g></svg>'
)
ICONS = [
    Icon(src=f"data:image/svg+xml;base64,{base64.b64encode(_ICON).decode()}", mime_type="image/svg+xml", sizes=["any"])
]


def server_for(keys: Keys, key_of_call: Callable[[], str], patience_seconds: float) -> MCPServer:
    """The server, for callers whose key ``key_of_call`` knows."""
    tools = Tools(keys, key_of_call, patience_seconds)
    server = MCPServer(
        "handraise",
        title="Handraise",
        description="Asks a person, and gives the agent their answer.",
        instructions=tool_texts.INSTRUCTIONS,
        icons=ICONS,
        version=version("handraise"),
        log_level="WARNING",
        request_state_security=RequestStateSecurity(codec=KeySeal(key_of_call)),
        subscriptions=False,
    )
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    asks = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)
    takes_back = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    for tool, title, text, hints in (
        (tools.request_input, "Ask a person", tool_texts.REQUEST_INPUT, asks),
        (tools.wait_for_input, "Wait for an answer", tool_texts.WAIT_FOR_INPUT, looks),
        (tools.check_input, "Look at a question", tool_texts.CHECK_INPUT, looks),
        (tools.cancel_input, "Take a question back", tool_texts.CANCEL_INPUT, takes_back),
    ):
        server.add_tool(tool, title=title, description=text, annotations=hints, icons=ICONS)
    return server


async def serve_stdio(keys: Keys, key: str, patience_seconds: float) -> None:
    """Serve the one client at the other end of standard input and output, with ``key``, until it hangs up."""
    await server_for(keys, lambda: key, patience_seconds).run_stdio_async()


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the server listens, and what it is called from outside."""

    host: str
    port: int
    public_url: str | None = None
    origins: Sequence[str] = ()

    def security(self) -> TransportSecuritySettings:
        """What ``Host`` and ``Origin`` may say: the names of this server, and the origins that were given. A page that
        has bent a name of its own to this address has neither."""
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}", f"[::1]:{self.port}"}
        origins = {f"http://{one}" for one in own} | set(self.origins)
        if self.public_url is not None:
            public = urlsplit(self.public_url)
            own.add(public.netloc)
            origins.add(f"{public.scheme}://{public.netloc}")
        return TransportSecuritySettings(allowed_hosts=sorted(own), allowed_origins=sorted(origins))


def http_app(keys: Keys, listening: Listening, patience_seconds: float) -> ASGIApp:
    """The server over streamable HTTP, at :data:`PATH`."""
    app = server_for(keys, _bearer_of_call, patience_seconds).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=LARGEST_BODY,
        transport_security=listening.security(),
    )
    return AuthenticationMiddleware(AuthContextMiddleware(app), backend=Bearers(keys), on_error=_refused)


async def serve_http(keys: Keys, listening: Listening, patience_seconds: float) -> None:
    """Serve over HTTP until a signal ends it."""
    app = http_app(keys, listening, patience_seconds)
    config = uvicorn.Config(
        app,
        host=listening.host,
        port=listening.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=5,
    )
    await uvicorn.Server(config).serve()


class _Unauthorized(AuthenticationError):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Bearers(AuthenticationBackend):
    """Whose request it is: the bearer is an API key, which the service knows and which can only ask."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser]:
        scheme, _, key = conn.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise _Unauthorized(401, "Send your Handraise API key: Authorization: Bearer KEY.")
        try:
            name = await self._keys.owner(key.strip())
        except KeyRefused as refused:
            raise _Unauthorized(refused.status, str(refused)) from None
        except HandraiseError:
            raise _Unauthorized(503, "The Handraise service does not answer; try again in a minute.") from None
        return AuthCredentials(), AuthenticatedUser(AccessToken(token=key.strip(), client_id=name, scopes=[]))


def _refused(_: HTTPConnection, problem: Exception) -> Response:
    status = problem.status if isinstance(problem, _Unauthorized) else 401
    code = {401: "invalid_token", 403: "insufficient_scope"}.get(status, "temporarily_unavailable")
    headers = {"WWW-Authenticate": f'Bearer error="{code}"'} if status == 401 else {}
    return JSONResponse({"error": code, "error_description": str(problem)}, status, headers)


def _bearer_of_call() -> str:
    token = get_access_token()
    if token is None:
        raise RuntimeError("a request without a bearer has come through")
    return token.token
