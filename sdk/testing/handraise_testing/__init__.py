"""A pytest plugin for those who write agents: a Handraise server in the test's own process, people who do as they are
told, and a clock that moves by itself whenever everybody waits. So hours of silence take milliseconds.

Ask for it with ``-p handraise_testing`` or ``pytest_plugins = ["handraise_testing"]``; docs/how-to/testing-agents.md
shows how it is used. It needs pytest alone; async tests run with pytest-asyncio or anyio, whichever the project has.

Read ``plugin`` first: the fixtures. ``fixture`` is what they are, ``humans`` what people do and ``plans`` for whom,
``questions`` what was asked. ``server`` puts the service together, in a thread of its own. ``scheduler`` moves the
``clock``, ``gate`` knows who waits. ``channels`` take every message; ``settings``, ``database`` and ``logs`` are
what the service stands on.

What must never be: a rule about questions of its own, a mock of the service, or an import of the service before a test
asks for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from handraise_testing.plugin import _handraise_loop, handraise, handraise_settings, humans, pytest_runtest_call

if TYPE_CHECKING:  # see __getattr__
    from handraise_testing.fixture import HandraiseServer, TestFailed
    from handraise_testing.humans import Humans
    from handraise_testing.questions import Attempt, Question, SentMessage

__all__ = [
    "Attempt",
    "HandraiseServer",
    "Humans",
    "Question",
    "SentMessage",
    "TestFailed",
    "_handraise_loop",
    "handraise",
    "handraise_settings",
    "humans",
    "pytest_runtest_call",
]

_TYPES = {
    "HandraiseServer": "fixture",
    "TestFailed": "fixture",
    "Humans": "humans",
    "Attempt": "questions",
    "Question": "questions",
    "SentMessage": "questions",
}
"""What tests name in annotations, and the module that has it: with it comes the whole service."""


def __getattr__(name: str) -> Any:
    if name not in _TYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_TYPES[name]}"), name)
