"""Settings of redaction and quotas: what is hidden from a question, and how much a key may ask.

Source: API.md §8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, create_model

from bot.config.catalogue import descriptions, to_set_up
from bot.config.sections import Section
from bot.config.values import Listed, OwnPattern, Text, Word, between, one_or_several
from core.domain.redaction.finders import TextFinder, TreeFinder
from core.domain.redaction.kinds import FindingKind, SensitiveNames
from core.domain.redaction.patterns import compile_pattern
from core.domain.redaction.redaction import PAGE, InAction, Policy, Redaction
from core.engine.quotas import Quota

_KEPT = {"email": FindingKind.EMAIL, "phone": FindingKind.PHONE}


def _yaml_word(value: object) -> object:
    """YAML 1.1 reads a bare ``off`` as false."""
    return {False: "off", True: "on"}[value] if isinstance(value, bool) else value


PolicyWord = Annotated[Literal["redact", "reject", "off"], Word, BeforeValidator(_yaml_word)]
PagePolicyWord = Annotated[Literal["redact", "off"], Word, BeforeValidator(_yaml_word)]
KeptKind = Annotated[Literal["email", "phone"], Word]


class ChannelRedaction(Section):
    """A channel that differs from ``redaction.policy``."""

    policy: PolicyWord
    """The policy of this channel alone."""


class PageRedaction(Section):
    """No ``reject``: every question has a page, and whether it is asked at all is its channels' to say."""

    policy: PagePolicyWord
    """The policy of the pages alone."""


class _Redacted(Section):
    """Policies of their own, for the channels and the pages that are to differ from ``redaction.policy``."""

    @property
    def policies(self) -> dict[str, Policy]:
        given = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: Policy(entry.policy) for name, entry in given if entry is not None}


if TYPE_CHECKING:
    _RedactedChannels = _Redacted
else:
    _OWN = {**dict.fromkeys(to_set_up(), (ChannelRedaction | None, None)), PAGE: (PageRedaction | None, None)}
    _RedactedChannels = create_model("_RedactedChannels", __base__=_Redacted, **_OWN)


class RedactionSettings(Section):
    """What is hidden from questions before they leave. Agents, the API and the record keep everything."""

    policy: PolicyWord = "redact"
    """Whether secrets and personal data are hidden, the question is refused (422), or everything is shown."""
    keys: Annotated[tuple[Text, ...], Listed] = ()
    """Names of fields whose values are hidden, beside those that are known: ``customer_no`` is ``customerNo`` too."""
    patterns: Annotated[tuple[OwnPattern, ...], BeforeValidator(one_or_several)] = Field((), repr=False)
    """Regular expressions of your own; what they match is hidden."""
    keep: Annotated[frozenset[KeptKind], Listed] = frozenset()
    """Kinds that are shown as they are: e-mail addresses, phone numbers."""
    action: Annotated[Literal["mask", "open_to_approve", "hide"], Word] = "mask"
    """How personal data in an action is shown: by a mask that lets it be recognised (with a risk of high or more, a
    masked IBAN, account or card is approved only on its page, signed in); by a mask, and approved only there whatever
    it is; or not at all."""
    channels: _RedactedChannels = _RedactedChannels()

    @property
    def rules(self) -> Redaction:
        texts = TextFinder(
            tuple(compile_pattern(pattern) for pattern in self.patterns), frozenset(_KEPT[kind] for kind in self.keep)
        )
        finder = TreeFinder(texts, SensitiveNames.of(self.keys))
        own = self.channels.policies
        policies = {**dict.fromkeys(_on_pages(), self._of_pages(own)), **own}
        return Redaction(Policy(self.policy), policies, finder, InAction(self.action))

    def _of_pages(self, own: Mapping[str, Policy]) -> Policy:
        """What leaves by no channel is never refused."""
        policy = own.get(PAGE, Policy(self.policy))
        return Policy.REDACT if policy is Policy.REJECT else policy


def _on_pages() -> tuple[str, ...]:
    """The channels whose questions stand on pages alone."""
    return tuple(one.name for one in descriptions() if one.always is not None)


_MOST = 1_000_000


class QuotaEntry(Section):
    """How much a key may ask: every key by ``quotas``, one by ``api_keys[].quotas``. What is absent has no limit."""

    open: Annotated[int, between(1, _MOST)] | None = None
    """How many questions of a key may be open at once."""
    per_minute: Annotated[int, between(1, _MOST)] | None = None
    """How many questions a key may ask within a minute."""

    @property
    def quota(self) -> Quota:
        return Quota(self.open, self.per_minute)
