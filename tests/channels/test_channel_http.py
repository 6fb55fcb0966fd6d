"""One table says what a response or a failure means; nothing is sent twice that might count twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from channels.http import CAUGHT, Repeats, answered, failed, retry_after
from core.ports import Ambiguous, Deferred, Delivered, Refused

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
RECEIPT = {"id": "m1"}


def outcome(status: int, repeats: Repeats = Repeats.COUNT, **headers: str) -> object:
    return answered(httpx.Response(status, headers=headers), RECEIPT, repeats, NOW)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_a_2xx_is_delivered(status: int) -> None:
    assert outcome(status) == Delivered(RECEIPT)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422])
def test_a_redirect_or_a_complaint_is_refused_for_good(status: int) -> None:
    assert outcome(status, Repeats.COLLAPSE) == Refused(f"http_{status}")


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 520])
def test_a_server_in_trouble_may_have_taken_it(status: int) -> None:
    assert outcome(status) == Ambiguous(f"http_{status}")
    assert outcome(status, Repeats.COLLAPSE) == Deferred(f"http_{status}")


def test_too_many_requests_was_not_taken_and_says_when_to_come_again() -> None:
    assert outcome(429) == Deferred("http_429")
    assert outcome(429, **{"retry-after": "30"}) == Deferred("http_429", NOW + timedelta(seconds=30))


@pytest.mark.parametrize(
    "error",
    [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow"), httpx.PoolTimeout("busy")],
)
def test_what_fails_before_the_request_is_written_was_not_sent(error: Exception) -> None:
    assert isinstance(failed(error, Repeats.COUNT), Deferred)


@pytest.mark.parametrize(
    "error",
    [
        httpx.ReadTimeout("slow"),
        httpx.WriteTimeout("slow"),
        httpx.ReadError("reset"),
        httpx.WriteError("reset"),
        httpx.RemoteProtocolError("closed"),
        TimeoutError(),
    ],
)
def test_what_fails_afterwards_is_in_doubt(error: Exception) -> None:
    assert isinstance(failed(error, Repeats.COUNT), Ambiguous)
    assert isinstance(failed(error, Repeats.COLLAPSE), Deferred)


@pytest.mark.parametrize(
    "error", [httpx.InvalidURL("bad"), httpx.UnsupportedProtocol("ftp"), httpx.LocalProtocolError("bad header")]
)
def test_a_request_that_can_not_be_made_is_refused(error: Exception) -> None:
    assert isinstance(failed(error, Repeats.COUNT), Refused)


def test_everything_that_the_wire_can_do_is_in_the_table() -> None:
    assert all(issubclass(kind, CAUGHT) for kind in _leaves(httpx.TransportError))


def _leaves(kind: type) -> list[type]:
    return [leaf for sub in kind.__subclasses__() for leaf in _leaves(sub)] or [kind]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("Sat, 21 Nov 2026 09:01:00 GMT", 60),
        ("Sat, 21 Nov 2026 08:00:00 GMT", 0),
        ("999999999999999999999", 3600),
        ("Fri, 21 Nov 2036 09:00:00 GMT", 3600),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_never_more_than_an_hour(value: str, seconds: int | None) -> None:
    until = retry_after({"retry-after": value}, NOW)

    assert until == (None if seconds is None else NOW + timedelta(seconds=seconds))
