"""The attributes of OpenArmature's spans: which there are, and what an agent's metadata may do to a span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bot.observability.span_attributes import LONGEST_METADATA, MOST_METADATA, of_resume, of_suspension
from core.domain.suspension import Resume

METADATA = "openarmature.suspension.metadata."


def flattened(metadata: Mapping[str, Any]) -> dict[str, Any]:
    found = of_suspension(Resume(signal_id="s", signal_metadata=metadata), with_metadata=True)
    return {name.removeprefix(METADATA): value for name, value in found.items() if name.startswith(METADATA)}


def test_a_question_that_is_none_of_openarmatures_has_no_attribute_of_theirs() -> None:
    assert of_suspension(Resume(session_id="sess-1", signal_metadata={"a": 1}), with_metadata=True) == {}
    assert of_resume({"signal_id": None, "session_id": "sess-1"}) == {}


def test_an_invocation_without_a_signal_is_told_too() -> None:
    told = {"openarmature.invocation_id": "inv-1", "openarmature.outcome": "suspended"}
    assert of_suspension(Resume(invocation_id="inv-1"), with_metadata=False) == told


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"a": {"b": {"c": "x"}}}, {"a.b.c": "x"}),
        ({"yes": True, "half": 0.5, "two": 2}, {"yes": True, "half": 0.5, "two": 2}),
        ({"list": [1], "null": None, "empty": {}}, {}),
        ({"large": 2**63, "small": -(2**63)}, {"large": "9223372036854775808", "small": -(2**63)}),
        ({"long": "x" * 1000}, {"long": "x" * LONGEST_METADATA}),
        ({"k" * 1000: "x"}, {}),
    ],
)
def test_scalars_are_told_under_their_paths(metadata: dict[str, Any], told: dict[str, Any]) -> None:
    assert flattened(metadata) == told


def test_much_metadata_takes_no_other_attribute_away() -> None:
    metadata = {f"m{number}": number for number in range(1000)}
    found = of_suspension(Resume(signal_id="refund-9", signal_metadata=metadata), with_metadata=True)
    assert len(found) == MOST_METADATA + 2
    assert found["openarmature.suspension.signal_id"] == "refund-9"


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=20,
)


@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_a_collector_can_be_sent_whatever_an_agent_attaches(metadata: dict[str, Any]) -> None:
    told = of_suspension(Resume(signal_id="s", signal_metadata=metadata), with_metadata=True)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("tests").start_as_current_span("suspension.request") as span:
        span.set_attributes(told)
    [sent] = encode_spans(exporter.get_finished_spans()).resource_spans[0].scope_spans[0].spans
    assert {attribute.key for attribute in sent.attributes} == {*told}
