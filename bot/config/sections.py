"""A description: what the configuration has to know of one way to reach people. No effects.

``bot.vendors.description`` adds what runs.

Source: docs/decisions/0105, 0112.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from bot.config.values import Listed, Mail, Text
from core.domain.channels import RecipientForm


class Section(BaseModel):
    """A section of the configuration. Secrets are fields with ``repr=False``."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_by_name=True)


class PersonSection(Section):
    """Somebody of ``people``. A vendor adds fields of its own by a subclass."""

    name: Text
    """How the person is called in messages and on pages."""
    email: Mail
    """The person's mailbox, to which their mail goes. It is also their identity, without its ``+`` part."""
    aliases: Annotated[tuple[Mail, ...], Listed] = ()
    """Further addresses that are theirs. Whatever comes from one of them, or names it, is from or for this person."""


S = TypeVar("S", bound=Section)

Place = tuple[str | int, ...]
"""Where a setting stands below its section: ``("services", "default")``."""
Said = tuple[Place, str]
"""A setting of the section, and the end of the sentence that begins with its name."""


class Description(Generic[S]):
    """One way to reach people, as far as the configuration goes."""

    name: ClassVar[str]
    """The channel's name in the API, and its section's in the configuration."""
    display: ClassVar[str]
    """How people call it: ``Slack``."""
    how: ClassVar[str]
    """By which way somebody is asked, in a sentence: ``on Slack``."""
    section: ClassVar[type[Section]]
    """The settings. Each has a default or says what is missing."""
    always: ClassVar[Section | None] = None
    """What stands for its settings if it has none: it is there without being set up, and has no section."""
    needed: ClassVar[str]
    """The setting without which the channel is not set up."""
    person: ClassVar[type[PersonSection] | None] = None
    """What ``people[]`` may say of somebody beside their name and e-mail."""
    account: ClassVar[str | None] = None
    """The one of them that is somebody's account there."""
    unique: ClassVar[Sequence[str]] = ()
    """Those of them that are one person's alone."""
    reached_by: ClassVar[str] = "address"
    """What to set so that a person is reached."""
    default_setting: ClassVar[str]
    """Where it is written who is asked if a question names nobody."""
    forms: ClassVar[tuple[RecipientForm, ...]] = ()
    """Its recipients."""
    stays: ClassVar[frozenset[str]] = frozenset()
    """Settings that a running service does not take in."""
    ways_in: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Settings that may change, but neither come nor go; each with those that go with it then."""
    doors_standing: ClassVar[tuple[str, ...]] = ()
    """The names of doors that say in ``/readyz`` how they stand."""
    door_setting: ClassVar[str | None] = None
    """What is needed off loopback, if :meth:`is_deaf`."""
    door_hint: ClassVar[str | None] = None
    """What is told as not configured then, if that is another setting."""

    # --- Settings -------------------------------------------------------------------------------------------------

    def misfits(self, section: S) -> Iterator[Said]:
        """What does not fit together."""
        yield from ()

    def is_deaf(self, section: S) -> bool:
        """Whether no answer can come in by the vendor, for want of a setting."""
        return False

    def secrets(self, section: S) -> Iterator[tuple[Place, str, str]]:
        """What verifies what comes in, with how to mend one that everybody knows."""
        yield from ()

    def warnings(self, section: S) -> Iterator[str]:
        """What a working configuration is hardly meant to say."""
        yield from ()

    def is_rebuilt(self, section: S, changed: Collection[str]) -> bool:
        """Whether its parts are built anew at a reload, though its own section is as it was; ``changed`` are the
        others that are not."""
        return False

    # --- People ---------------------------------------------------------------------------------------------------

    def account_in(self, entry: Any) -> str | None:
        """The account that an entry of ``people`` names."""
        return None if self.account is None else getattr(entry, self.account)
