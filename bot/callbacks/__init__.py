"""Callbacks: signed calls to the waiting agent.

``agents`` signs and sends (Standard Webhooks), ``client`` makes calls to addresses that a client chose. The relay
decides when and how often a callback is tried (``core/delivery/relay.py``).

What must never be: a call into our own network, a redirect that is followed, or a name that is checked at one time and
connected to at another.
"""
