"""Lifecycle hooks: which methods are, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from handraise import on_input_received, on_input_requested
from handraise.lifecycle_hooks import HookKind, call_hook, hooks_of


class Base:
    @on_input_requested
    def first(self, intent, suspension):
        return "base first"

    @on_input_requested
    def second(self, intent, suspension):
        return "base second"


def requested(agent: object) -> list[object]:
    return [hook(None, None) for hook in hooks_of(agent)[HookKind.INPUT_REQUESTED]]


def test_hooks_are_inherited_in_the_order_of_their_definition_and_own_ones_follow():
    class Child(Base):
        @on_input_requested
        def another(self, intent, suspension):
            return "child another"

    assert requested(Child()) == ["base first", "base second", "child another"]


def test_an_override_replaces_a_hook_marked_again_or_not():
    class Child(Base):
        @on_input_requested
        def second(self, intent, suspension):
            return "child second"

        def first(self, intent, suspension):
            return "child first"

    assert requested(Child()) == ["child first", "child second"]


def test_none_in_its_place_takes_a_hook_away():
    class Child(Base):
        first = None

    assert requested(Child()) == ["base second"]


def test_one_method_may_be_several_hooks_and_static_or_of_the_class():
    class Mixed:
        @on_input_received
        @on_input_requested
        def both(self, intent, about):
            return "both"

        @on_input_requested
        @staticmethod
        def static(intent, about):
            return "static"

        @staticmethod
        @on_input_requested
        def other(intent, about):
            return "other"

        @on_input_requested
        @classmethod
        def of_class(cls, intent, about):
            return cls.__name__

    assert requested(Mixed()) == ["both", "static", "other", "Mixed"]
    assert len(hooks_of(Mixed())[HookKind.INPUT_RECEIVED]) == 1


def test_what_can_not_be_called_is_no_hook():
    with pytest.raises(TypeError, match="on_input_requested marks a method of an agent, not a str"):
        on_input_requested("notify")


async def test_a_plain_function_runs_in_a_thread_and_may_wait_there():
    here, there, go_on = threading.get_ident(), [], threading.Event()

    def blocking(intent, about):
        go_on.wait(30)
        there.append(threading.get_ident())

    calling = asyncio.create_task(call_hook(blocking, None, None))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(calling, 30)
    assert there != [here]


async def test_a_function_that_returns_something_to_await_is_waited_for():
    done = []

    async def later():
        done.append(True)

    await call_hook(lambda intent, about: later(), None, None)
    assert done == [True]


def fails(error: BaseException):
    def hook(intent, about):
        raise error

    return hook


def fails_later(error: BaseException):
    async def hook(intent, about):
        raise error

    return hook


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (fails, ValueError("Refund?")),
        (fails, StopIteration("Refund?")),
        (fails, SystemExit("Refund?")),
        (fails_later, ValueError("Refund?")),
        (fails_later, asyncio.CancelledError("Refund?")),
    ],
)
async def test_a_hook_that_fails_is_logged_with_its_place_and_without_its_words(caplog, make, error):
    hook = make(error)
    await call_hook(hook, None, None)
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert hook.__qualname__ in caplog.text
    assert "test_sdk_hooks.py" in caplog.text
    assert "Refund?" not in caplog.text


async def test_a_hook_that_is_cancelled_from_outside_ends():
    async def for_ever(intent, about):
        await asyncio.Event().wait()

    calling = asyncio.create_task(call_hook(for_ever, None, None))
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
