"""The card of one question, and the words for its events. Pure: records of the API in, lines out.

A line may hold others' words; the code that prints it makes these harmless (``terminal``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from handraise.cli.terminal import one_line

Record = Mapping[str, Any]
Names = Mapping[str, str]
Line = tuple[str, str]
"""An indent, and a text of one line or several that stands behind it."""

_IN = "  "
_REACHED_NOBODY = "intent.suspension_reached_nobody"


def card(found: Record, notice: Record, entries: Sequence[Record]) -> Iterator[Line]:
    """``found`` is the record, ``notice`` is what people are shown, ``entries`` is its timeline."""
    names: Names = notice.get("people") or {}
    channels = channels_of(notice)
    is_open = found["status"] == "open"
    ref, asked_by = found["ref"], who(found["created_by"], names)
    yield "", _flat(f"{ref}  {found['status']}  asked by {asked_by} at {moment(found['suspended_at'])}")
    yield from _notice(notice)
    yield from _earlier(notice, names)
    if is_open:
        yield _IN, notice["silence"]
    yield from _plan(found, notice, entries, names)
    yield from _people(found, names)
    yield from _ending(found, entries, names, channels)
    yield from _evidence(entries, names, channels)
    if notice.get("url"):
        yield _IN, str(notice["url"])
    if is_open:
        value = "" if found["response_type"] == "form" else " VALUE"
        yield _IN, f"Answer it: handraise answer {ref}{value}. What has happened: handraise timeline {ref}"


def _notice(notice: Record) -> Iterator[Line]:
    """The whole notice, redacted as for people."""
    yield _IN, notice["question"]
    for one in notice["choices"]:
        about = f" ({one['description']})" if one["description"] else ""
        yield _IN, _flat(f"- {one['value']}: {one['label']}{about}")
    for key, value in notice["context"].items():
        yield _IN, _flat(f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    if notice["risk"] is not None:
        yield _IN, _flat(f"risk: {notice['risk']}")
    action = notice["action"]
    if action is not None:
        yield _IN, f"{action['heading']}:"
        yield _IN * 2, action["text"]
        if action["hidden"] is not None:
            yield _IN, action["hidden"]


def _earlier(notice: Record, names: Names) -> Iterator[Line]:
    """Earlier answers to the same action."""
    for one in notice.get("earlier_answers") or []:
        reason = f": {one_line(one['reason'], 400)}" if one["reason"] else ""
        by, at = who(one["responded_by"], names), moment(one["responded_at"])
        yield _IN, _flat(f"answered before: {one_line(one['answer'], 400)!r} by {by} at {at} ({one['ref']}){reason}")


def _plan(found: Record, notice: Record, entries: Sequence[Record], names: Names) -> Iterator[Line]:
    """Each attempt: ✓ for one that went out, ✗ for one that reached nobody, then the next one and later ones."""
    sent = {one["attempt"]: one for one in entries if one["kind"] == "attempt"}
    unreached = {one["payload"]["attempt"]: one for one in entries if one.get("type") == _REACHED_NOBODY}
    planned = {one["attempt"]: one for one in notice.get("ladder") or []}
    channels, is_first = channels_of(notice), True
    for number in sorted({*sent, *unreached, *planned}):
        if number in sent or number in unreached:
            state, outcome = _outcome(number, entries, unreached.get(number))
            step = sent.get(number) or {**planned[number], "at": unreached[number]["at"]}
            whom = f"{attempt_words(step, names, channels)}{outcome}"
            yield _IN, _flat(f"{state:<5} attempt {number}  {moment(step['at'])}  {whom}")
        elif found["status"] == "open" and number > found["attempt"]:
            step = planned[number]
            at = (found["next_attempt_at"] if is_first else None) or step["due_at"]
            mark = "next" if is_first else "later"
            yield _IN, _flat(f"{mark:<5} attempt {number}  {moment(at)}  {attempt_words(step, names, channels)}")
            is_first = False


def _outcome(attempt: int, entries: Sequence[Record], unreached: Record | None) -> tuple[str, str]:
    """The mark of an attempt, and its failed deliveries. ``unreached`` is the entry that says that it reached
    nobody; a message that waited for a person to come on call may have arrived since."""
    deliveries = [one for one in entries if one["kind"] == "delivery" and one["attempt"] == attempt]
    if unreached is not None and not any(one["status"] == "delivered" for one in deliveries):
        return "✗", f": reached nobody ({', '.join(unreached['payload']['reasons'])})"
    missing = [one for one in deliveries if one["status"] != "delivered"]
    whys = dict.fromkeys(f"{one['status']} ({one['reason']})" if one["reason"] else one["status"] for one in missing)
    if not missing:
        return "✓", ""
    mark = "✗" if all(one["status"] in {"refused", "dead"} for one in deliveries) else "…"
    return (mark if len(missing) == len(deliveries) else "✓"), f": {', '.join(whys)}"


def _evidence(entries: Sequence[Record], names: Names, channels: Names) -> Iterator[Line]:
    """Where to find each answer."""
    for one in entries:
        via = one["payload"].get("via") if one["kind"] == "event" else None
        if via:
            yield _IN, _flat(f"answered by {who(one['actor'], names)}: {via_words(via, channels)}")


def _people(found: Record, names: Names) -> Iterator[Line]:
    if found["answers_required"] > 1:
        people = ", ".join(who(one["responded_by"], names) for one in found["answers"]) or "nobody"
        yield _IN, _flat(f"answers: {found['answers_received']} of {found['answers_required']}, by {people}")
    if found["assigned_to"]:
        yield _IN, _flat(f"handed over to {who(found['assigned_to'], names)}")
    if found["claimed_by"] and found["status"] == "open":
        yield _IN, _flat(f"{who(found['claimed_by'], names)} is on it until {moment(found['claim_until'])}")
    asked_back = found["clarification"]
    if asked_back:
        yield _IN, f"{who(asked_back['asked_by'], names)} asked: {one_line(asked_back['question'], 400)}"
        yield _IN, f"clarified: {one_line(asked_back['text'] or 'not yet', 400)}"


_AGENT_TOLD = {
    "pending": "the agent will be told",
    "delivered": "the agent has been told",
    "refused": "the agent has not been told: it refused the callback",
    "dead": "the agent has not been told: its address did not take the callback, which was given up",
}


def _ending(found: Record, entries: Sequence[Record], names: Names, channels: Names) -> Iterator[Line]:
    if found["resolution"] is None:
        return
    if found["resolution"] == "responded":
        way = channels.get(found["channel"], found["channel"])
        yield _IN, _flat(f"answer: {found['response']!r} by {who(found['responded_by'], names)} via {way}")
    else:
        why = f": {one_line(found['reason'], 400)}" if found["reason"] else ""
        yield _IN, _flat(f"{found['resolution']} at {moment(found['ended_at'])}{why}")
        if found["continued_with"] is not None:
            yield _IN, _flat(f"the agent goes on with {found['continued_with']!r}")
    # an earlier callback has asked the agent back
    told = [one for one in entries if one["kind"] == "callback" and one["at"] >= found["ended_at"]]
    yield _IN, _AGENT_TOLD.get(told[-1]["status"], "") if told else "the agent fetches the answer itself"
    report = found.get("reported")
    if report:
        said = ", ".join(one_line(part, 400) for part in (report["text"], report["url"]) if part)
        yield _IN, _flat(f"reported {report['status']} at {moment(report['at'])}{f': {said}' if said else ''}")


def moment(instant: str) -> str:
    """An instant of the API as people read it, and as the pages and mails write it."""
    return f"{datetime.fromisoformat(instant).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def who(identity: str, names: Names) -> str:
    """A person by name, if known."""
    name = names.get(identity)
    return identity if not name or name == identity else f"{name} <{identity}>"


def channels_of(notice: Record) -> Names:
    """How people call each channel."""
    return notice.get("channels") or {}


def attempt_words(step: Record, names: Names, channels: Names) -> str:
    """Whom an attempt asks, and on which channel."""
    channel = channels.get(step["channel"], step["channel"])
    return f"{', '.join(who(one, names) for one in step['recipients'])} by {channel}"


def via_words(via: Record, channels: Names) -> str:
    """The evidence of an answer: where to find it."""
    names = {"account": "account", "sender": "sent by", "message_id": "message", "delivery_id": "delivery"}
    names["session"] = "session"
    known = (f"{name} {via[field]}" for field, name in names.items() if via.get(field))
    return _flat(", ".join((f"by {channels.get(via['channel'], via['channel'])}", *known)))


def entry_words(entry: Record, channels: Names) -> str:
    """One entry of the timeline."""
    if entry["kind"] == "event" and entry["type"] == "intent.suspension_message_received":
        received = entry["payload"]
        way = channels.get(received["channel"], received["channel"])
        return f"{entry['type']}  {way} {received['kind']}: {received['reason']}"
    if entry["kind"] == "event" and entry["type"] == _REACHED_NOBODY:
        reached = entry["payload"]
        return f"{entry['type']}  attempt {reached['attempt']}: {', '.join(reached['reasons'])}"
    if entry["kind"] == "event":
        via = entry["payload"].get("via")
        return f"{entry['type']}  by {entry['actor']}{f'  ({via_words(via, channels)})' if via else ''}"
    way = channels.get(entry["channel"], entry["channel"])
    if entry["kind"] == "attempt":
        return f"attempt {entry['attempt']} via {way} to {', '.join(entry['recipients'])}"
    where = f" via {way}" if way else ""
    why = f" ({entry['reason']})" if entry["reason"] else ""
    return f"{entry['kind']}{where}: {entry['status']}, {entry['tries']} tries{why}"


def _flat(text: str) -> str:
    """``text`` with its line ends as visible signs, so that one line stays one line."""
    return text.replace("\r", "\\r").replace("\n", "\\n")
