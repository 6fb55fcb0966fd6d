"""Links: the kinds of container that an intent is in, as one integer. A lone intent costs no query for any of them.

A bit is set when the first such link is made for the intent, and stays: it says where to look, not what is there.
"""

from __future__ import annotations

from enum import IntFlag


class IntentLink(IntFlag):
    """A kind of thing that may have to change when the intent moves."""

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


class IntentHold(IntFlag):
    """What keeps an intent blocked, or will once its own suspension has ended. We only undo our own holds: a block
    without a hold is its agent's."""

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


HOLD_OF = {EdgeKind.DEPENDENCY: IntentHold.UPSTREAM, EdgeKind.INPUT: IntentHold.COORDINATOR}
"""The hold of an intent as long as an upstream of that kind is not completed."""
