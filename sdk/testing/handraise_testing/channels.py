"""Slack, e-mail, PagerDuty and the inbox of a test: every message is accepted at once, and written down. Nothing is
rendered, and nothing leaves the process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import datetime

from core.domain.notice import Ending, Message, Notice
from core.domain.people import Address
from core.domain.suspension import Cut
from core.ports import Delivered, Receipt, Refused, Sending
from handraise_testing.questions import SentMessage


class RecordingChannel:
    """Implements :class:`core.ports.Channel`. What sets the vendors apart for the engine is as with the real ones."""

    def __init__(
        self,
        name: str,
        now: Callable[[], datetime],
        numbers: Iterator[int],
        *,
        lanes: int,
        lane_width: int | None = None,
        withdraws: bool = True,
        tells_endings: bool = True,
        follows_up: bool = True,
        reaches_one_person: bool = True,
        takes_replies: bool = False,
        takes_messages: bool = True,
        one_way: bool = False,
    ) -> None:
        self.name = name
        self.lanes = lanes
        self.lane_width = lane_width
        self.withdraws = withdraws
        self.tells_endings = tells_endings
        self.follows_up = follows_up
        self.reaches_one_person = reaches_one_person
        self.takes_replies = takes_replies
        self.takes_messages = takes_messages
        self.one_way = one_way
        self.sent: list[SentMessage] = []
        self.refusal: str | None = None
        """The stable code with which everything is refused from now on; ``None`` if it is accepted."""
        self._now = now
        self._numbers = numbers

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivered | Refused:
        return self._take(notice.ref, to, sending, f"{notice.headline}: {notice.question}")

    def cut(self, _notice: Notice) -> Cut:
        return Cut.NOTHING

    async def withdraw(self, ending: Ending, receipt: Receipt, sending: Sending) -> Delivered | Refused:
        place = Address(self.name, receipt["to"])
        return self._take(ending.ref, place, sending, ending.sentence)

    async def recover(self, _ref: str, _to: Address, _sending: Sending) -> Refused:
        return Refused("nothing_there")

    async def tell(self, message: Message, to: Address, sending: Sending) -> Delivered | Refused:
        return self._take(message.ref, to, sending, message.text)

    async def close(self) -> None:
        pass

    def _take(self, ref: str | None, to: Address, sending: Sending, text: str) -> Delivered | Refused:
        if self.refusal is not None:
            return Refused(self.refusal)
        self.sent.append(SentMessage(self.name, to.person or to.value, text, self._now(), ref, next(self._numbers)))
        return Delivered({"id": sending.id, "to": to.person or to.value})


def recording_channels(now: Callable[[], datetime]) -> dict[str, RecordingChannel]:
    """By name, the default one first."""
    sent = itertools.count(1)
    return {
        "slack": RecordingChannel("slack", now, sent, lanes=16, lane_width=4),
        "email": RecordingChannel("email", now, sent, lanes=4, withdraws=False, follows_up=False, takes_replies=True),
        "pagerduty": RecordingChannel("pagerduty", now, sent, lanes=2, tells_endings=False, reaches_one_person=False),
        "inbox": RecordingChannel(
            "inbox",
            now,
            sent,
            lanes=4,
            withdraws=False,
            tells_endings=False,
            follows_up=False,
            takes_messages=False,
            one_way=True,
        ),
    }
