"""Inbound: records what comes in through a channel, once and in one transaction.

``correspondence`` takes what an inbound adapter has understood: the ids, the timeline's entry, the returned delivery,
and the reply. All of it is one transaction, so that after a crash the same thing may come again without harm.
``reports`` takes other reports of an adapter: a person was turned away, access was revoked, an id was seen.
``incidents`` records what happened to an incident that may have several questions.

What must never be: an acknowledgement to the vendor before the commit, or parsing. Parsing is the channel's.
"""
