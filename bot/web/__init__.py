"""The web: what HTTP brings, and what no connection may do.

``api`` is for agents and clients, ``pages`` for people, ``hooks`` for vendors, ``monitoring`` for Prometheus and load
balancers. ``errors`` writes every error as one envelope.

Before a request reaches any of them: ``protocol`` is one connection, ``connections`` all of them, ``admission`` (pure)
which of them gives way; ``limits`` refuses bodies that are too large or that no database can keep. ``headers`` is what
every reply carries.

What must never be: an error that repeats a value from the request, a body that is read without a limit, or a GET that
changes something.
"""
