"""Runs the service in this process: uvicorn over the wired application, until SIGTERM or SIGINT.

Source: API.md §9.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import uvicorn
import uvloop

from bot.app import build_app
from bot.config import Settings
from bot.roles import EVERYTHING, Parts
from bot.tracing import tracing_of
from bot.wiring import Service, wire
from core.errors import ConfigError

_STOPPING = (signal.SIGTERM, signal.SIGINT)
_GRACE_SECONDS = 3
"""How long open requests get after the signal; the relay has its own ten seconds after that."""
_SWITCH_SECONDS = 0.001
"""A database thread gives the interpreter up at every statement, and waits this long to get it back from a busy event
loop. With Python's five milliseconds a fifth fewer questions get through."""


class _Server(uvicorn.Server):
    """Starts and stops the service around uvicorn's own work, so that what keeps it from starting reaches the caller:
    in the lifespan uvicorn would log a trace of it, and end the process with a status of its own.

    Tells waiting agents and streams that it is closing, so that they do not hold it up; ends with status 0.
    """

    def __init__(self, config: uvicorn.Config, service: Service, announce: str) -> None:
        super().__init__(config)
        self._service = service
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.start()
        await super().startup(sockets)
        gc.freeze()  # what stays for good; each full collection that looks through it holds every request up by 0.1 s
        print(self._announce, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if not self.force_exit:
            await self._service.stop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn's own would raise the signal once more at the end, and the process would die of it."""
        loop = asyncio.get_running_loop()
        for number in _STOPPING:
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in _STOPPING:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self._service.services.closing.set()
        self.force_exit = self.should_exit  # asked twice: at once
        self.should_exit = True


def serve(settings: Settings, folder: Path, parts: Parts = EVERYTHING) -> None:
    """Serve ``parts`` until told to stop. Raises an :class:`OperatorError` where it can't begin."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    listener = _listen(settings.http.host, settings.http.port)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, folder, parts, listener))
    finally:
        listener.close()


async def _serve(settings: Settings, folder: Path, parts: Parts, listener: socket.socket) -> None:
    tracing = tracing_of(settings.telemetry.otlp_endpoint, os.environ)
    service = wire(settings, folder, parts=parts, tracing=tracing)
    config = uvicorn.Config(
        build_app(service),
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who calls is known by key and signature, never by address
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        lifespan="off",  # see _Server
    )
    await _Server(config, service, f"handraise is ready at {settings.public_url}").serve(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else begins, so that a port in use is one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio asks which it is: no Nagle
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as failure:
        listener.close()
        raise ConfigError(f"http: {host}:{port} can't be listened on: {failure.strerror}.") from None
    return listener
