"""Alerts to the operators of this service, at ``alerts.notify``, once an hour for each reason.

An alert avoids the channel that it is about, if it can. The failure of an alert never causes another.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from core.database.database import Tx
from core.domain.notice import Message, Purpose
from core.domain.wording import told_at
from core.engine.transitions import Transitions
from core.ports import Deferred, RefusalCause, Refused
from core.store import markers
from core.store.outbox import Row, RowKind

QUIET = timedelta(hours=1)
"""How long the same reason is not told again."""
TRIES_WHILE_AWAY = 6
"""So often a channel that can't be reached is tried before it is told of. About a minute of waits lies between them."""
LONG_LIMIT = timedelta(minutes=5)
"""So long a rate limit has to last before it is told of. Slack's ordinary ones are over within a minute."""


def channel_refused(transitions: Transitions, tx: Tx, row: Row, refusal: Refused, ref: str, now: datetime) -> None:
    """A channel takes none of our notices, or none of a kind, until somebody mends that."""
    consequence = _CONSEQUENCES.get(refusal.fault)
    if row.kind is not RowKind.NOTIFY or consequence is None:
        return
    channel, reason = row.channel, refusal.reason
    subject = f"Notices by {channel} are refused ({reason})"
    text = (
        f"Notices by {channel} are refused: {reason}. {consequence} "
        f"It happened first with question {ref}. Its next attempts still go out on their own channels."
    )
    _tell(transitions, tx, f"refused:{channel}:{reason}", subject, text, now, around=channel)


def channel_waits(transitions: Transitions, tx: Tx, row: Row, deferral: Deferred, now: datetime) -> None:
    """A channel can't be used until somebody mends that, or for long; what it was to send waits, and is tried again."""
    reason, fault = deferral.reason, deferral.fault
    if fault is RefusalCause.LIMITED:
        _channel_is_limited(transitions, tx, row, deferral, now)
        return
    if row.kind is not RowKind.NOTIFY or fault is None:
        return
    if fault is RefusalCause.AWAY and row.tries < TRIES_WHILE_AWAY:
        return
    channel = row.channel
    subject = f"Notices by {channel} wait ({reason})"
    text = f"{subject}. Nobody is asked there until that is fixed. Each notice is tried again for three days."
    _tell(transitions, tx, f"waits:{channel}:{reason}", subject, text, now, around=channel)


def _channel_is_limited(transitions: Transitions, tx: Tx, row: Row, deferral: Deferred, now: datetime) -> None:
    """Whichever message met the limit, those after it wait too. An edit has a limit of its own."""
    if row.kind not in {RowKind.NOTIFY, RowKind.TELL} or _is_alert(row):
        return
    if deferral.until is None or deferral.until - now < LONG_LIMIT:
        return
    channel, until = row.channel, told_at(deferral.until)
    subject = f"Notices by {channel} wait until {until} ({deferral.reason})"
    text = (
        f"{channel} takes nothing more from Handraise before {until}, in one conversation or in all of them. "
        "Whoever is to be asked there is asked after that. Attempts on other channels go out at their times."
    )
    _tell(transitions, tx, f"limited:{channel}", subject, text, now, around=channel)


def sent_otherwise(transitions: Transitions, tx: Tx, row: Row, remark: str, now: datetime) -> None:
    """A message went out, but not as it was set up to look. An alert that did so is no reason for another one."""
    if _is_alert(row):
        return
    channel = row.channel
    subject = f"Messages by {channel} do not look as set up ({remark})"
    text = f"{subject}. They went out in the looks that come with Handraise."
    _tell(transitions, tx, f"otherwise:{channel}:{remark}", subject, text, now)


def _is_alert(row: Row) -> bool:
    return row.kind is RowKind.TELL and (row.body or {}).get("purpose") == Purpose.ALERT.value


_CONSEQUENCES = {
    RefusalCause.SETUP: "Nobody is asked there until that is fixed.",
    RefusalCause.PLACE: "The people at that place are not asked until that is fixed. Others are.",
    RefusalCause.CONTENT: "Such a notice does not arrive, not even as plain text. Others do.",
}
"""What it means, by what is at fault. Whatever is about one message alone is no alarm."""


def way_in_lost(transitions: Transitions, tx: Tx, channel: str, reason: str, now: datetime) -> None:
    """A vendor can't bring us answers until somebody mends it, or it comes back."""
    subject = f"Nothing reaches Handraise from {channel} ({reason})"
    text = (
        f"Nothing reaches Handraise from {channel}: {reason}. Questions are still shown there, but "
        "answers given there do not count until that is fixed. Answers by other ways count."
    )
    _tell(transitions, tx, f"way-in:{channel}:{reason}", subject, text, now, around=channel)


