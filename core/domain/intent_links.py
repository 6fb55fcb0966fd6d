"""Links: which containers an intent has to do with, as one integer, so that a lone intent pays for none of them.

A bit is set when such a thing is first made for the intent, and stays: it says where to look, not what is there.
"""

from __future__ import annotations

from enum import IntFlag


class Link(IntFlag):
    """What may have to follow when the intent moves."""

    NONE = 0
    PARENT = 1
    CHILDREN = 2
    DEPENDENCIES = 4
    """It has upstreams: it depends on them, or takes their outputs as inputs."""
    DEPENDENTS = 8
    """Others depend on it, or take its outputs."""
    TASKS = 16
    PORTFOLIOS = 32
    PHASE = 64
    """It is a phase of a workflow."""
    COORDINATORS = 128
    CHECKPOINTS = 256
    OVER = 16384
    """It has ended, and all that follows from that is done. Beyond every other bit: an index leaves these out."""


class Hold(IntFlag):
    """What keeps an intent blocked, or will once its own suspension has ended. Only what is here is ever undone by us:
    an intent that is blocked without a hold was blocked by its agent."""

    NONE = 0
    UPSTREAM = 1
    """An intent that it depends on (RFC-0026 §2 rule 2)."""
    COORDINATOR = 2
    """A coordinator with ``block_dependents`` (RFC-0026 §3)."""


class EdgeKind:
    """Why an intent waits for another, its upstream."""

    DEPENDENCY = "dependency"
    """``depends_on`` (RFC-0002)."""
    INPUT = "input"
    """A phase takes an output of the upstream's (RFC-0024)."""
    CHILD = "child"
    """A parent is completed after its children (RFC-0002). It holds nobody."""


HOLD_OF = {EdgeKind.DEPENDENCY: Hold.UPSTREAM, EdgeKind.INPUT: Hold.COORDINATOR}
"""What keeps an intent blocked as long as an upstream of that kind is not completed."""
