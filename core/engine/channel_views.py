"""Channel views: a question as each channel may show it. Redacted, and perhaps cut.

Redaction runs in a thread if a question is long.

Source: RFC-0026 §11; API.md §8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import ParamSpec, TypeVar

from pydantic import JsonValue

from core.domain.notice import Notice, NoticeLinks, WhenCut, build_notice, sight_needed
from core.domain.redaction.redaction import Redaction
from core.domain.suspension import Cut, Sight, Suspension
from core.engine.earlier_answers import EarlierAnswers
from core.ports import Channel

P = ParamSpec("P")
T = TypeVar("T")

_AT_ONCE = 12_000
"""Characters that are redacted at once, some 25 ms of it at worst; more go to a thread, and nobody waits for them."""
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="redaction")
"""One alone: several would take turns with each other rather than with the event loop."""


@dataclass(frozen=True, slots=True)
class ChannelViews:
    """``when_cut``: what is done if a message has no room for all of a question. ``earlier`` finds what was answered
    before."""

    redaction: Redaction
    channels: Mapping[str, Channel]
    when_cut: WhenCut = WhenCut.ANSWER
    earlier: EarlierAnswers | None = None

    async def shown_on(self, channel: str, suspension: Suspension) -> Suspension:
        """:meth:`Redaction.shown_on`, with earlier answers, beside the event loop if that takes long."""
        return await self._redacted(self.redaction.shown_on, channel, await self._with_earlier(suspension))

    async def whole_on(self, channel: str, suspension: Suspension) -> Suspension:
        """:meth:`Redaction.whole_on`, with earlier answers, beside the event loop if that takes long."""
        return await self._redacted(self.redaction.whole_on, channel, await self._with_earlier(suspension))

    async def _with_earlier(self, suspension: Suspension) -> Suspension:
        found = () if self.earlier is None else await self.earlier.to(suspension)
        return replace(suspension, earlier=found) if found else suspension

    async def _redacted(
        self, redact: Callable[[str, Suspension], Suspension], channel: str, suspension: Suspension
    ) -> Suspension:
        return redact(channel, suspension) if _is_short(suspension) else await beside(redact, channel, suspension)

    def text_on(self, channel: str, text: str) -> str:
        """:meth:`Redaction.text_on`, of something short."""
        return self.redaction.text_on(channel, text)

    async def revealed(self, suspension: Suspension) -> Suspension:
        """:meth:`Redaction.revealed`, beside the event loop if that takes long."""
        redact, suspension = self.redaction.revealed, await self._with_earlier(suspension)
        return redact(suspension) if _is_short(suspension) else await beside(redact, suspension)

    async def notice_on(self, channel: str, suspension: Suspension) -> tuple[Notice, Cut]:
        """The notice that ``channel`` makes a message from, and what the message leaves out of it. A page leaves
        nothing out."""
        return await self._notice_on(channel, await self._with_earlier(suspension))

    async def _notice_on(self, channel: str, suspension: Suspension) -> tuple[Notice, Cut]:
        sender = self.channels.get(channel)
        look = self.redaction.whole_on if sender is None else self.redaction.shown_on
        notice = build_notice(await self._redacted(look, channel, suspension), suspension.attempt, NoticeLinks(""))
        return notice, Cut.NOTHING if sender is None else await beside(sender.cut, notice)

    async def sight_needed(self, channel: str, suspension: Suspension) -> Sight:
        """How much has to be shown where an answer that is no negative one comes in over ``channel``. Earlier answers
        take no room from the question."""
        if self.when_cut is WhenCut.ANSWER and suspension.ask.action is None:
            return Sight.MESSAGE  # nothing of it can stop an answer
        notice, cut = await self._notice_on(channel, suspension)
        return sight_needed(notice, cut, self.when_cut)

    async def must_open(self, channel: str, suspension: Suspension) -> bool:
        """Whether no message on ``channel`` shows enough of ``suspension`` to approve it there."""
        return await self.sight_needed(channel, suspension) > Sight.MESSAGE


async def beside(look: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``look``, which takes long, beside the event loop: in the one thread that all such calls share."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(look, *args, **kwargs))


def _is_short(suspension: Suspension) -> bool:
    ask, ended = suspension.ask, suspension.ended
    texts: list[JsonValue] = [ask.question, *(said for one in ask.choices for said in (one.label, one.description))]
    texts += [said for one in suspension.clarifications for said in (one.question, one.text)]
    texts += [said for one in suspension.answers for said in (one.value, one.reason)]
    texts += [said for one in suspension.earlier for said in (one.reason, one.value)]
    texts += [ended.reported.text, ended.reported.url] if ended is not None and ended.reported is not None else []
    values = (ask.context, ask.action, ask.form_schema, ask.fallback_value, ended.value if ended else None, texts)
    return _fits(values, _AT_ONCE)


def _fits(values: Sequence[JsonValue | Mapping[str, JsonValue]], room: int) -> bool:
    """Whether the ``values`` together have no more characters than that."""
    todo = list(values)
    while todo and room >= 0:
        value = todo.pop()
        room -= len(value) if isinstance(value, str) else 4
        if isinstance(value, Mapping):
            room -= sum(map(len, value))
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return room >= 0
