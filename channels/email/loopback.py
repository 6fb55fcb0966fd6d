"""Whether a host of ours is this very machine: what is said to it crosses no network. Pure."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """By its name or its address; no other name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
