"""What ``needs_approval`` takes and refuses by itself. That people are asked, and what follows: tests/journeys."""

from __future__ import annotations

import inspect
from collections import UserDict, UserList
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from handraise import Handraise, HandraiseSync, needs_approval
from handraise.tool_arguments import CallSignature
from pydantic import BaseModel


class Speed(Enum):
    FAST = "fast"


class Level(IntEnum):
    HIGH = 3


class Order(BaseModel):
    id: str
    day: date


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture
def nobody() -> HandraiseSync:
    """Where nobody listens: whoever asked anything there would be told so."""
    return HandraiseSync("http://127.0.0.1:1", "agent-key-1", patience_seconds=0)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (object(), TypeError, "amount: object has no form in JSON"),
        (b"bytes", TypeError, "amount: bytes"),
        ({1, 2}, TypeError, "amount: set"),
        ({1: "a"}, TypeError, "amount: a key is int"),
        ({"a": [1, {"b": object()}]}, TypeError, r"amount\.a\[1\]\.b: object"),
        (float("nan"), ValueError, "amount: "),
        ([float("inf")], ValueError, r"amount\[0\]: "),
        (2**53, ValueError, "amount: .* as a string"),
        (-(2**53), ValueError, "amount: "),
        ("\ud800", ValueError, "amount: "),
        ({"\ud800": 1}, ValueError, "a key of amount: "),
        (nested(50), ValueError, "amount.*: is nested"),
    ],
)
def test_an_argument_that_json_has_no_form_for_is_named_before_anything_is_sent(
    nobody: HandraiseSync, value: Any, error: type[Exception], said: str
) -> None:
    ran: list[object] = []

    @needs_approval(people=nobody)
    def refund(amount: object) -> None:
        ran.append(amount)

    with pytest.raises(error, match=said):
        refund(value)
    assert ran == []


def test_arguments_have_one_form_and_keep_it() -> None:
    def refund(*orders: object, **more: object) -> None: ...

    day = date(2026, 3, 23)
    bound = CallSignature(refund).bind(
        (None, True, 1, 2**53 - 1, 1.5, "x", (1, [2]), UserList([1]), UserDict(a=1)),
        {
            "speed": Speed.FAST,
            "level": Level.HIGH,
            "order": Order(id="12345", day=day),
            "at": datetime(2026, 3, 23, 10, tzinfo=UTC),
            "price": Decimal("4.90"),
            "who": UUID(int=7),
        },
    )
    assert bound.json() == {
        "orders": [None, True, 1, 2**53 - 1, 1.5, "x", [1, [2]], [1], {"a": 1}],
        "more": {
            "speed": "fast",
            "level": 3,
            "order": {"id": "12345", "day": "2026-03-23"},
            "at": "2026-03-23T10:00:00+00:00",
            "price": "4.90",
            "who": str(UUID(int=7)),
        },
    }


class Shop:
    def method(self, order_id: str, amount: int = 5) -> None: ...

    @classmethod
    def of_the_class(cls, order_id: str, amount: int = 5) -> None: ...

    @staticmethod
    def static(order_id: str, amount: int = 5) -> None: ...


def on_its_own(self: str, order_id: str, amount: int = 5) -> None: ...


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (Shop.method, (Shop(), "12345"), {"order_id": "12345", "amount": 5}),
        (Shop.__dict__["of_the_class"].__func__, (Shop, "12345"), {"order_id": "12345", "amount": 5}),
        (Shop.static, ("12345",), {"order_id": "12345", "amount": 5}),
        (on_its_own, ("me", "12345"), {"self": "me", "order_id": "12345", "amount": 5}),
    ],
)
def test_the_self_of_a_method_is_no_argument(
    function: Callable[..., None], args: tuple[object, ...], expected: dict[str, object]
) -> None:
    bound = CallSignature(function).bind(args, {})
    assert bound.json() == expected
    assert bound.to(lambda *given, **named: (given, named)) == (tuple(expected.values()), {})


def test_a_decorated_function_is_known_by_its_name_and_signature() -> None:
    @needs_approval()
    async def refund(order_id: str, amount: int = 5) -> str:
        """Give money back."""
        return order_id

    @needs_approval()
    def write(text: str) -> None: ...

    assert (refund.__name__, refund.__doc__) == ("refund", "Give money back.")
    assert str(inspect.signature(refund)) == "(order_id: 'str', amount: 'int' = 5) -> 'str'"
    assert inspect.iscoroutinefunction(refund)
    assert not inspect.iscoroutinefunction(write)


def test_arguments_that_do_not_fit_are_refused_as_the_call_would(nobody: HandraiseSync) -> None:
    @needs_approval(people=nobody)
    def refund(order_id: str) -> None: ...

    with pytest.raises(TypeError, match="order_id"):
        refund()  # type: ignore[call-arg]


async def wanted(order_id: str) -> bool:
    return True


def words(order_id: str) -> Iterator[str]:
    yield order_id


async def more_words(order_id: str) -> AsyncIterator[str]:
    yield order_id


def refund(order_id: str) -> None: ...


@pytest.mark.parametrize(
    ("options", "function", "error", "said"),
    [
        ({"question": "Refund {amount}?"}, refund, ValueError, "amount.*order_id"),
        ({"question": "Refund {}?"}, refund, ValueError, "names no argument"),
        ({"question": "Refund {order_id"}, refund, ValueError, "{{"),
        ({"when": wanted}, refund, TypeError, "when"),
        ({"allow_silence": True}, refund, ValueError, "timeout_seconds"),
        ({"fallback_value": "approve"}, refund, TypeError, "fallback_value"),
        ({"action": {}}, refund, TypeError, "action"),
        ({"denied": "ignore"}, refund, ValueError, "denied"),
        ({"responder": []}, refund, TypeError, "'responder'; did you mean 'responders'"),
        ({}, staticmethod(refund), TypeError, "below @staticmethod"),
        ({}, classmethod(refund), TypeError, "below @staticmethod"),
        ({}, words, TypeError, "yields"),
        ({}, more_words, TypeError, "yields"),
    ],
)
def test_what_can_not_work_is_said_where_it_is_written(
    options: dict[str, Any], function: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        needs_approval(**options)(function)


async def test_a_client_that_can_not_wait_like_the_function_is_refused(nobody: HandraiseSync) -> None:
    async def refund_later(order_id: str) -> None: ...

    with pytest.raises(TypeError, match="needs a Handraise"):
        await needs_approval(people=nobody)(refund_later)("12345")
    async with Handraise("http://127.0.0.1:1", "agent-key-1", patience_seconds=0) as people:
        with pytest.raises(TypeError, match="HandraiseSync"):
            needs_approval(people=lambda: people)(refund)("12345")
