"""OpenTelemetry: the span that asked and the span that resumes are linked, over processes and days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from bot.observability.tracing_otel import OtelTracing
from tests.world import World, running

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Spans:
    """What one process exports."""

    def __init__(self, *, signal_metadata: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = OtelTracing(provider, signal_metadata=signal_metadata)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = self.named(name)
        return span

    @property
    def everything(self) -> str:
        return "".join(span.to_json() for span in self._exporter.get_finished_spans())


@pytest.fixture
def spans() -> Spans:
    return Spans()


def links(span: ReadableSpan) -> Sequence[tuple[int, int]]:
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def identity(span: ReadableSpan) -> tuple[int, int]:
    return span.context.trace_id, span.context.span_id


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


IDS = {"signal_id": "refund-9", "invocation_id": "inv-1", "correlation_id": "corr-1"}


async def suspend(world: World, resume: Mapping[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    body = {
        "question": "Refund order 12345?",
        "response_type": "confirm",
        "context": {"iban": "hunter2"},
        "resume": {"callback_url": world.agent.url, "state": {"cart": "hunter2"}, **(resume or {})},
    }
    response = await world.call("POST", "/v1/suspensions", json=body, headers=headers)
    assert response.status_code == 201
    await world.settle()
    asked: dict[str, Any] = response.json()
    return asked


async def test_the_span_that_resumes_is_linked_to_the_span_that_asked(
    tmp_path: Path, sqlite_url: str, spans: Spans
) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        asked = await suspend(world)
        await world.answer(asked, "yes")
        await world.settle()
        [told] = world.agent.told_of(asked)
    request, resume = spans.one("suspension.request"), spans.one("suspension.resume")
    assert links(resume) == [identity(request)]
    assert resume.parent is None
    assert resume.context.trace_id != request.context.trace_id
    trace_id, span_id = identity(resume)
    assert told.headers["traceparent"].startswith(f"00-{trace_id:032x}-{span_id:016x}-")


async def test_the_link_holds_after_a_restart_and_a_day(tmp_path: Path, database_url: str, spans: Spans) -> None:
    before = Spans()
    async with running(tmp_path, database_url, tracing=before.tracing) as world:
        asked = await suspend(world)
        clock = world.clock
    async with running(tmp_path, database_url, clock, tracing=spans.tracing) as world:
        await world.advance(days=1)
        await world.answer(asked, "yes")
        await world.settle()
    assert links(spans.named("suspension.resume")[0]) == [identity(before.one("suspension.request"))]


async def test_the_agents_own_trace_is_the_parent(tmp_path: Path, sqlite_url: str, spans: Spans) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        await suspend(world, traceparent=CALLER)
    request = spans.one("suspension.request")
    assert request.parent is not None
    assert f"00-{request.parent.trace_id:032x}-{request.parent.span_id:016x}-01" == CALLER
    assert request.context.trace_id == request.parent.trace_id


@pytest.mark.parametrize("header", ["", "garbage", "00-0-0-01", "ff-" + "a" * 32 + "-" + "b" * 16 + "-01", "0" * 5000])
async def test_a_traceparent_that_is_none_is_as_good_as_absent(
    tmp_path: Path, sqlite_url: str, spans: Spans, header: str
) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        await suspend(world, traceparent=header)
    assert spans.one("suspension.request").parent is None


async def test_every_try_is_a_span_and_says_how_it_went(tmp_path: Path, sqlite_url: str, spans: Spans) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        world.agent.answers += [503]
        asked = await suspend(world)
        await world.answer(asked, "yes")
        await world.advance(seconds=5)
    first, second = spans.named("suspension.resume")
    shared = {"handraise.ref": asked["ref"], "handraise.channel": "api", "handraise.resolution": "responded"}
    failed = {"handraise.tries": 1, "handraise.outcome": "deferred", "error.type": "http_503"}
    assert attributes(first) == shared | failed
    assert attributes(second) == shared | {"handraise.tries": 2, "handraise.outcome": "delivered"}
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert links(first) == links(second) == [identity(spans.one("suspension.request"))]


async def test_a_request_that_is_refused_has_a_span_with_its_code(
    tmp_path: Path, sqlite_url: str, spans: Spans
) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        body = {"question": "Deploy hunter2?", "response_type": "confirm", "channel_hint": "fax"}
        assert (await world.call("POST", "/v1/suspensions", json=body)).status_code == 422
    assert attributes(spans.one("suspension.request")) == {"error.type": "unknown_channel"}


async def test_an_intent_that_is_suspended_has_its_span_too(tmp_path: Path, sqlite_url: str, spans: Spans) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        intent = await world.active_intent()
        body = {"question": "Deploy?", "response_type": "confirm"}
        asked = await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json=body)
    about = {"handraise.ref": asked.json()["ref"], "handraise.channel": "slack"}
    assert attributes(spans.one("suspension.request")) == about


async def test_spans_hold_nothing_of_what_was_asked_and_answered(tmp_path: Path, sqlite_url: str, spans: Spans) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        asked = await suspend(world, IDS | {"signal_metadata": {"pool": "hunter2"}})
        await world.answer(asked, "yes", metadata={"reason": "hunter2"})
        await world.settle()
        url = world.agent.url
    for secret in ("hunter2", "12345", "alice", "refund-agent", asked["suspension_id"], asked["intent_id"], url):
        assert secret not in spans.everything


async def test_the_spans_of_a_suspension_carry_the_ids_of_openarmature(
    tmp_path: Path, sqlite_url: str, spans: Spans
) -> None:
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        asked = await suspend(world, IDS | {"signal_metadata": {"kind": "approval"}})
        await world.answer(asked, "yes")
        await world.settle()
    request, resume = spans.one("suspension.request"), spans.one("suspension.resume")
    ids = {
        "openarmature.suspension.signal_id": "refund-9",
        "openarmature.invocation_id": "inv-1",
        "openarmature.correlation_id": "corr-1",
    }
    theirs = [
        {name: value for name, value in attributes(span).items() if name.startswith("openarmature.")}
        for span in (request, resume)
    ]
    assert theirs == [ids | {"openarmature.outcome": "suspended"}, ids]
    assert request.status.status_code is StatusCode.OK
    assert links(resume) == [identity(request)]


async def test_what_is_attached_to_a_signal_is_in_the_span_that_asked_if_it_is_wanted(
    tmp_path: Path, sqlite_url: str
) -> None:
    spans = Spans(signal_metadata=True)
    metadata = {"kind": "approval", "approver": {"pool": "finance", "level": 2}, "tags": ["a"], "note": None}
    async with running(tmp_path, sqlite_url, tracing=spans.tracing) as world:
        asked = await suspend(world, IDS | {"signal_metadata": metadata})
        await world.answer(asked, "yes")
        await world.settle()
    start = "openarmature.suspension.metadata."
    request, resume = (attributes(spans.one(f"suspension.{name}")) for name in ("request", "resume"))
    assert {name.removeprefix(start): value for name, value in request.items() if name.startswith(start)} == {
        "kind": "approval",
        "approver.pool": "finance",
        "approver.level": 2,
    }
    assert start not in "".join(resume)


async def test_without_tracing_a_callback_has_no_traceparent(world: World) -> None:
    asked = await suspend(world, traceparent=CALLER)
    await world.answer(asked, "yes")
    await world.settle()
    [told] = world.agent.told_of(asked)
    assert "traceparent" not in told.headers


async def test_a_question_from_before_tracing_was_set_up_is_resumed_without_a_link(
    tmp_path: Path, sqlite_url: str, spans: Spans
) -> None:
    async with running(tmp_path, sqlite_url) as world:
        asked, clock = await suspend(world), world.clock
    async with running(tmp_path, sqlite_url, clock, tracing=spans.tracing) as world:
        await world.answer(asked, "yes")
        await world.settle()
    assert links(spans.named("suspension.resume")[0]) == []
