"""``needs_approval`` against the service itself: the tool runs once, exactly as a person has approved it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from handraise import Denied, Handraise, HandraiseSync, ReceiptRefused, needs_approval

from tests.world import KEYS, World

LIMIT = 60


class EmptyTill(Exception):
    pass


class Till:
    """A tool in both forms, which notes each run; one that is ``empty`` fails."""

    def __init__(self, world: World, is_async: bool) -> None:
        self.empty = False
        self.runs: list[dict[str, Any]] = []
        self._world, self._is_async = world, is_async
        self._people: Any = (Handraise if is_async else HandraiseSync)(world.url, KEYS["agent"])

    def tool(self, **options: Any) -> Callable[..., Any]:
        """``refund`` with these options, to be awaited."""

        def refund(order_id: str, amount: int = 5, tags: list[str] | None = None) -> str:
            self.runs.append({"order_id": order_id, "amount": amount, "tags": tags})
            if self.empty:
                raise EmptyTill("only 3 left")
            return f"{amount} back"

        async def refund_async(order_id: str, amount: int = 5, tags: list[str] | None = None) -> str:
            return refund(order_id, amount, tags)

        options = {"people": self._people, "tool": "shop.refund", **options}
        if self._is_async:
            return needs_approval(**options)(refund_async)
        plain = needs_approval(**options)(refund)

        async def called(*args: Any, **kwargs: Any) -> str:
            return await asyncio.to_thread(plain, *args, **kwargs)

        return called

    async def close(self) -> None:
        if self._is_async:
            await self._people.aclose()
        else:
            self._people.close()


@pytest.fixture(params=[True, False], ids=["async", "sync"])
async def till(request: pytest.FixtureRequest, world: World) -> Any:
    till = Till(world, request.param)
    yield till
    await till.close()


async def asked(world: World, number: int = 1) -> dict[str, Any]:
    """The question that is open, or the last one, as soon as there are so many."""
    async with asyncio.timeout(LIMIT):
        while len(items := (await world.call("GET", "/v1/suspensions", "admin")).json()["items"]) < number:
            await asyncio.sleep(0.01)
    await world.settle()
    assert len(items) == number
    question = next((item for item in items if item["resolution"] is None), items[0])
    return {**question, "suspension_id": question["id"]}


async def ended(call: asyncio.Task[Any]) -> Any:
    async with asyncio.timeout(LIMIT):
        return await call


async def test_a_call_that_is_approved_runs_once_with_just_these_arguments(world: World, till: Till) -> None:
    refund = till.tool(question="Refund {amount} for order {order_id}?", responders=["group:finance"])
    call = asyncio.create_task(refund("12345", tags=["late"]))
    question = await asked(world)
    assert question["question"] == "Refund 5 for order 12345?"
    assert question["responders"] == ["group:finance"]
    arguments = {"order_id": "12345", "amount": 5, "tags": ["late"]}
    assert question["action"] == {"tool": "shop.refund", "arguments": arguments}
    assert till.runs == []
    await world.answer(question, "approve")
    assert await ended(call) == "5 back"
    assert till.runs == [arguments]


async def test_who_approved_it_sees_what_came_of_it(world: World, till: Till) -> None:
    call = asyncio.create_task(till.tool()("12345"))
    first = await asked(world)
    await world.answer(first, "approve")
    assert await ended(call) == "5 back"
    assert (await world.show(first))["reported"]["status"] == "done"

    till.empty = True
    call = asyncio.create_task(till.tool()("12345"))
    second = await asked(world, 2)
    await world.answer(second, "approve")
    with pytest.raises(EmptyTill):
        await ended(call)
    report = (await world.show(second))["reported"]
    assert (report["status"], report["text"]) == ("failed", "EmptyTill")


async def test_a_call_that_is_denied_does_not_run_and_says_why(world: World, till: Till) -> None:
    call = asyncio.create_task(till.tool()("12345"))
    question = await asked(world)
    assert question["question"] == "May shop.refund run?"
    await world.answer(question, "deny", metadata={"reason": "wrong customer"})
    with pytest.raises(Denied) as denied:
        await ended(call)
    assert (denied.value.cause, denied.value.reason, till.runs) == ("person", "wrong customer", [])
    assert "wrong customer" not in str(denied.value)
    told = denied.value.tool_result()
    assert "said no" in told
    assert told.endswith("Their reason: wrong customer")
    assert question["id"] not in told


async def test_only_calls_that_need_it_are_asked_about(world: World, till: Till) -> None:
    refund = till.tool(when=lambda order_id, amount, tags: amount > 100, question=lambda order_id, *_: order_id)
    assert await refund("12345", 100) == "100 back"
    call = asyncio.create_task(refund("67890", 101))
    question = await asked(world)
    assert question["question"] == "67890"
    await world.answer(question, "approve")
    assert await ended(call) == "101 back"


@pytest.mark.parametrize(
    "when",
    [
        lambda amount: amount > 100,
        lambda amount, **others: amount > 100 and others == {"order_id": "12345", "tags": None},
        lambda amount, currency="EUR": amount > 100 and currency == "EUR",
        lambda *given: given[1] > 100,
        lambda order, cents, tags: cents > 100,
    ],
    ids=["one", "the rest together", "a default of its own", "in a row", "by other names"],
)
async def test_a_condition_names_the_arguments_that_it_wants(world: World, till: Till, when: Any) -> None:
    refund = till.tool(when=when)
    assert await refund("12345", 100) == "100 back"
    call = asyncio.create_task(refund("12345", amount=101))
    await world.answer(await asked(world), "approve")
    assert await ended(call) == "101 back"


async def test_silence_approves_nothing_unless_it_may(world: World, till: Till) -> None:
    silent = asyncio.create_task(till.tool(timeout_seconds=60)("12345"))
    await asked(world)
    await world.advance(seconds=60)
    with pytest.raises(Denied) as denied:
        await ended(silent)
    assert (denied.value.cause, till.runs) == ("silence", [])
    allowed = asyncio.create_task(till.tool(timeout_seconds=60, allow_silence=True)("12345"))
    await asked(world, 2)
    await world.advance(seconds=60)
    assert await ended(allowed) == "5 back"
    assert len(till.runs) == 1


async def test_a_question_that_is_taken_back_approves_nothing(world: World, till: Till) -> None:
    call = asyncio.create_task(till.tool()("12345"))
    question = await asked(world)
    await world.call("POST", f"/v1/suspensions/{question['id']}/cancel", json={"reason": "out of stock"})
    with pytest.raises(Denied) as denied:
        await ended(call)
    assert (denied.value.cause, denied.value.reason, till.runs) == ("cancelled", "out of stock", [])


async def test_told_instead_of_raised_the_model_reads_why_it_did_not_run(world: World, till: Till) -> None:
    refund = till.tool(denied="return", timeout_seconds=60)
    denied = asyncio.create_task(refund("12345"))
    await world.answer(await asked(world), "deny", metadata={"reason": "wrong customer"})
    told = await ended(denied)
    assert "said no" in told
    assert told.endswith("Their reason: wrong customer")

    silent = asyncio.create_task(refund("12345"))
    await asked(world, 2)
    await world.advance(seconds=60)
    told = await ended(silent)
    assert "neither an approval nor a denial" in told

    cancelled = asyncio.create_task(refund("12345"))
    await world.call("POST", f"/v1/suspensions/{(await asked(world, 3))['id']}/cancel", json={"reason": "out of stock"})
    assert "taken back" in await ended(cancelled)
    assert till.runs == []

    approved = asyncio.create_task(refund("12345"))
    await world.answer(await asked(world, 4), "approve")
    assert await ended(approved) == "5 back"
    assert len(till.runs) == 1


async def test_what_is_changed_while_people_think_is_not_what_they_approved(world: World, till: Till) -> None:
    tags = ["late"]
    call = asyncio.create_task(till.tool()("12345", tags=tags))
    question = await asked(world)
    tags.append("and something else")
    await world.answer(question, "approve")
    with pytest.raises(ReceiptRefused) as refused:
        await ended(call)
    assert (refused.value.reason, till.runs) == ("other_action", [])


async def test_called_again_with_its_key_it_waits_for_the_same_answer_and_runs_once(world: World, till: Till) -> None:
    refund = till.tool(idempotency_key=lambda order_id, amount, tags: f"refund-{order_id}")
    first = asyncio.create_task(refund("12345"))
    question = await asked(world)
    again = asyncio.create_task(refund("12345"))
    await asked(world)
    await world.answer(question, "approve")
    ends = await asyncio.gather(ended(first), ended(again), return_exceptions=True)
    [refused] = [end for end in ends if end != "5 back"]
    assert isinstance(refused, ReceiptRefused)
    assert (refused.reason, len(till.runs)) == ("used", 1)
    with pytest.raises(ReceiptRefused):
        await refund("12345")
    await asked(world)
    assert len(till.runs) == 1


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_without_a_client_it_makes_its_own_from_the_environment(
    world: World, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    monkeypatch.setenv("HANDRAISE_URL", world.url)
    monkeypatch.setenv("HANDRAISE_API_KEY", KEYS["agent"])
    till = Till(world, is_async)
    for number in (1, 2):
        call = asyncio.create_task(till.tool(people=None)("12345"))
        await world.answer(await asked(world, number), "approve")
        assert await ended(call) == "5 back"
    await till.close()


class Shop:
    def __init__(self, people: Handraise) -> None:
        self.people, self.refunded = people, 0

    def refund(self) -> Any:
        return needs_approval(people=self.people, question="Refund {order_id}?")(Shop.do)

    async def do(self, order_id: str) -> None:
        self.refunded += 1


async def test_a_method_is_asked_about_without_its_object(world: World) -> None:
    async with Handraise(world.url, KEYS["agent"]) as people:
        shop = Shop(people)
        call = asyncio.create_task(shop.refund()(shop, "12345"))
        question = await asked(world)
        assert question["action"] == {"tool": "do", "arguments": {"order_id": "12345"}}
        await world.answer(question, "approve")
        await ended(call)
    assert shop.refunded == 1
