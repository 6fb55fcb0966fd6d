"""What somebody did in Slack: pressed a button or submitted a modal. Pure.

A payload that is not one of ours becomes :class:`NotForUs`, never an exception. Verify it first
(``channels.slack.signature``).

Source: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload, …/view-interactions-payload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from channels.slack import buttons
from channels.slack.modal import CALLBACK
from channels.slack.values import Carried, Sign, read, unsealed

Payload = Mapping[str, Any]

ANSWER = re.compile(re.escape(buttons.ANSWER) + r"([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Who:
    """The person, their workspace, and the app that Slack thinks this is for."""

    user_id: str
    team_id: str | None
    app_id: str | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice's button was pressed. ``response_url`` takes the private reply."""

    by: Who
    ref: str
    index: int
    delivery: str
    response_url: str | None


@dataclass(frozen=True, slots=True)
class OnIt:
    """ "I'm on it" was pressed."""

    by: Who
    ref: str
    delivery: str
    response_url: str | None


@dataclass(frozen=True, slots=True)
class WantsModal:
    """ "Answer…" was pressed; ``trigger_id`` opens one modal within three seconds."""

    by: Who
    ref: str
    delivery: str
    trigger_id: str
    response_url: str | None


@dataclass(frozen=True, slots=True)
class LinkFollowed:
    """A link button was pressed: Slack tells, and nothing is to do."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A modal was filled in. ``entered`` is what is not empty, by block id; a picked option is its
    value, several are their values with commas."""

    by: Who
    ref: str
    delivery: str
    entered: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NotForUs:
    """Not of ours, or nothing that we could have sent. ``reason`` is a stable code."""

    reason: str
    response_url: str | None = None


Action = Chosen | OnIt | WantsModal | LinkFollowed | NotForUs


def read_body(raw: bytes) -> Payload | None:
    """The payload of a request: JSON, or JSON in the field ``payload`` of a form; ``None`` where it is neither."""
    try:
        text = raw.decode()
        if not text.startswith("{"):
            text = dict(parse_qsl(text, keep_blank_values=True)).get("payload", "")
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def read_action(payload: Payload) -> Action:
    """What a ``block_actions`` payload says; Slack sends one action at a time for buttons."""
    by, response_url = _who(payload), _text(payload, "response_url")
    actions = payload.get("actions")
    action = actions[0] if isinstance(actions, list) and len(actions) == 1 else None
    action_id = _text(action, "action_id")
    if by is None or action_id is None:
        return NotForUs("malformed_payload", response_url)
    if action_id == buttons.LINK:
        return LinkFollowed()
    carried = read(_text(action, "value") or "")
    if carried is None:
        return NotForUs("unknown_action", response_url)
    return _pressed(action_id, carried, by, _text(payload, "trigger_id"), response_url)


def _pressed(action_id: str, carried: Carried, by: Who, trigger_id: str | None, response_url: str | None) -> Action:
    answer = ANSWER.fullmatch(action_id)
    if answer is not None and carried.index == int(answer[1]):
        return Chosen(by, carried.ref, carried.index, carried.delivery, response_url)
    if action_id == buttons.CLAIM:
        return OnIt(by, carried.ref, carried.delivery, response_url)
    if action_id == buttons.OPEN_MODAL and trigger_id is not None:
        return WantsModal(by, carried.ref, carried.delivery, trigger_id, response_url)
    return NotForUs("unknown_action", response_url)


def read_submission(payload: Payload, sign: Sign) -> Submitted | NotForUs:
    """What a ``view_submission`` payload says; a modal whose seal is not ours is not ours."""
    by, view = _who(payload), payload.get("view")
    if by is None or _text(view, "callback_id") != CALLBACK:
        return NotForUs("unknown_view")
    carried = unsealed(_text(view, "private_metadata") or "", sign)
    if carried is None:
        return NotForUs("forged_view")
    return Submitted(by, carried.ref, carried.delivery, _entered(view))


def first_input(payload: Payload) -> str | None:
    """The block id of the first input of a submitted modal, under which an error can be shown."""
    view = payload.get("view")
    blocks = view.get("blocks") if isinstance(view, dict) else None
    for block in blocks if isinstance(blocks, list) else []:
        if _text(block, "type") == "input":
            return _text(block, "block_id")
    return None


def _who(payload: Payload) -> Who | None:
    user_id = _text(payload.get("user"), "id")
    if user_id is None:
        return None
    team = _text(payload.get("user"), "team_id") or _text(payload.get("team"), "id")
    return Who(user_id, team, _text(payload, "api_app_id"))


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
    """The values of all that was picked, with commas, which are in none of ours."""
    picked = given.get("selected_options") if isinstance(given, dict) else None
    values = [_text(one, "value") for one in picked] if isinstance(picked, list) else []
    return ",".join(value for value in values if value)


def _text(thing: Any, key: str) -> str | None:
    found = thing.get(key) if isinstance(thing, Mapping) else None
    return found if isinstance(found, str) else None
