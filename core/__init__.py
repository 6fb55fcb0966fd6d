"""Core: asking a person and waiting for the answer. It knows no channel and no web.

One question is a *suspension*. The domain decides what happens to it; the engine writes the decision down in one
transaction; delivery sends what that transaction left to be sent.

Read in this order:

1. ``domain``: the record and every move it can make. Pure.
2. ``engine``: one transition, from a call to a commit.
3. ``delivery``: what leaves, from the outbox.
4. ``inbound``: what comes in, written down once.
5. ``work``: when to look at what is due.
6. ``store`` (SQL), ``database`` (the connections below it) and ``audit`` (the log for whoever checks it).

``openintent`` is a wing: intents and what they stand in. It stands on all of the above, and none of them imports it:
``surroundings`` are the ports through which they learn what it knows.

At the root stand the values that all of them share: ``ports`` (what core asks of the world), ``errors``, ``hub``
(wakes whoever waits) and ``idempotency``.

What must never be: a vendor's name that decides something, a web framework, a message that is sent inside a
transaction, or an acknowledgement before the commit.
"""
