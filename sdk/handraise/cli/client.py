"""A small client of the API for the command line. A refusal is one line and an exit status, 1 unless the command
sets another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import typer

from handraise.cli.terminal import one_line, warn

if TYPE_CHECKING:
    import httpx  # takes longer than all the rest: imported for a request alone

_LONGEST_WAIT = 55
_BETWEEN_TRIES = 1.0
_AWAY = 2
_DENIED = "already_denied"
_UNFIT = "invalid_answer"
_VALUE = "value."


@dataclass(frozen=True, slots=True)
class RefusedFields:
    """A form that does not fit. ``by_name`` says what is wrong in each field; empty if no field alone is."""

    message: str
    by_name: dict[str, str]

    def stop(self) -> NoReturn:
        stop(self.message, 1)


class Client:
    """Talks to ``HANDRAISE_URL`` (default: this machine) with ``HANDRAISE_API_KEY``."""

    def __init__(self, refused: int = 1) -> None:
        self._refused = refused
        url = os.environ.get("HANDRAISE_URL", "http://127.0.0.1:8080")
        key = os.environ.get("HANDRAISE_API_KEY")
        if not key:
            stop("set HANDRAISE_API_KEY to your key", 2)
        import httpx

        self.url = url
        self._http = httpx.Client(base_url=url, headers={"X-API-Key": key or ""}, timeout=_LONGEST_WAIT + 10)

    def get(self, path: str, query: dict[str, Any] | None = None) -> Any:
        return self._read(self._send("GET", path, params=query))

    def raw(self, path: str) -> bytes:
        """The body of a reply that is not JSON."""
        response = self._send("GET", path)
        if not response.is_success:
            stop(_refusal(response), self._refused)
        return response.content

    def post(
        self, path: str, body: dict[str, Any] | None = None, *, key: str | None = None, patience: float = 0
    ) -> Any:
        """``key`` is sent as ``Idempotency-Key``; a request that has none must not be repeated with ``patience``."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._read(self._send("POST", path, patience, json=body, headers=headers))

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        """The reply to a form's answer, or :class:`RefusedFields`. Any other refusal ends the command."""
        response = self._send("POST", path, json=body)
        if response.status_code != 422 or (detail := _detail(response)).get("error") != _UNFIT:
            return self._read(response)
        wrong = {one["path"].removeprefix(_VALUE): one["message"] for one in detail.get("fields") or []}
        return RefusedFields(_refusal(response), wrong)

    def delete(self, path: str) -> Any:
        return self._read(self._send("DELETE", path))

    def find(self, reference: str) -> Any:
        """The suspension with this id or ref."""
        if not reference.upper().startswith("HR-"):
            return self.get(f"/v1/suspensions/{part(reference)}")
        items = self.get("/v1/suspensions", {"q": reference})["items"]
        match = next((item for item in items if item["ref"] == reference.upper()), None)
        if match is None:
            stop(f"there is no question {reference}", 1)
        return match

    def wait(self, suspension_id: str, patience: float = 0) -> Any:
        """The suspension once it has ended, however long that takes. The service may be away for ``patience`` seconds
        at a time."""
        while True:
            path = f"/v1/suspensions/{suspension_id}/wait"
            response = self._send("GET", path, patience, params={"timeout_seconds": _LONGEST_WAIT})
            if response.status_code != 204:
                return self._read(response)

    def try_post(self, path: str, body: dict[str, Any], seconds: float) -> str | None:
        """Post once, and return what went wrong, in place of ending the command."""
        import httpx

        try:
            response = self._http.post(path, json=body, timeout=seconds)
        except httpx.HTTPError as failure:
            return type(failure).__name__
        return None if response.is_success else _refusal(response)

    def _send(self, method: str, path: str, patience: float = 0, **options: Any) -> httpx.Response:
        import httpx

        gives_up_at = time.monotonic() + patience
        while True:
            try:
                response = self._http.request(method, path, **options)
                if response.status_code < 500 or time.monotonic() >= gives_up_at:
                    return response
            except httpx.HTTPError as failure:
                if time.monotonic() >= gives_up_at:
                    stop(f"{self._http.base_url} does not answer ({type(failure).__name__})", _AWAY)
            time.sleep(_BETWEEN_TRIES)

    @contextmanager
    def lines(self, path: str, query: dict[str, Any]) -> Iterator[Iterator[str]]:
        """A reply that is read as it comes, line by line."""
        import httpx

        try:
            with self._http.stream("GET", path, params=query) as response:
                if not response.is_success:
                    response.read()
                    self._read(response)
                yield response.iter_lines()
        except httpx.HTTPError as failure:
            stop(f"{self._http.base_url} broke off ({type(failure).__name__})", _AWAY)

    def _read(self, response: httpx.Response) -> Any:
        if not response.is_success:
            stop(_refusal(response), _AWAY if response.status_code >= 500 else self._refused, _several(response))
        try:
            return response.json()
        except ValueError:
            stop(f"{self._http.base_url} answers with something else than JSON: is it Handraise?", 2)


def part(text: str) -> str:
    """``text`` as one part of a path."""
    return quote(text, safe="")


def _refusal(response: httpx.Response) -> str:
    try:
        detail = response.json()["detail"]
        reason = detail["reason"] if detail["error"] == _DENIED else None
        why = f" Reason: {one_line(str(reason), 400)}" if reason else ""
        return f"{detail['message']} ({detail['error']}){why}"
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"


def _detail(response: httpx.Response) -> dict[str, Any]:
    """The error envelope; empty if it is none."""
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return {}
    return detail if isinstance(detail, dict) else {}


def _several(response: httpx.Response) -> list[str]:
    """The errors of the fields, if there is more than one: a single one is the message."""
    try:
        fields = response.json()["detail"].get("fields", [])
        lines = [f"{field['path']}: {field['message']}" for field in fields]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return lines if len(lines) > 1 else []


def stop(text: str, status: int, more: Sequence[str] = ()) -> NoReturn:
    """Print in one line why it ends here, and ``more`` lines below it."""
    warn(f"handraise: {text}")
    for line in more:
        warn(f"  {line}")
    raise typer.Exit(status)
