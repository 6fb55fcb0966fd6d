"""Intents and what belongs to them: their agents, and what becomes due for them (RFC-0001, RFC-0003, RFC-0010).

Read ``access`` first: whose an intent is, and what each may do. ``intents`` is what clients do to one, ``members`` who
else works on it, ``intent_leases`` who has a part of it alone. ``retrying`` records failures of agents and decides what
becomes of them; ``takeover`` hands an intent to the fallback agent. ``due_work`` does what is due beside the questions'
own clock, and ``reconciler`` what an older version has left undone. ``subscriptions`` says who hears of events, and
``follower`` finds them in the log.

Every change locks the intent first, then whatever belongs to it, and ends in one line of its log (``writing``). What an
agent may not read, it does not find. ``client_steps`` opens a suspension as the published client asks for one. Nobody
here moves one that is open: that is the engine's.
"""
