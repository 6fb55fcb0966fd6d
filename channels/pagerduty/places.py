"""Where on PagerDuty a short message goes: an address's value is a service's name, or an incident.

``incident/PABC123`` is written to as a note; anything else is a service, which is paged.
"""

from __future__ import annotations

_INCIDENT = "incident/"


def incident_place(incident: str) -> str:
    """The value of an address that stands for a note on this incident."""
    return f"{_INCIDENT}{incident}"


def incident_of(place: str) -> str | None:
    """The incident whose notes ``place`` means, ``None`` for a service."""
    return place.removeprefix(_INCIDENT) if place.startswith(_INCIDENT) else None
