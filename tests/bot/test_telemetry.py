"""Logs that hold nothing of what people wrote, and the metrics by their names (HOUSE.md, "Logs and metrics")."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.logger import get_bolt_logger

from bot.config.settings import LogFormat, LogLevel
from bot.observability.telemetry import HIDDEN, Metrics, set_up_logging

SetUp = Callable[..., io.StringIO]


@pytest.fixture
def set_up() -> Iterator[SetUp]:
    """Set the logs up into a buffer; whatever was there before is put back."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level

    def into_buffer(level: LogLevel = "info", form: LogFormat = "json") -> io.StringIO:
        stream = io.StringIO()
        set_up_logging(level, form, stream)
        return stream

    yield into_buffer
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**before)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_stream_that_takes_no_more_stops_nobody(set_up: SetUp) -> None:
    set_up().close()
    structlog.get_logger("bot").warning("http.refused", crowded=3)


def test_json_lines_have_the_event_its_fields_and_a_utc_time(set_up: SetUp) -> None:
    stream = set_up()
    structlog.get_logger("channels.slack").info("slack.post_deferred", delivery="d1", tries=2, until=None)
    (line,) = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "slack.post_deferred",
        "level": "info",
        "logger": "channels.slack",
        "delivery": "d1",
        "tries": 2,
        "until": None,
    }


def test_text_is_one_plain_line_where_there_is_no_terminal(set_up: SetUp) -> None:
    stream = set_up(form="text")
    structlog.get_logger("core").warning("relay.settling_failed", channel="slack")
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("[warning  ] relay.settling_failed [core] channel=slack")
    assert "\x1b" not in line


def test_the_level_holds_for_us_and_for_the_libraries(set_up: SetUp) -> None:
    stream = set_up(level="warning")
    structlog.get_logger("core").info("relay.tried")
    logging.getLogger("uvicorn.error").info("Started server process")
    structlog.get_logger("core").error("relay.channel_failed")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    assert [line["event"] for line in lines(stream)] == ["relay.channel_failed", "Invalid HTTP request received."]


PEOPLES_WORDS = ["question", "context", "answer", "value", "choices", "text", "body", "payload", "to", "address"]
KEYS = ["token", "api_key", "secret", "password", "bot_token", "signing_secret", "webhook_secrets", "routing_key"]


@pytest.mark.parametrize("field", [*PEOPLES_WORDS, *KEYS, "suspension_id"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_people_wrote_and_what_opens_doors_is_hidden(set_up: SetUp, field: str, form: str) -> None:
    stream = set_up(form=form)
    structlog.get_logger("core").info("relay.tried", **{field: "hunter2"}, nested={"rows": [{field: "hunter2"}]})
    assert "hunter2" not in stream.getvalue()
    assert HIDDEN in stream.getvalue()


@pytest.mark.parametrize("field", ["reason", "channel", "delivery", "suspension", "ref", "outcome", "dedup_key"])
def test_what_operators_need_is_shown(set_up: SetUp, field: str) -> None:
    stream = set_up()
    structlog.get_logger("core").info("relay.tried", **{field: "HR-7F3K"})
    assert lines(stream)[0][field] == "HR-7F3K"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('1.2.3.4:5 - "GET /a/k2x7 HTTP/1.1" 200', f'1.2.3.4:5 - "GET /a/{HIDDEN} HTTP/1.1" 200'),
        ('1.2.3.4:5 - "POST /a/k2x7?c=1 HTTP/1.1" 303', f'1.2.3.4:5 - "POST /a/{HIDDEN}?{HIDDEN} HTTP/1.1" 303'),
        ('"GET /signin/k2x7 HTTP/1.1" 200', f'"GET /signin/{HIDDEN} HTTP/1.1" 200'),
        ('"GET /v1/suspensions?q=refund HTTP/1.1" 200', f'"GET /v1/suspensions?{HIDDEN} HTTP/1.1" 200'),
        ('"GET /api/v1/intents HTTP/1.1" 200', '"GET /api/v1/intents HTTP/1.1" 200'),
        ("550 <bob@example.com> unknown", f"550 <{HIDDEN}> unknown"),
        ("can't reach postgresql+psycopg://u:p@db:5432/h", f"can't reach {HIDDEN}"),
        ("token xoxb-12-ab refused", f"token {HIDDEN} refused"),
        ("signed with whsec_MfKQ9r8GKYqr+/==", f"signed with {HIDDEN}"),
        ("why? because", "why? because"),
    ],
)
def test_secrets_and_addresses_in_a_librarys_text_are_masked(set_up: SetUp, said: str, shown: str) -> None:
    stream = set_up()
    logging.getLogger("uvicorn.access").info("%s", said)
    assert lines(stream)[0]["event"] == shown


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_shows_where_and_of_what_kind_and_not_what_it_said(set_up: SetUp, form: LogFormat) -> None:
    stream = set_up(form=form)
    said = "".join(("hunt", "er2"))  # a traceback shows source lines
    try:
        try:
            raise KeyError(said)
        except KeyError as cause:
            raise ValueError(f"can't reach {said}") from cause
    except ValueError:
        structlog.get_logger("core").exception("relay.channel_failed")
        logging.getLogger("aiosmtplib").exception("send failed")
    shown = stream.getvalue()
    assert shown.count("test_telemetry.py") == 4
    assert shown.count("KeyError") >= 2
    assert shown.count("ValueError") >= 2
    assert said not in shown


