"""The web: what HTTP brings, and what no connection may do.

``api`` is for agents and clients, ``openintent`` has the routes of that wing, ``pages`` are for people, ``hooks`` for
vendors, ``monitoring`` for Prometheus and load balancers. ``errors`` writes every error as one envelope. What stands
before all of them is ``bot.front``.

What must never be: an error that repeats a value from the request, or a GET that changes something.
"""
