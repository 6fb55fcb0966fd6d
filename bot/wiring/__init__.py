"""Wiring: the composition root. The only package that imports all others, and the only one that builds the parts.

Read ``composition`` first: :func:`wire` opens the database and builds every part from the settings. ``service`` has all
of them, and the order in which they start and stop. ``vendors`` builds the channels and ways in of the configured
vendors, by their descriptions (``bot.vendors``). ``reloading`` applies a changed configuration. ``roles`` says which
part of the service a process runs. ``shutdown`` limits its end to ten seconds.

What must never be: a rule about questions, or an import of a vendor's library that is not configured.
"""
