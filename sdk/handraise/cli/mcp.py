"""``handraise mcp``: an MCP server for agents that call tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from handraise.cli.client import stop
from handraise.cli.terminal import warn

if TYPE_CHECKING:
    from handraise.mcp_server.asking_keys import Keys

_AT_START_SECONDS = 3.0


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP; each client brings its own API key as its bearer.")
    ] = False,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port, with --http.")] = 8090,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="What clients call this server, such as https://mcp.example.com. Needed off this machine.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", metavar="ORIGIN", help="A web page's origin that may call; may be repeated."),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            "--patience", min=1, max=600, help="Seconds that a call waits before it says pending; less than the client."
        ),
    ] = 25.0,
) -> None:
    """Serve tools by which an agent asks a person, over the Model Context Protocol.

    Without --http for the one client that has started it, with HANDRAISE_API_KEY. That key's only role has to be agent.
    """
    try:
        from handraise.mcp_server.asking_keys import Keys
        from handraise.mcp_server.transports import PATH, Listening, serve_http, serve_stdio
    except ModuleNotFoundError as missing:
        if missing.name != "mcp":
            raise
        stop("the MCP server needs one more package: pip install 'handraise[mcp]'", 2)
    keys = Keys(os.environ.get("HANDRAISE_URL", "http://127.0.0.1:8080"))
    if http:
        _check_name(host, public_url)
        warn(f"handraise mcp: http://{f'[{host}]' if ':' in host else host}:{port}{PATH}, for {keys.url}")
        listening = Listening(host, port, public_url, tuple(allow_origin or ()))
        _run(serve_http(keys, listening, patience))
    else:
        key = os.environ.get("HANDRAISE_API_KEY", "")
        if not key:
            stop("set HANDRAISE_API_KEY to a key whose only role is agent", 2)
        _run(_checked(keys, key))
        _run(serve_stdio(keys, key, patience))


async def _checked(keys: Keys, key: str) -> None:
    """Ends the command if ``key`` may do more than ask. A service that is away is asked again at each call."""
    from handraise.errors import HandraiseError
    from handraise.mcp_server.asking_keys import KeyRefused

    try:
        await keys.owner(key, _AT_START_SECONDS)
    except KeyRefused as refused:
        stop(str(refused), 2)
    except HandraiseError as problem:
        warn(f"handraise mcp: {problem} The tools say so until it does.")


def _check_name(host: str, public_url: str | None) -> None:
    from handraise.mcp_server.transports import LOOPBACK

    public = None if public_url is None else urlsplit(public_url)
    if public is not None and (public.scheme not in {"http", "https"} or not public.hostname):
        stop("--public-url is a URL such as https://mcp.example.com", 2)
    if public is not None and public.scheme == "http" and public.hostname not in LOOPBACK:
        stop("--public-url has to be https: clients send their API keys there", 2)
    if host not in LOOPBACK and public is None:
        stop("off this machine --public-url is needed: what clients call this server, over https", 2)


def _run(work: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
