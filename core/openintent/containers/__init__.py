"""Containers: what intents stand in (graphs, portfolios, plans, workflows) and who looks after them (coordinators).

Each module is what clients do to one kind of container, and what they read of it. Aggregates are worked out when they
are read (``core.openintent.store.aggregates``); nothing here is written because an intent moved. What a move does to
the intents around it is ``core.openintent.propagation``.
"""
