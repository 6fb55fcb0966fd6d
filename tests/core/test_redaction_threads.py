"""Redaction beside the event loop: what takes long is done in a thread, what does not is done at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.domain.redaction.finders import TextFinder, TreeFinder
from core.domain.redaction.redaction import Policy, Redaction
from core.domain.request import AskRequest
from core.domain.suspension import Choice, ResponseType
from core.engine.channel_views import ChannelViews
from core.engine.drafting import findings
from tests.core.examples import HOUR, a_question, opened

LARGE: dict[str, dict[str, Any]] = {
    "a context": {"context": {"log": "line " * 4000}},
    "an action": {"action": {"rows": [[number] for number in range(4000)]}},
    "keys": {"context": {"k" * 100 + str(number): None for number in range(200)}},
    "choices": {"choices": tuple(Choice(str(number), "label " * 100) for number in range(40))},
    "a form": {
        "response_type": ResponseType.FORM,
        "form_schema": {"type": "object", "properties": {"f": {"title": "t" * 20_000}}},
    },
}


@dataclass(frozen=True, slots=True)
class Watched(TextFinder):
    """Notes in which threads texts are redacted."""

    threads: set[int] = field(default_factory=set)

    def redact(self, text: str, most: int | None = None) -> tuple[str, tuple[Any, ...]]:
        self.threads.add(threading.get_ident())
        return TextFinder.redact(self, text, most)


@pytest.mark.parametrize("what", LARGE)
@pytest.mark.parametrize("how", [ChannelViews.shown_on, ChannelViews.whole_on])
async def test_a_large_question_is_redacted_in_a_thread(how: Any, what: str) -> None:
    texts = Watched()
    redaction = Redaction(finder=TreeFinder(texts))
    await how(ChannelViews(redaction, {}), "slack", opened(a_question(timeout=HOUR, **LARGE[what])))
    assert texts.threads
    assert threading.get_ident() not in texts.threads


async def test_an_ordinary_question_waits_for_no_thread() -> None:
    texts = Watched()
    question = opened(a_question(timeout=HOUR, context={"order": "12345"}, action={"tool": "refund"}))
    await ChannelViews(Redaction(finder=TreeFinder(texts)), {}).shown_on("slack", question)
    assert texts.threads == {threading.get_ident()}


async def test_what_may_not_leave_is_looked_for_in_a_thread_and_only_where_somebody_rejects_it() -> None:
    texts = Watched()
    request = AskRequest("Charge it?", ResponseType.CONFIRM, action={"card": "4111111111111111"})
    assert await findings(Redaction(finder=TreeFinder(texts)), request) == ()
    assert texts.threads == set()
    strict = Redaction(channels={"email": Policy.REJECT}, finder=TreeFinder(texts))
    assert [one.path for one in await findings(strict, request)] == ["action.card"]
    assert threading.get_ident() not in texts.threads
