"""Redaction of a question: what a channel may show of it. Pure.

Only what people see is redacted. The record, the agent's callback and the API keep everything. An answer is matched to
the stored choices by index, so that a redacted label still answers.

Source: RFC-0026 §11; RFC-0025 §11; API.md §8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from pydantic import JsonValue

from core.domain.earlier_answers import LONGEST
from core.domain.redaction.finders import REST, CharacterBudget, Note, TreeFinder, ignore
from core.domain.redaction.kinds import Finding, FindingKind
from core.domain.redaction.masks import PAYEES, PERSONAL
from core.domain.request import AskRequest
from core.domain.suspension import (
    ActionReport,
    Ask,
    Choice,
    Clarification,
    Cut,
    EarlierAnswer,
    Ended,
    PartialAnswer,
    Suspension,
    UndoableAnswer,
)
from core.domain.wording import Risk, stated_risk

PAGE = "page"
"""Our own pages, beside the names of the channels: a mail's link opens them in a browser."""

MOST_IN_MESSAGE = 60_000
"""Characters of the context, and of the action, that a message is made from: more than any channel shows of them."""


class InAction(StrEnum):
    """How personal data in an action is shown (``redaction.action``)."""

    MASK = "mask"
    """By a mask. With a risk of high or more, a payee is approved only where it can be revealed."""
    OPEN_TO_APPROVE = "open_to_approve"
    """By a mask; whatever has one is approved only where it can be revealed."""
    HIDE = "hide"
    """Not at all, as in the question and its context."""


