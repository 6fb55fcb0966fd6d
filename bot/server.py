"""The server: uvicorn in this process, over the wired application, until SIGTERM or SIGINT.

Source: API.md §9.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from pathlib import Path
from typing import TextIO

import structlog
import uvicorn
import uvloop
from fastapi import FastAPI
from handraise.cli.terminal import warn
from starlette.types import ASGIApp

from bot.app import build_app
from bot.config.settings import Http, Settings
from bot.front.admission import Limits, connections_within
from bot.front.connections import Connections
from bot.front.protocol import protocol_for, watched
from bot.observability.tracing import tracing_of
from bot.wiring.composition import wire
from bot.wiring.reloading import Reread
from bot.wiring.roles import EVERYTHING, Parts
from bot.wiring.service import Service
from bot.wiring.shutdown import Shutdown
from core.errors import ConfigError, OperatorError
from core.ports import HostClock

AddRoutes = Callable[[FastAPI, Service], None]
"""Adds routes of the caller's own to the application."""
Announce = Callable[[Service], str]
"""What is printed as soon as the service is ready."""

_STOPPING = (signal.SIGTERM, signal.SIGINT)
_GRACE_SECONDS = 3
"""How long open requests get after the signal; what is left of its ten seconds is the service's."""
_CANT_GO_ON = 2
"""The exit status of a service whose database has gone (API.md §9, as one that can't begin)."""
_SHUT_OUT = (
    "api_keys has {name}, which was revoked or renewed by `handraise keys`: the key that stands there is not valid. "
    "Remove it."
)
_BACKLOG = 256
"""Connections that wait to be taken. All of them may be taken at once, before any that has to go for it has gone."""
_IN_THE_KERNEL = 64 * 1024
"""Bytes that the kernel keeps of each connection, each way (it takes twice as many). By itself it would keep megabytes
for a client that reads nothing, and have us read as many from one client at once."""
_MOST_DESCRIPTORS = 65_536
_COLLECTED_EVERY = (20_000, 50, 100)
"""Thresholds of the garbage collector's generations (``gc.set_threshold``). The first is how many more objects were
made than freed before it looks for circles. Nearly everything goes without it. With Python's 700 it takes a tenth of
the processor; with 100,000 it holds every request up for 0.1 s each time."""
_SWITCH_SECONDS = 0.001
"""A database thread gives the interpreter up at every statement, and waits this long to get it back from a busy event
loop. With Python's five milliseconds a fifth fewer questions get through."""


