"""The inbox as a channel: a question stands on its page, and nothing is sent.

It is always there, needs no settings, and is the default channel if no other is set up. Whoever can sign in is reached:
the people of the directory, and those whose key is named like their e-mail.

Source: API.md §2, "The channel ``inbox``"; docs/decisions/0108.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bot.config.sections import Section
from bot.vendors.description import Addresses, Around, Known, Source, Vendor
from core.domain.people import Address, Person
from core.domain.suspension import Cut
from core.ports import Channel, Delivered, Refused

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from bot.doctor.examination import Check, Examination
    from bot.doctor.findings import Finding
    from core.domain.notice import Message, Notice
    from core.ports import Sending

NAME = "inbox"


class InboxSettings(Section):
    """Nothing of it can be set."""


class InboxAddresses(Addresses):
    """Everybody who can sign in. A question that names nobody is for every operator, who may answer it anyway."""

    asks_operators = True

    def __init__(self, known: Known) -> None:
        self._known = known

    def of_person(self, identity: str, person: Person | None, mailbox: str) -> Address | None:
        return Address(NAME, identity, identity) if person is not None or self._known.is_known(identity) else None


class InboxChannel(Channel):
    """A notice is there as soon as its question is stored."""

    name = NAME
    takes_messages = False
    one_way = True

    async def send(self, notice: Notice, to: Address, sending: Sending) -> Delivered:
        return Delivered({"page": notice.ref})

    def cut(self, notice: Notice) -> Cut:
        return Cut.NOTHING

    async def tell(self, message: Message, to: Address, sending: Sending) -> Refused:
        return Refused("nothing_is_sent")

    async def close(self) -> None: ...


class InboxVendor(Vendor[InboxSettings]):
    name = NAME
    display = "the inbox"
    how = "on its page"
    section = InboxSettings
    always = InboxSettings()
    default_setting = "a key with the role operator that is named like a person's e-mail"

    def addresses(
        self, settings: Settings, people: Mapping[str, Person], source: Source | None, known: Known
    ) -> Addresses:
        return InboxAddresses(known)

    def channel(self, section: InboxSettings, around: Around, source: Source | None) -> InboxChannel:
        return InboxChannel()

    def checks(self) -> Sequence[tuple[str, Check]]:
        return ((NAME, _inbox),)


async def _inbox(examined: Examination) -> Sequence[Finding]:
    from bot.doctor.findings import ok

    url = examined.settings.public_url.rstrip("/")
    return [ok(NAME, f"nothing to check: whoever signs in at {url}/inbox sees what waits for them")]


VENDOR = InboxVendor()
