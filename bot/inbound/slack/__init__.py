"""Inbound Slack: clicks, modals, commands, threads and the App Home, over sockets or HTTP.

``app`` is the entry for both ways, ``sockets`` keeps the connections of Socket Mode. ``listeners`` answers Slack:
commit, then ``ack()``, then words to the person in ``background``. ``identity`` says who pressed, ``answers`` applies
it to the question, ``outcomes`` are the results. ``command``, ``home`` and ``threads`` are the other ways to answer.

What must never be: an ``ack()`` before the commit, an error raised after it, or an identity that Slack merely displays.
"""
