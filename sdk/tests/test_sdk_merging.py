"""Descriptors, payloads over states, schemas of payloads, and sessions in memory (OpenArmature suspension §4, §6)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from handraise import MemorySessionStore, SignalDescriptor, SuspensionResumePayloadInvalid
from handraise.suspension.merging import MOST_KEYWORDS, merged, payload_schema, read, written
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Colour(Enum):
    RED = "red"


class Line(BaseModel):
    sku: str
    count: int = 1


class Order(BaseModel):
    approved: bool = False
    count: int = 0
    audit_log: list[str] = []
    line: Line | None = None
    due: datetime | None = None
    colour: Colour | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    count: int = 0


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = 0


class Named(BaseModel):
    amount: int = Field(0, alias="betrag")


class Node(BaseModel):
    label: str = ""
    next: Node | None = None


# --- Descriptors ------------------------------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=255), st.dictionaries(st.text(), JSON, max_size=4))
def test_metadata_of_any_shape_comes_back_as_it_was(signal_id: str, metadata: dict[str, Any]) -> None:
    descriptor = SignalDescriptor(signal_id, metadata)
    assert (descriptor.signal_id, descriptor.metadata_json()) == (signal_id, metadata)


def test_metadata_may_be_a_model_or_nothing() -> None:
    assert SignalDescriptor("s", Line(sku="a")).metadata_json() == {"sku": "a", "count": 1}
    assert SignalDescriptor("s").metadata_json() is None
    assert SignalDescriptor("s", {}).metadata_json() == {}


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        (("",), ValueError, "signal_id"),
        (("x" * 256,), ValueError, "signal_id"),
        ((5,), TypeError, "signal_id"),
        (("s", ["kind"]), TypeError, "metadata"),
    ],
)
def test_what_can_t_be_a_descriptor_is_refused_by_name(
    arguments: tuple[Any, ...], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        SignalDescriptor(*arguments)


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_metadata_that_json_has_no_form_for_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        SignalDescriptor("s", {"value": value}).metadata_json()


# --- Payloads ---------------------------------------------------------------------------------------------------------


def test_each_field_of_the_payload_stands_in_place_of_the_state_s() -> None:
    state = written(Order(count=2, audit_log=["entry_a"], line=Line(sku="a", count=3)))
    result = merged(Order, state, {"audit_log": ["entry_b"], "line": {"sku": "b"}})
    assert result == Order(count=2, audit_log=["entry_b"], line=Line(sku="b", count=1))  # shallow: not a's count


@pytest.mark.parametrize("field", ["line", "due", "colour"])
def test_a_null_in_the_payload_is_a_value_like_any_other(field: str) -> None:
    state = Order(line=Line(sku="a"), due=datetime(2026, 3, 24, 11, tzinfo=UTC), colour=Colour.RED)
    result = merged(Order, written(state), {field: None})
    assert getattr(result, field) is None
    assert result == state.model_copy(update={field: None})


def test_an_empty_payload_changes_nothing() -> None:
    state = Order(count=2, colour=Colour.RED, due=datetime(2026, 3, 24, 11, tzinfo=UTC))
    assert merged(Order, written(state), {}) == state


@given(st.builds(Order, count=st.integers(), audit_log=st.lists(st.text(max_size=5))))
def test_a_state_is_read_as_it_was_written(state: Order) -> None:
    assert read(Order, json.loads(json.dumps(written(state)))) == state


def test_fields_go_by_their_own_names() -> None:
    state = written(Named(betrag=5))
    assert state == {"amount": 5}
    assert merged(Named, state, {"amount": 7}).amount == 7


@pytest.mark.parametrize("payload", [None, "approve", ["approve"], 5])
def test_what_is_no_object_can_t_be_laid_over_a_state(payload: Any) -> None:
    with pytest.raises(SuspensionResumePayloadInvalid) as refused:
        merged(Order, {}, payload)
    assert refused.value.category == "suspension_resume_payload_invalid"
    assert "approve" not in str(refused.value)


def test_what_does_not_fit_is_refused_by_field_and_without_its_value() -> None:
    with pytest.raises(SuspensionResumePayloadInvalid, match="count") as refused:
        merged(Order, written(Order()), {"count": "a secret"})
    assert "a secret" not in f"{refused.value!r} {refused.value.__context__!r} {refused.value.__cause__!r}"


def test_undeclared_fields_go_by_the_model_s_own_policy() -> None:
    assert merged(Order, {}, {"extra": 1}) == Order()
    assert merged(Open, {}, {"extra": 1}).model_extra == {"extra": 1}
    with pytest.raises(SuspensionResumePayloadInvalid, match="extra"):
        merged(Closed, {}, {"extra": 1})


# --- Schemas ----------------------------------------------------------------------------------------------------------


def test_the_schema_of_payloads_has_the_state_s_types_and_requires_nothing() -> None:
    assert payload_schema(Line) == {
        "type": "object",
        "properties": {
            "sku": {"type": "string"},
            "count": {"type": ["integer", "string"], "pattern": "^[+-]?[0-9]+$"},
        },
    }


def test_of_a_form_only_its_fields_are_accepted() -> None:
    assert payload_schema(Line, ["sku", "note"]) == {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "note": {}},
        "additionalProperties": False,
    }


class Typed(BaseModel):
    count: int = 0
    amount: float = 0
    approved: bool | None = None
    kind: Literal[1, 2] = 1
    code: int | str = 0
    line: Line | None = None


@pytest.mark.slow
@pytest.mark.parametrize("field", ["count", "amount", "approved"])
@given(st.text(max_size=6) | st.sampled_from(["7", "-3", "2.5", "yes", "No", "true", "1", "0", "off", "+4"]))
def test_the_text_that_a_field_takes_is_one_that_its_model_reads(field: str, text: str) -> None:
    pattern = payload_schema(Typed)["properties"][field]["pattern"]
    if re.search(pattern, text) and not text.endswith("\n"):  # Python's $ also stands before a last newline
        merged(Typed, {}, {field: text})


def test_what_is_no_number_and_no_yes_or_no_takes_no_text_for_it() -> None:
    properties = payload_schema(Typed)["properties"]
    assert properties["approved"]["type"] == ["boolean", "null", "string"]
    assert [name for name, part in properties.items() if "pattern" in part] == ["count", "amount", "approved"]


def test_a_strict_model_takes_no_text_for_a_number() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)

        count: int = 0

    assert payload_schema(Strict)["properties"]["count"] == {"type": "integer"}


def test_references_are_written_out_and_a_circle_takes_anything() -> None:
    assert payload_schema(Order)["properties"]["colour"] == {
        "anyOf": [{"enum": ["red"], "type": "string"}, {"type": "null"}]
    }
    inner = payload_schema(Node)["properties"]["next"]["anyOf"][0]["properties"]
    assert "$ref" not in json.dumps(payload_schema(Node))
    assert inner["label"] == {"type": "string"}


def test_what_the_server_reads_otherwise_than_the_model_is_left_out() -> None:
    class Narrow(BaseModel):
        at: datetime
        code: Annotated[str, Field(pattern="^a", description="Of the order.")]
        title: Literal["a", "b"] = "a"

    assert payload_schema(Narrow)["properties"] == {
        "at": {"type": "string"},
        "code": {"type": "string"},
        "title": {"enum": ["a", "b"], "type": "string"},
    }


def test_a_model_that_forbids_more_says_so() -> None:
    assert payload_schema(Closed)["additionalProperties"] is False
    assert "additionalProperties" not in payload_schema(Order)


@pytest.mark.parametrize("count", [MOST_KEYWORDS // 4, MOST_KEYWORDS // 2, MOST_KEYWORDS - 1])
def test_a_schema_never_grows_larger_than_the_server_takes(count: int) -> None:
    fields: dict[str, Any] = {f"field_{number}": (Annotated[int, Field(ge=0, le=9)], 0) for number in range(count)}

    def size(part: Any) -> int:
        return sum(1 + size(value) for value in part.values()) if isinstance(part, dict) else 0

    assert 100 < size(payload_schema(create_model("Wide", **fields))) < 200


def test_of_more_fields_than_the_server_takes_none_is_checked() -> None:
    fields: dict[str, Any] = {f"field_{number}": (int, 0) for number in range(2 * MOST_KEYWORDS)}
    assert payload_schema(create_model("Wide", **fields)) == {"type": "object"}


# --- Sessions ---------------------------------------------------------------------------------------------------------


async def test_sessions_in_memory_are_kept_apart_and_not_shared_with_the_caller() -> None:
    store = MemorySessionStore()
    state: dict[str, Any] = {"counts": [1]}
    await store.save("a", state)
    state["counts"].append(2)
    assert await store.load("b") is None
    loaded = await store.load("a")
    assert loaded == {"counts": [1]}
    assert loaded is not await store.load("a")
