"""Intents, their agents, and what becomes due for them (RFC-0001, RFC-0003, RFC-0010).

Read ``access`` first: who owns an intent, and who may do what. ``intents`` has a client's changes to one, ``members``
its other agents, ``intent_leases`` who holds a part of it alone. ``retrying`` records failures of agents and decides
what follows, such as a takeover by the fallback agent. ``due_work`` does what is due beside the questions'
own clock, and ``reconciler`` what an older version has left undone. ``subscriptions`` says who receives events, and
``follower`` finds these in the log.

Every change locks the intent first, then its parts, and ends in one line of its log (``writing``). An agent does not
find what it may not read. ``client_steps`` opens a suspension for the published client. Nothing here moves an open
suspension: only the engine does.
"""
