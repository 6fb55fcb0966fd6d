"""What can go wrong with the next envelope of Socket Mode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Duplicated:
    """It is delivered twice, over two sockets where there are two."""


@dataclass(frozen=True)
class AckLost:
    """Its acknowledgement comes, and Slack does not hear it."""


@dataclass(frozen=True)
class CutAfterDelivery:
    """The connection dies while the service is at it."""


@dataclass(frozen=True)
class RefreshAfterDelivery:
    """Slack wants the socket to be opened anew while the service is at it."""

    reason: str = "refresh_requested"


SocketFault = Duplicated | AckLost | CutAfterDelivery | RefreshAfterDelivery
