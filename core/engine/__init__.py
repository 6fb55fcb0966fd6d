"""The engine: one transition, from a call to a commit.

Read ``engine`` first: request, respond, claim, release, cancel, look. Each loads the record, asks the domain, and
saves in one transaction. ``transitions`` is that transaction: record, events, intent and outbox rows. Nothing else
moves a suspension.

Asking: ``opening`` goes through ``drafting`` (policy, choices, checks), ``planning`` (whom each attempt asks) and
``quotas``. When an answer comes: ``permissions`` (who may answer) and ``reception`` (what becomes of it). Who is asked
as of now: ``recipients``. While it is open: ``collaboration`` (hand over, ask back), ``refresh`` (messages that are no
longer true) and ``outages`` (times move by an outage of ours). Reading: ``queries`` (which question is meant),
``inbox``, and ``channel_views`` (what a channel shows of a question).

What must never be: a message that is sent here, a second way to change a suspension, or an answer that counts without
going through :meth:`Engine.respond`.
"""
