"""HTTP to the server: retries passing failures (a restart, a lost connection), and raises for others.

Generated from ``transport.py`` by ``python sdk/generate_sync.py``: change that file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx

from handraise.exchange import (
    PASSING,
    SHORT_POLL_SECONDS,
    Patience,
    Unreachable,
    WaitLimit,
    accepted,
    client_options,
    origin,
)


class SyncTransport:
    """One server, called with one key."""

    def __init__(self, url: str, api_key: str, patience_seconds: float) -> None:
        self.patience = patience_seconds
        self.http = httpx.Client(**client_options(url, api_key))

    def close(self) -> None:
        self.http.close()

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        idempotency_key: str | None = None,
        *,
        params: Mapping[str, str | int] | None = None,
        version: int | None = None,
        within: float | None = None,
    ) -> bytes:
        """The response's body. Repeats after passing failures; raises :class:`ServerUnavailable` once patience is over,
        or after ``within`` seconds: no try takes longer either.

        A POST is repeated too: the ``idempotency_key``, or the ``version`` that it is made for, keeps it from happening
        twice.
        """
        headers = {} if body is None else {"Content-Type": "application/json"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if version is not None:
            headers["If-Match"] = str(version)
        patience = Patience(origin(self.http.base_url), self.patience if within is None else within)
        timeout = None if within is None else httpx.Timeout(within)
        while True:
            try:
                response = self._try(method, path, content=body, headers=headers, params=params, timeout=timeout)
            except Unreachable as failure:
                pause = patience.pause_after(failure)
            else:
                patience.over()
                return response.content
            time.sleep(pause)

    def poll(self, path: str, limit: WaitLimit, params: Mapping[str, str] | None = None) -> bytes:
        """Ask again and again until there is an event; also waits for a server that is away.

        Raises ``TimeoutError`` once ``limit`` is over.
        """
        patience = Patience(origin(self.http.base_url), None)
        while True:
            seconds, timeout = limit.poll()
            asked = time.monotonic()
            try:
                response = self._try(
                    "GET", path, params={**(params or {}), "timeout_seconds": seconds}, timeout=timeout
                )
            except Unreachable as failure:
                pause = 0.0 if limit.is_over else patience.pause_after(failure)
            else:
                if response.status_code != httpx.codes.NO_CONTENT:
                    patience.over()
                    return response.content
                pause = patience.pause_after_empty(time.monotonic() - asked < SHORT_POLL_SECONDS)
            time.sleep(limit.bounded(pause))

    def _try(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        timeout: httpx.Timeout | None = None,
    ) -> httpx.Response:
        timeout = self.http.timeout if timeout is None else timeout
        try:
            response = self.http.request(method, path, content=content, headers=headers, params=params, timeout=timeout)
        except PASSING as failure:
            raise Unreachable.because(failure) from failure
        return accepted(response)
