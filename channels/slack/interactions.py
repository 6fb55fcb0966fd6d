"""Interactions: a button pressed in a message or a Home, or a modal submitted. Parses Slack's payloads. Pure.

A payload that is not ours becomes :class:`NotForUs`, never an exception. Verify the request first
(``channels.slack.client``).

Source: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload, …/view-interactions-payload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from channels.slack import render
from channels.slack.modals import (
    ANSWER_CALLBACK,
    ASK_BACK_CALLBACK,
    HAND_OVER_CALLBACK,
    PERSON_BLOCK,
    REASON_CALLBACK,
    TEXT_BLOCK,
)
from channels.slack.payloads import Carried, Sign, read, unsealed

Payload = Mapping[str, Any]

ANSWER = re.compile(re.escape(render.ANSWER) + r"([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Who:
    user_id: str
    team_id: str | None


@dataclass(frozen=True, slots=True)
class Reach:
    """How to tell the person something, and where the message is whose button they pressed.

    A message gives a ``response_url`` for private replies; the Home gives none. ``trigger_id`` opens one modal within
    three seconds. ``user_id`` gives direct messages, if there is nothing better.
    """

    response_url: str | None = None
    trigger_id: str | None = None
    channel: str | None = None
    ts: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    by: Who
    ref: str
    index: int
    delivery: str
    reach: Reach


@dataclass(frozen=True, slots=True)
class Press:
    """A button of a question's that is no answer."""

    by: Who
    ref: str
    delivery: str
    reach: Reach


class OnIt(Press):
    """ "I'm on it" was pressed."""


class GivesBack(Press):
    """ "Give back" was pressed."""


class WantsToAsk(Press):
    """ "Ask back…" was pressed."""


class WantsToHandOver(Press):
    """ "Hand over…" was pressed."""


class TakenBack(Press):
    """ "Undo" was pressed."""


class WantsModal(Press):
    """ "Answer…" was pressed."""


@dataclass(frozen=True, slots=True)
class WantsPage:
    """The button "Open": the person wants to see a question on its page, or their inbox if ``ref`` is ``None``."""

    by: Who
    ref: str | None
    delivery: str
    reach: Reach


@dataclass(frozen=True, slots=True)
class LinkFollowed:
    """A link button of an older version was pressed. Slack reports it; there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A modal was submitted. ``entered`` is each input that is not empty, by block id: a picked option is its value,
    several are joined by commas. ``index`` is the choice that the modal asks a reason for, ``None`` for any other
    modal."""

    by: Who
    ref: str
    delivery: str
    entered: Mapping[str, str]
    index: int | None = None


