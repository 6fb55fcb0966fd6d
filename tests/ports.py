"""Ports for servers whose address has to be known before they are there."""

from __future__ import annotations

import random
import socket

_BELOW_THE_EPHEMERAL = range(15_000, 32_000)
"""No connection of this machine's own takes one of these meanwhile, however many there are."""


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    while True:
        port = random.choice(_BELOW_THE_EPHEMERAL)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
