"""Inbound: what comes in by a channel, written down once, in one transaction.

``settle`` takes what a door has understood: the id that was seen, the timeline's entry, the delivery that came back,
and the reply. All of it stands or falls together, so that a crash lets the same thing come again without harm.
``reports`` is what a door tells beside an answer (somebody was turned away, a door was shut, an id was seen).
``incidents`` records what happened to an incident at which several questions may be asked.

What must never be: an acknowledgement to the vendor before the commit, or parsing. Parsing is the channel's.
"""
