"""Callbacks: the waiting agent is called back, signed, until it has taken the call.

``agents`` signs and sends (Standard Webhooks), ``client`` makes calls to addresses that a client chose. When and how
often a callback is tried is the relay's (``core/delivery/relay.py``).

What must never be: a call into our own network, a redirect that is followed, or a name that is checked at one time and
connected to at another.
"""