def test_a_group_of_exceptions_names_each_and_says_what_none_said(set_up: SetUp) -> None:
    stream = set_up()
    said = "".join(("hunt", "er2"))
    try:
        raise ExceptionGroup(said, [ValueError(said), OSError(said)])
    except ExceptionGroup:
        structlog.get_logger("core").exception("work.look_failed")
    (line,) = lines(stream)
    assert line["exception"].splitlines()[-1] == "OSError"
    assert "ValueError" in line["exception"]
    assert said not in stream.getvalue()


def test_exceptions_that_are_each_others_cause_are_told_once(set_up: SetUp) -> None:
    stream = set_up()
    try:
        first, second = ValueError(), OSError()
        first.__cause__, second.__cause__ = second, first
        raise first
    except ValueError:
        structlog.get_logger("core").exception("work.look_failed")
    assert lines(stream)[0]["exception"].count("Traceback") == 2


async def test_what_asyncio_tells_of_a_task_that_failed_holds_nothing_of_it(set_up: SetUp) -> None:
    stream = set_up()

    async def fail() -> None:
        raise ValueError("".join(("hunt", "er2")))

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    gc.collect()
    (line,) = lines(stream)
    assert (line["event"], line["logger"]) == ("Task exception was never retrieved", "asyncio")
    assert "ValueError" in line["exception"]
    assert "hunter2" not in stream.getvalue()


def test_slack_bolt_does_not_log_the_body_of_a_badly_signed_request(set_up: SetUp) -> None:
    stream = set_up(level="debug")
    bolt = get_bolt_logger(AsyncApp)  # takes the root's level for its own
    bolt.info("Invalid request signature detected (body: hunter2)")
    bolt.warning("Unhandled request (hunter2)")
    logging.getLogger("sqlalchemy.engine.Engine").info("INSERT hunter2")
    logging.getLogger("httpx").info("HTTP Request: POST https://agent.example/hunter2")
    logging.getLogger("mail.log").info("sender: hunter2")
    bolt.error("Failed to run a listener")
    assert [line["event"] for line in lines(stream)] == ["Failed to run a listener"]


# --- Metrics ------------------------------------------------------------------------------------------------------


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """``(name, label value, …)`` → value."""
    text = metrics.exposition()[0].decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_metric_is_there_from_the_start() -> None:
    body, content_type = Metrics().exposition()
    names = {family.name for family in text_string_to_metric_families(body.decode())}
    assert content_type.startswith("text/plain")
    assert {name for name in names if not name.endswith("_created")} == {
        "suspensions_open",
        "suspension_attempts",
        "suspension_resolutions",
        "suspension_answer_seconds",
        "relay_tries",
        "relay_lag_seconds",
        "work_lag_seconds",
        "callbacks_dead",
        "notices_paused",
        "service_ready",
        "inbound_connected",
        "database_connected",
        "database_disk_free_bytes",
        "mail_received",
        "mail_quarantined",
        "http_refused",
    }
    found = samples(Metrics())
    assert found["suspension_attempts_total", "pagerduty"] == 0
    assert found["suspension_resolutions_total", "cancelled"] == 0
    assert found["relay_tries_total", "agents", "ambiguous"] == 0


def test_what_happens_is_counted() -> None:
    metrics = Metrics()
    metrics.open(3)
    metrics.attempt("slack")
    metrics.attempt("slack")
    metrics.try_("email", "deferred")
    metrics.resolution("responded", 42.0)
    metrics.resolution("expired", 3600.0)
    metrics.relay_lag(0.2)
    metrics.work_lag(-1.0)  # a clock that was set back is not late
    metrics.inbound("slack", is_connected=False)
    found = samples(metrics)
    assert found["inbound_connected", "slack"] == 0
    assert (found["suspensions_open",], found["database_connected",]) == (3, 1)
    assert found["suspension_attempts_total", "slack"] == 2
    assert found["relay_tries_total", "email", "deferred"] == 1
    assert found["suspension_resolutions_total", "responded"] == 1
    assert found["suspension_resolutions_total", "expired"] == 1
    assert (found["suspension_answer_seconds_count",], found["suspension_answer_seconds_sum",]) == (1, 42.0)
    assert found["relay_lag_seconds_sum",] == 0.2
    assert found["work_lag_seconds_sum",] == 0.0


def test_a_label_never_comes_from_outside() -> None:
    metrics = Metrics()
    for number in range(100):
        metrics.attempt(f"channel-{number}")
        metrics.try_("slack", f"outcome-{number}")
    found = samples(metrics)
    assert found["suspension_attempts_total", "other"] == 100
    assert found["relay_tries_total", "slack", "other"] == 100
    assert not any("channel-1" in key for key in found)


def test_two_services_in_one_process_count_for_themselves() -> None:
    first, second = Metrics(), Metrics()
    first.attempt("slack")
    assert samples(second)["suspension_attempts_total", "slack"] == 0