class Policy(StrEnum):
    """What to do about secrets and personal data in a question."""

    REDACT = "redact"
    REJECT = "reject"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Redaction:
    """The rules of this installation. Channels in ``channels`` have their own policy, all others ``policy``."""

    policy: Policy = Policy.REDACT
    channels: Mapping[str, Policy] = field(default_factory=dict)
    finder: TreeFinder = field(default_factory=TreeFinder)
    action: InAction = InAction.MASK

    def policy_on(self, channel: str) -> Policy:
        return self.channels.get(channel, self.policy)

    @property
    def rejects(self) -> bool:
        """Whether any channel's policy rejects."""
        return Policy.REJECT in {self.policy, *self.channels.values()}

    def shown_on(self, channel: str, suspension: Suspension) -> Suspension:
        """``suspension`` as people on ``channel`` may see it: build notices, endings and messages from this one.

        A large context or action is cut to its beginning, and marked (``in_part``). Never store it, and never match an
        answer to it.
        """
        return self._shown(channel, suspension, MOST_IN_MESSAGE)

    def whole_on(self, channel: str, suspension: Suspension) -> Suspension:
        """:meth:`shown_on` with nothing left out. It takes half a second for the largest questions."""
        return self._shown(channel, suspension, None)

    def revealed(self, suspension: Suspension) -> Suspension:
        """``suspension`` for a signed-in person who may answer: without secrets, and without what this installation
        has named itself. Never send it anywhere."""
        texts = self.finder.texts
        finder = replace(self.finder, texts=replace(texts, keep=texts.keep | PERSONAL))
        return replace(self, finder=finder, action=InAction.HIDE)._shown(PAGE, suspension, None)

    def _shown(self, channel: str, suspension: Suspension, most: int | None) -> Suspension:
        if self.policy_on(channel) is Policy.OFF:
            return suspension
        ask, in_part, to_reveal = self._ask(suspension.ask, most)
        return replace(
            suspension,
            ask=ask,
            in_part=in_part,
            to_reveal=to_reveal,
            ended=self._ended(suspension),
            answers=tuple(self._answer(one, suspension.ask.choices) for one in suspension.answers),
            undoable=self._undoable(suspension),
            clarifications=tuple(self._clarification(one) for one in suspension.clarifications),
            earlier=tuple(map(self._earlier, suspension.earlier)),
        )

    def text_on(self, channel: str, text: str, most: int | None = None) -> str:
        """One text, such as why an answer was refused, as people on ``channel`` may see it; with ``most``, about
        that many characters of it."""
        if most is not None and self.policy_on(channel) is Policy.OFF:
            return text if len(text) <= most else text[:most] + REST
        room = None if most is None else CharacterBudget(most)
        return text if self.policy_on(channel) is Policy.OFF else self.finder.text(text, room=room)

    def findings(self, request: AskRequest) -> list[Finding]:
        """Everything that would be redacted, in the order in which it is shown."""
        found: list[Finding] = []
        finder, note = self.finder, found.append
        finder.text(request.question, "question", note)
        self._choices(request.choices, note)
        finder.mapping(request.context, "context", note)
        finder.mapping(request.action or {}, "action", note)
        if request.form_schema is not None:
            finder.schema(request.form_schema, "form_schema", note)
        self._value(request.fallback_value, request.choices, "fallback_value", note)
        return list(dict.fromkeys(found))

    def _ask(self, ask: Ask, most: int | None) -> tuple[Ask, Cut, bool]:
        """Also what of the agent's words is left out, and whether something has to be revealed before an approval."""
        finder, rooms = self.finder, [None if most is None else CharacterBudget(most) for _ in range(2)]
        hidden: list[Finding] = []
        action = None if ask.action is None else self._action(ask.action, hidden.append, rooms[1])
        shown = replace(
            ask,
            question=finder.text(ask.question),
            choices=self._choices(ask.choices),
            context=finder.mapping(ask.context, room=rooms[0]),
            action=action,
            form_schema=None if ask.form_schema is None else finder.schema(ask.form_schema),
            fallback_value=self._value(ask.fallback_value, ask.choices),
        )
        kinds = {finding.kind for finding in hidden}
        return shown, _left_out(*rooms), self._has_to_be_revealed(ask, kinds)

    def _action(
        self, action: Mapping[str, JsonValue], note: Note, room: CharacterBudget | None
    ) -> Mapping[str, JsonValue]:
        if self.action is InAction.HIDE:
            return self.finder.mapping(action, "", note, room)
        return replace(self.finder, texts=replace(self.finder.texts, masks=True)).mapping(action, "", note, room)

    def _has_to_be_revealed(self, ask: Ask, hidden: Collection[FindingKind]) -> bool:
        """Whether an approval needs what is hidden in the action."""
        match self.action:
            case InAction.HIDE:
                return False
            case InAction.OPEN_TO_APPROVE:
                return not PERSONAL.isdisjoint(hidden)
            case InAction.MASK:
                risk = stated_risk(ask.decision_record, ask.context)
                return risk in {Risk.HIGH, Risk.CRITICAL} and not PAYEES.isdisjoint(hidden)

    def _choices(self, choices: tuple[Choice, ...], note: Note = ignore) -> tuple[Choice, ...]:
        """Values stay: no channel shows them, and an ended question's label is found by them."""
        shown: list[Choice] = []
        for index, choice in enumerate(choices):
            label = self.finder.text(choice.label, f"choices.{index}.label", note)
            if label != choice.label and any(label == before.label for before in shown):
                label = f"{label} ({index + 1})"  # a reply names its choice by the label too
            about = choice.description
            if about is not None:
                about = self.finder.text(about, f"choices.{index}.description", note)
            shown.append(replace(choice, label=label, description=about))
        return tuple(shown)

    def _ended(self, suspension: Suspension) -> Ended | None:
        ended = suspension.ended
        if ended is None:
            return None
        value = self._value(ended.value, suspension.ask.choices)
        reason = ended.reason and self.finder.text(ended.reason)
        return replace(ended, value=value, reason=reason, reported=ended.reported and self._report(ended.reported))

    def _undoable(self, suspension: Suspension) -> UndoableAnswer | None:
        given = suspension.undoable
        if given is None:
            return None
        value = self._value(given.value, suspension.ask.choices)
        return replace(given, value=value, reason=given.reason and self.finder.text(given.reason))

    def _answer(self, given: PartialAnswer, choices: tuple[Choice, ...]) -> PartialAnswer:
        reason = given.reason and self.finder.text(given.reason)
        return replace(given, value=self._value(given.value, choices), reason=reason)

    def _report(self, report: ActionReport) -> ActionReport:
        """An address that holds something hidden is left out: without it, it leads nowhere."""
        url = None if report.url is None or self.finder.text(report.url) != report.url else report.url
        return replace(report, text=report.text and self.finder.text(report.text), url=url)

    def _earlier(self, answer: EarlierAnswer) -> EarlierAnswer:
        """The beginning of each text: no more of it is ever shown."""
        finder, room = self.finder, partial(CharacterBudget, LONGEST)
        label, reason = answer.label, answer.reason
        return replace(
            answer,
            value=finder.value(answer.value, room=room()),
            label=None if label is None else finder.text(label, room=room()),
            reason=None if reason is None else finder.text(reason, room=room()),
        )

    def _clarification(self, asked: Clarification) -> Clarification:
        return replace(
            asked, question=self.finder.text(asked.question), text=asked.text and self.finder.text(asked.text)
        )

    def _value(self, value: JsonValue, choices: tuple[Choice, ...], path: str = "", note: Note = ignore) -> JsonValue:
        """An answer or a fallback; a choice is shown by its label."""
        if any(choice.value == value for choice in choices):
            return value
        return self.finder.value(value, path, note)


def _left_out(context: CharacterBudget | None, action: CharacterBudget | None) -> Cut:
    if action is not None and action.is_cut:
        return Cut.ACTION
    return Cut.WORDS if context is not None and context.is_cut else Cut.NOTHING
