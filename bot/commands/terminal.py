"""Writing to a terminal what others have written."""

from __future__ import annotations


def one_line(text: str, longest: int) -> str:
    """Terminal-safe: control characters, which an agent may have written, are shown as spaces."""
    clean = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"
