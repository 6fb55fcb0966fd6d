"""What a web page in the same browser can't send to a service of one person on this machine."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from bot.front.this_machine import is_own

HOST = "127.0.0.1:8080"


@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("GET", {}),
        ("POST", {}),
        ("POST", {"host": "localhost:8080"}),
        ("POST", {"host": "[::1]:8080"}),
        ("POST", {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}),
        ("POST", {"origin": "null", "sec-fetch-site": "same-origin"}),
        ("GET", {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}),
    ],
)
def test_programs_here_and_pages_of_ours_are_let_in(method: str, sent: dict[str, str]) -> None:
    assert is_own(method, Headers({"host": HOST, **sent}))


@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("GET", {"host": "evil.example:8080"}),
        ("GET", {"host": "127.0.0.1.evil.example:8080"}),
        ("GET", {"host": "localhost.evil.example"}),
        ("GET", {"host": ""}),
        ("GET", {"host": "[::1"}),
        ("GET", {"host": "0.0.0.0:8080"}),
        ("GET", {"host": "evil.example@127.0.0.1:8080", "origin": "http://evil.example"}),
        ("POST", {"origin": "https://evil.example"}),
        ("POST", {"origin": "http://127.0.0.1:3000"}),
        ("POST", {"origin": "http://localhost:8080"}),
        ("POST", {"origin": "null"}),
        ("POST", {"origin": "null", "sec-fetch-site": "cross-site"}),
        ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}),
        ("POST", {"sec-fetch-site": "same-site"}),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}),
    ],
)
def test_other_sites_and_other_names_are_not(method: str, sent: dict[str, str]) -> None:
    assert not is_own(method, Headers({"host": HOST, **sent}))
