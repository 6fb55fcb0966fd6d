"""Wiring: the composition root. The only place that knows everyone, and the only one that builds the parts.

Read ``composition`` first: :func:`wire` opens the database and builds every part from the settings. ``service`` is all
of them, and the order in which they start and stop. ``vendors`` builds the channels and ways in of the vendors that are
set up, by their descriptions (``bot.vendors``). ``reloading`` takes in a configuration that has changed. ``roles`` says
which part of the service a process runs. ``shutdown`` bounds its end to ten seconds.

What must never be: a rule about questions, or an import of a vendor's library that is not configured.
"""
