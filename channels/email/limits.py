"""How much of a mail any door takes. Pure."""

from __future__ import annotations

LARGEST_MAIL = 5 * 1024 * 1024
"""Octets, headers and all."""