class _Server(uvicorn.Server):
    """Starts and stops the service around uvicorn's own work, so that what keeps it from starting reaches the caller:
    in the lifespan uvicorn would log a trace of it, and end the process with a status of its own.

    Tells waiting agents and streams that it is closing, so that they do not hold it up; ends with status 0.
    """

    def __init__(self, config: uvicorn.Config, service: Service, connections: Connections, announce: Announce) -> None:
        super().__init__(config)
        self._service = service
        self._connections = connections
        self._announce = announce
        self._ending = Shutdown()
        self._at_terminal = [stream for stream in (sys.stdout, sys.stderr) if stream.isatty()]
        self._reloads: set[asyncio.Task[None]] = set()
        self.failure: OperatorError | None = None
        """Why the service had to stop by itself."""
        service.health.fatal = self._fail

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.start()
        for name in self._service.keys.shut_out:
            warn(f"handraise: warning: {_SHUT_OUT.format(name=name)}")
        await super().startup(sockets)
        self._connections.start()
        gc.freeze()  # what stays for good; each full collection that looks through it holds every request up by 0.1 s
        gc.set_threshold(*_COLLECTED_EVERY)
        print(self._announce(self._service), flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._connections.hurry()
        await super().shutdown(sockets)
        await self._connections.stop()
        if not self.force_exit:
            await self._service.stop(self._ending.left)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn's own would raise the signal once more at the end, and the process would die of it."""
        loop = asyncio.get_running_loop()
        for number in _STOPPING:
            loop.add_signal_handler(number, self._stop)
        if self._service.reloading.can_reload:  # the demo ends with its terminal
            loop.add_signal_handler(signal.SIGHUP, self._hang_up)
        try:
            yield
        finally:
            for number in (*_STOPPING, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _hang_up(self) -> None:
        """Whoever closes the terminal ends the service with it; whoever sends SIGHUP has it read its configuration.

        A service that begins has just read it, and one that ends needs none.
        """
        gone = [stream for stream in self._at_terminal if not stream.isatty()]
        if gone:
            _write_to_nobody(gone)
            self._stop()
        elif self._service.working:
            task = asyncio.get_running_loop().create_task(self._service.reloading.reload_alone("SIGHUP"))
            self._reloads.add(task)
            task.add_done_callback(self._reloads.discard)

    def _fail(self, failure: OperatorError) -> None:
        if self.failure is None:
            self.failure = failure
            self._ending.begin(_CANT_GO_ON, f"handraise: {failure.message}")
            self._service.services.running.closing.set()
            self.should_exit = True

    def _stop(self) -> None:
        self._ending.begin()
        self._service.services.running.closing.set()
        self.force_exit = self.should_exit  # asked twice: at once
        self.should_exit = True


def serve(
    settings: Settings,
    folder: Path,
    parts: Parts = EVERYTHING,
    *,
    add_routes: AddRoutes | None = None,
    clock: HostClock | None = None,
    reread: Reread | None = None,
    announce: Announce = lambda service: f"handraise is ready at {service.settings.public_url}",
) -> None:
    """Serve ``parts`` until told to stop, by the system's clock unless it is given another. ``reread`` reads the
    configuration anew.

    Raises an :class:`OperatorError` if it can't begin.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    structlog.configure(cache_logger_on_first_use=True)  # a line that is not written then costs nothing
    listener = listen(settings.http.host, settings.http.port)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, folder, parts, listener, add_routes, clock, reread, announce))
    finally:
        listener.close()


async def _serve(
    settings: Settings,
    folder: Path,
    parts: Parts,
    listener: socket.socket,
    add_routes: AddRoutes | None,
    clock: HostClock | None,
    reread: Reread | None,
    announce: Announce,
) -> None:
    telemetry = settings.telemetry
    tracing = tracing_of(telemetry.otlp_endpoint, os.environ, signal_metadata=telemetry.signal_metadata)
    service = wire(settings, folder, clock, parts=parts, tracing=tracing, reread=reread)
    app = build_app(service)
    if add_routes is not None:
        add_routes(app, service)
    limits = limits_of(settings.http, _raise_descriptors())
    connections = Connections(limits, service.scrape.metrics.request_refused)
    connections.knows = service.keys.knows
    server = _Server(uvicorn_config(app, connections), service, connections, announce)
    await server.serve(sockets=[listener])
    if server.failure is not None:
        raise server.failure


def uvicorn_config(app: ASGIApp, connections: Connections) -> uvicorn.Config:
    """How uvicorn serves ``app``."""
    return uvicorn.Config(
        watched(app),
        http=protocol_for(connections),
        timeout_keep_alive=ceil(connections.limits.idle) + 1,  # bot/front/protocol.py looks at it before
        ws="none",
        log_config=None,
        log_level="error",  # it warns of each request that is no HTTP, and those are counted
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who calls is known by key and signature, never by address
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        lifespan="off",  # see _Server
    )


def _write_to_nobody(streams: Iterable[TextIO]) -> None:
    """What is still printed can't be read any more, and must not fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(null, stream.fileno())
    os.close(null)


def limits_of(http: Http, descriptors: int) -> Limits:
    """What connections may take of a process that may open so many ``descriptors``."""
    return Limits(
        most=connections_within(descriptors, http.max_connections),
        per_address=http.max_strangers,
        head=http.head_seconds,
        body=http.body_seconds,
        idle=http.idle_seconds,
        bodies=http.body_memory_mib * 1024 * 1024,
    )


def _raise_descriptors() -> int:
    """As many as this process is allowed; a shell often gives a process 1,024 of them, although it may have more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(OSError, ValueError):  # some systems have a lower limit of their own
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def listen(host: str, port: int) -> socket.socket:
    """Bind before anything else begins, so that a port in use is one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio asks which it is: no Nagle
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _IN_THE_KERNEL)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _IN_THE_KERNEL)
    try:
        listener.bind((host, port))
    except OSError as failure:
        listener.close()
        raise ConfigError(f"http: {host}:{port} can't be listened on: {failure.strerror}.") from None
    return listener