@dataclass(frozen=True, slots=True)
class AskedAgent:
    """A question to the agent was submitted."""

    by: Who
    ref: str
    delivery: str
    text: str


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A person was picked to hand the question over ``to``: an e-mail."""

    by: Who
    ref: str
    delivery: str
    to: str


@dataclass(frozen=True, slots=True)
class NotForUs:
    """A payload that is not ours, or that we could not have sent. ``reason`` is a stable code."""

    reason: str


Pressed = OnIt | GivesBack | WantsToAsk | WantsToHandOver | TakenBack | WantsModal
Action = Chosen | Pressed | WantsPage | LinkFollowed | NotForUs


Submission = Submitted | AskedAgent | HandedOver


def read_body(raw: bytes) -> Payload | None:
    """The payload of a request: JSON, JSON in the form field ``payload``, or the form of a slash command (or of Slack's
    certificate check). ``None`` for any other body."""
    try:
        text = raw.decode()
        if not text.startswith("{"):
            form = dict(parse_qsl(text, keep_blank_values=True))
            if "payload" not in form and ("command" in form or "ssl_check" in form):
                return form
            text = form.get("payload", "")
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def read_action(payload: Payload) -> Action:
    """The action in a ``block_actions`` payload; Slack sends one action at a time for buttons."""
    by, actions = who_of(payload), payload.get("actions")
    action = actions[0] if isinstance(actions, list) and len(actions) == 1 else None
    action_id = _text(action, "action_id")
    if by is None or action_id is None:
        return NotForUs("malformed_payload")
    value = _text(action, "value")
    if action_id == render.LINK and value in {None, render.INBOX}:
        return LinkFollowed() if value is None else WantsPage(by, None, "", reach_of(payload))
    carried = read(value or "")
    if carried is None:
        return NotForUs("unknown_action")
    return _pressed(action_id, carried, by, reach_of(payload))


def _pressed(action_id: str, carried: Carried, by: Who, reach: Reach) -> Action:
    answer = ANSWER.fullmatch(action_id)
    if answer is not None and carried.index == int(answer[1]):
        return Chosen(by, carried.ref, carried.index, carried.delivery, reach)
    if action_id == render.LINK:
        return WantsPage(by, carried.ref, carried.delivery, reach)
    made = _PRESSED.get(action_id)
    if made is None or (action_id in _OPENS_MODAL and reach.trigger_id is None):
        return NotForUs("unknown_action")
    return made(by, carried.ref, carried.delivery, reach)


_PRESSED: Mapping[str, type[Pressed]] = {
    render.CLAIM: OnIt,
    render.GIVE_BACK: GivesBack,
    render.ASK_BACK: WantsToAsk,
    render.HAND_OVER: WantsToHandOver,
    render.UNDO: TakenBack,
    render.OPEN_MODAL: WantsModal,
}
_OPENS_MODAL = {render.ASK_BACK, render.HAND_OVER, render.OPEN_MODAL}


def reach_of(payload: Payload) -> Reach:
    container = payload.get("container")
    return Reach(
        _text(payload, "response_url"),
        _text(payload, "trigger_id"),
        _text(container, "channel_id"),
        _text(container, "message_ts"),
        _text(payload.get("user"), "id"),
    )


def read_submission(payload: Payload, sign: Sign) -> Submission | NotForUs:
    """The submission in a ``view_submission`` payload. A modal without our seal is not ours."""
    by, view = who_of(payload), payload.get("view")
    callback = _text(view, "callback_id")
    if by is None or callback not in {ANSWER_CALLBACK, REASON_CALLBACK, ASK_BACK_CALLBACK, HAND_OVER_CALLBACK}:
        return NotForUs("unknown_view")
    carried = unsealed(_text(view, "private_metadata") or "", sign)
    if carried is None or (carried.index is None) == (callback == REASON_CALLBACK):
        return NotForUs("forged_view")
    entered = _entered(view)
    if callback == ASK_BACK_CALLBACK:
        return AskedAgent(by, carried.ref, carried.delivery, entered.get(TEXT_BLOCK, ""))
    if callback == HAND_OVER_CALLBACK:
        return HandedOver(by, carried.ref, carried.delivery, entered.get(PERSON_BLOCK, ""))
    return Submitted(by, carried.ref, carried.delivery, entered, carried.index)


def first_input(payload: Payload) -> str | None:
    """The block id of the first input of a submitted modal, under which an error can be shown."""
    view = payload.get("view")
    blocks = view.get("blocks") if isinstance(view, dict) else None
    for block in blocks if isinstance(blocks, list) else []:
        if _text(block, "type") == "input":
            return _text(block, "block_id")
    return None


def who_of(payload: Payload) -> Who | None:
    """The person who caused an interaction, with their own workspace if Slack names it, not the one they did it in."""
    user_id = _text(payload.get("user"), "id")
    if user_id is None:
        return None
    team = _text(payload.get("user"), "team_id") or _text(payload.get("team"), "id")
    return Who(user_id, team)


def _entered(view: Any) -> Mapping[str, str]:
    state = view.get("state") if isinstance(view, dict) else None
    values = state.get("values") if isinstance(state, dict) else None
    entered: dict[str, str] = {}
    for block_id, inputs in values.items() if isinstance(values, dict) else ():
        for given in inputs.values() if isinstance(inputs, dict) else ():
            text = _text(given, "value") or _text(given, "selected_date") or _text(given, "selected_user")
            text = text or _option(given) or _options(given)
            if isinstance(block_id, str) and text:
                entered[block_id] = text
    return entered


def _option(given: Any) -> str | None:
    return _text(given.get("selected_option"), "value") if isinstance(given, dict) else None


def _options(given: Any) -> str:
    """The values of all picked options, joined by commas; our values have no commas."""
    picked = given.get("selected_options") if isinstance(given, dict) else None
    values = [_text(one, "value") for one in picked] if isinstance(picked, list) else []
    return ",".join(value for value in values if value)


def _text(thing: Any, key: str) -> str | None:
    found = thing.get(key) if isinstance(thing, Mapping) else None
    return found if isinstance(found, str) else None


def text_at(thing: Payload, key: str) -> str | None:
    """The text at ``key``, ``None`` if it is empty or no text."""
    return _text(thing, key) or None