def channel_cut_off(transitions: Transitions, tx: Tx, channel: str, reason: str, now: datetime) -> None:
    """The vendor says that our access is gone, before any notice has met it."""
    subject = f"{channel} has taken our access away ({reason})"
    text = f"{subject}. Nobody is asked or can answer there until that is fixed."
    _tell(transitions, tx, f"cut_off:{channel}", subject, text, now, around=channel)


def signature_refused(transitions: Transitions, tx: Tx, channel: str, now: datetime) -> None:
    """A secret that was changed on one side alone, or a forger: the vendor may stop sending before long."""
    subject = f"Webhooks from {channel} are refused (wrong signature)"
    text = (
        f"{subject}. Either its secret is not the one that is configured here, or somebody else sends them. "
        "If it is the secret, the vendor stops sending after a few refusals, and answers given there are lost. "
        "Configure the new secret beside the old one."
    )
    _tell(transitions, tx, f"signature:{channel}", subject, text, now, around=channel)


def never_arrived(transitions: Transitions, tx: Tx, channel: str, ref: str, now: datetime) -> None:
    """The vendor has accepted a notice, and nothing has come of it that its webhooks would have told us."""
    subject = f"{channel} accepted a notice, and nothing came of it"
    text = (
        f"{channel} has accepted the notice of question {ref}. Five minutes later no webhook says that anybody was "
        "paged. Either nobody was, or its webhooks don't reach Handraise. Look at the service there, and at the "
        "webhook subscription."
    )
    _tell(transitions, tx, f"never_arrived:{channel}", subject, text, now, around=channel)


def never_gone(transitions: Transitions, tx: Tx, channel: str, ref: str, now: datetime) -> None:
    """The vendor accepts again and again that a question has ended, and goes on about it."""
    subject = f"{channel} goes on about a question that has ended"
    text = (
        f"{channel} has accepted several times that question {ref} has ended. No webhook says that its incident is "
        "resolved, so somebody may still be paged about it. Resolve it there, and look at the webhook subscription."
    )
    _tell(transitions, tx, f"never_gone:{channel}", subject, text, now, around=channel)


def people_unknown(transitions: Transitions, tx: Tx, channel: str, reason: str, now: datetime) -> None:
    """The vendor refuses to say who somebody is, until somebody mends that: whoever presses there is not known."""
    subject = f"{channel} refuses to say who people are ({reason})"
    text = (
        f"{subject}. People whom only {channel} knows can't answer there until that is fixed. "
        "Answers by other ways count."
    )
    _tell(transitions, tx, f"people:{channel}:{reason}", subject, text, now, around=channel)


def callback_died(transitions: Transitions, tx: Tx, agent: str, reason: str, ref: str, now: datetime) -> None:
    """An agent that could not be called back for as long as we try does not know how its question ended."""
    text = f"A callback to {agent} was given up ({reason}). {_untold(ref, 'dead')}"
    _tell(transitions, tx, f"dead:{agent}", f"Callbacks to {agent} are given up", text, now)


def callback_refused(transitions: Transitions, tx: Tx, agent: str, reason: str, ref: str, now: datetime) -> None:
    """An agent that wants no callback does not know how its question ended."""
    text = f"{agent} refused a callback ({reason}). {_untold(ref, 'refused')}"
    _tell(transitions, tx, f"callback_refused:{agent}", f"{agent} refuses callbacks", text, now)


def _untold(ref: str, status: str) -> str:
    return (
        f"Question {ref} has ended, and the agent was not told.\n\n"
        f"`handraise callbacks --status {status}` lists every such callback. `handraise redrive ID` sends one again."
    )


def asking_back_failed(transitions: Transitions, tx: Tx, agent: str, reason: str, ref: str, now: datetime) -> None:
    """An agent can't be asked back: the question goes on without its word."""
    text = (
        f"{agent} could not be asked back about question {ref} ({reason}). Reminders and the deadline wait for its "
        "word for a while, and then go on without it."
    )
    _tell(transitions, tx, f"asking_back:{agent}", f"{agent} can't be asked back", text, now)


def takeover_untold(transitions: Transitions, tx: Tx, agent: str, reason: str, now: datetime) -> None:
    """A fallback agent could not be told that it has taken over: the log alone says so."""
    text = (
        f"A callback to {agent} was given up ({reason}). It was to tell that {agent} has taken over for an agent that "
        "had failed.\n\n`handraise callbacks --status dead` lists every such callback. `handraise redrive ID` sends "
        "one again."
    )
    _tell(transitions, tx, f"dead:{agent}", f"Callbacks to {agent} are given up", text, now)


def _tell(
    transitions: Transitions, tx: Tx, key: str, subject: str, text: str, now: datetime, around: str | None = None
) -> None:
    """``key`` is the reason that is told once within :data:`QUIET`."""
    if transitions.alerts and markers.alert_is_new(tx, key, now, QUIET):
        message = Message(Purpose.ALERT, subject, f"{text}\n\nYou are told this at most once an hour.")
        transitions.dispatch(tx, transitions.alert_rows(message, now, around=around))
