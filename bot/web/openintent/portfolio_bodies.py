"""Request bodies of portfolios. Both spellings of their governance are taken: RFC-0007's and the published client's."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bot.web.api.paging import Instant
from bot.web.api.requests import IntentId, JsonObject, Name, Strict, such_as
from core.domain.wire import instant
from core.errors import InvalidRequest
from core.openintent.containers.portfolios import NewPortfolio
from core.openintent.domain.portfolio import MembershipRole, PortfolioStatus


class GovernanceBody(BaseModel):
    """What a portfolio is to keep to. ``deadline`` counts; whatever else is said is kept and shown."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"additionalProperties": {"$ref": "#/components/schemas/JsonValue"}}
    )
    __pydantic_extra__: dict[str, JsonValue]

    deadline: Instant | None = None
    """When whatever of the portfolio still waits for a person is abandoned. In the future."""

    def said(self) -> JsonObject:
        """All of it, the deadline in UTC."""
        said: JsonObject = dict(self.__pydantic_extra__ or {})
        return said if self.deadline is None else {**said, "deadline": instant(self.deadline)}


class PortfolioBody(
    Strict, json_schema_extra=such_as({"name": "Release 7", "governance": {"deadline": "2030-03-24T12:00:00Z"}})
):
    """RFC-0007. ``created_by`` is the caller's key, whatever is written; ``governance_policy`` and ``governance`` are
    one field."""

    name: Name
    """What the portfolio is called."""
    description: Annotated[str, Field(max_length=40_000)] | None = None
    """What it is for."""
    created_by: Annotated[str, Field(max_length=320)] | None = None
    """Ignored: the caller's key owns the portfolio."""
    governance_policy: GovernanceBody | None = None
    """What its intents are to keep to."""
    governance: GovernanceBody | None = None
    """The same as `governance_policy`, in the published client's spelling."""
    metadata: JsonObject | None = None
    """Anything of yours."""

    def wanted(self) -> NewPortfolio:
        """Raises :class:`InvalidRequest` if the two spellings say different things."""
        if self.governance is not None and self.governance_policy not in (None, self.governance):
            raise InvalidRequest("governance and governance_policy are one thing.", path="governance")
        field = "governance_policy" if self.governance is None else "governance"
        governance = self.governance or self.governance_policy or GovernanceBody()
        return NewPortfolio(
            name=self.name,
            description=self.description,
            governance_policy=governance.said(),
            deadline=governance.deadline,
            path=f"{field}.deadline",
            metadata=self.metadata or {},
        )


class PortfolioStatusBody(Strict, json_schema_extra=such_as({"status": "completed"})):
    """Where the portfolio is to stand."""

    status: PortfolioStatus
    """The new status. Ended portfolios stay ended."""


class MembershipBody(Strict, json_schema_extra=such_as({"intent_id": "…", "role": "member", "priority": 0})):
    """Which intent belongs to the portfolio, as what. A higher ``priority`` comes first."""

    intent_id: IntentId
    """The intent to put in."""
    role: MembershipRole | None = None
    """What it is there; `member` if you leave it out."""
    priority: Annotated[int, Field(strict=True, ge=-1_000_000, le=1_000_000)] | None = None
    """A higher one comes first; 0 if you leave it out."""
