"""Containers of intents (graphs, portfolios, plans, workflows), and the coordinators that look after them.

Each module has a client's changes to one kind of container, and its reads. Aggregates are computed when they are read
(``core.openintent.store.intent_graph``); nothing here is written because an intent moved.
``core.openintent.propagation`` has what a move does to the intents around it.
"""
