"""A small client of the API for the command line; refusals are one line and exit status 1."""

from __future__ import annotations

import os
import sys
from typing import Any

import httpx
import typer

_LONGEST_WAIT = 55


class Client:
    """Talks to ``HANDRAISE_URL`` (default: this machine) with ``HANDRAISE_API_KEY``."""

    def __init__(self) -> None:
        url = os.environ.get("HANDRAISE_URL", "http://127.0.0.1:8080")
        key = os.environ.get("HANDRAISE_API_KEY")
        if not key:
            _stop("set HANDRAISE_API_KEY to your key", 2)
        self._http = httpx.Client(base_url=url, headers={"X-API-Key": key or ""}, timeout=_LONGEST_WAIT + 10)

    def get(self, path: str, query: dict[str, Any] | None = None) -> Any:
        return self._read(self._send("GET", path, params=query))

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._read(self._send("POST", path, json=body))

    def delete(self, path: str) -> Any:
        return self._read(self._send("DELETE", path))

    def find(self, reference: str) -> Any:
        """The suspension with this id or ref."""
        if not reference.upper().startswith("HR-"):
            return self.get(f"/v1/suspensions/{reference}")
        items = self.get("/v1/suspensions", {"q": reference})["items"]
        match = next((item for item in items if item["ref"] == reference.upper()), None)
        if match is None:
            _stop(f"there is no question {reference}", 1)
        return match

    def wait(self, suspension_id: str) -> Any:
        """The suspension once it has ended, however long that takes."""
        while True:
            response = self._send("GET", f"/v1/suspensions/{suspension_id}/wait", params={"timeout_seconds": 55})
            if response.status_code != httpx.codes.NO_CONTENT:
                return self._read(response)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **options)
        except httpx.HTTPError as failure:
            _stop(f"{self._http.base_url} does not answer ({type(failure).__name__})", 2)
            raise

    @staticmethod
    def _read(response: httpx.Response) -> Any:
        if response.is_success:
            return response.json()
        try:
            detail = response.json()["detail"]
            text = f"{detail['message']} ({detail['error']})"
        except (ValueError, KeyError, TypeError):
            text = f"status {response.status_code}"
        _stop(text, 1)
        raise AssertionError


def _stop(text: str, status: int) -> None:
    print(f"handraise: {text}", file=sys.stderr)
    raise typer.Exit(status)
