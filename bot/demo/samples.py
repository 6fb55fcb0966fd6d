"""The questions that the demo's agents ask.

The first is RFC-0025 §9.1's example; each of the others shows another kind of answer or another way in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from handraise import EscalationRung, ResponseType, SuspensionChoice
from pydantic import JsonValue

CHANNEL = "slack:C0OPS"
RESPONDER = "you@example.com"

MAIL_SECOND = (EscalationRung(attempt=2, channel_hint="email"),)
MAIL_THEN_PAGER = (*MAIL_SECOND, EscalationRung(attempt=3, channel_hint="pagerduty"))


@dataclass(frozen=True, slots=True)
class Sample:
    """One question of one agent. ``button`` is its label on the page; the rest is the SDK's. ``action`` is the action
    that an answer releases: people are shown it.

    ``attempts`` are asked an interval apart, of at most ``longest_interval`` seconds if that is given; after the last
    one the agent goes on with ``fallback``, or stops if there is none.
    """

    name: str
    agent: str
    button: str
    question: str
    response_type: ResponseType
    channel: str = "slack"
    choices: tuple[SuspensionChoice, ...] = ()
    context: Mapping[str, JsonValue] = field(default_factory=dict)
    action: Mapping[str, JsonValue] | None = None
    form_schema: Mapping[str, JsonValue] | None = None
    ladder: tuple[EscalationRung, ...] = ()
    attempts: int = 3
    longest_interval: int | None = None
    fallback: JsonValue = None


REFUND = Sample(
    name="refund",
    agent="refund-agent",
    button="Slack → mail → pager",
    question="Refund order 12345?",
    response_type="choice",
    choices=(
        SuspensionChoice(
            value="approve",
            label="Approve refund",
            description="Issue full refund to original payment method",
            style="primary",
        ),
        SuspensionChoice(value="deny", label="Deny refund", description="Reject and close the case", style="danger"),
        SuspensionChoice(value="escalate", label="Escalate", description="Route to a senior operator"),
    ),
    context={"order_id": "12345", "amount": 499.99},
    action={"tool": "payments.refund", "order_id": "12345", "amount_in_cents": 49999},
    ladder=MAIL_THEN_PAGER,
    fallback="deny",
)

INVOICE = Sample(
    name="invoice",
    agent="invoice-agent",
    button="By mail",
    question="Pay invoice 2024-117 of Northwind over $4,200?",
    response_type="choice",
    channel="email",
    choices=(
        SuspensionChoice(value="pay", label="Pay it", style="primary"),
        SuspensionChoice(value="ask_back", label="Ask Northwind first"),
    ),
    context={"invoice": "2024-117", "supplier": "Northwind", "usual_amount": "$2,900"},
    action={"tool": "bank.transfer", "to": "Northwind", "amount": "4200.00", "currency": "USD"},
    ladder=(EscalationRung(attempt=2, channel_hint="pagerduty"),),
    attempts=2,
)

DEPLOY = Sample(
    name="deploy",
    agent="deploy-agent",
    button="On the pager",
    question="Deploy 2.4.0 to production?",
    response_type="confirm",
    channel="pagerduty",
    context={"release": "2.4.0", "tests": "1,204 passed", "error_budget": "18 min left"},
    action={"tool": "deploy.release", "release": "2.4.0", "environment": "production"},
    attempts=2,
)

PARCEL = Sample(
    name="parcel",
    agent="support-agent",
    button="Text in Slack",
    question="What shall I tell customer 881 about the late parcel?",
    response_type="text",
    context={"customer": "881", "parcel": "stuck at customs since Tuesday"},
    ladder=MAIL_THEN_PAGER,
)

ADDRESS = Sample(
    name="address",
    agent="shipping-agent",
    button="Form in Slack",
    question="Where shall order 12346 go instead?",
    response_type="form",
    context={"order_id": "12346", "problem": "The street does not exist"},
    form_schema={
        "type": "object",
        "properties": {
            "street": {"type": "string", "title": "Street and number", "minLength": 3},
            "city": {"type": "string", "title": "City"},
            "carrier": {"type": "string", "title": "Carrier", "enum": ["DHL", "UPS", "Courier"]},
            "deliver_on": {"type": "string", "format": "date", "title": "Deliver on"},
        },
        "required": ["street", "city", "carrier"],
    },
    ladder=MAIL_SECOND,
    attempts=2,
)

CLEANUP = Sample(
    name="cleanup",
    agent="cleanup-agent",
    button="Left alone",
    question="Delete 1,204 accounts that nobody has used for three years?",
    response_type="confirm",
    attempts=2,
    longest_interval=10,  # so that somebody who watches sees it end
    fallback="no",
)

INVOICE_CLIMBS = replace(INVOICE, name="invoice-climbs", channel="slack", ladder=MAIL_SECOND)
DEPLOY_CLIMBS = replace(DEPLOY, name="deploy-climbs", channel="slack", ladder=MAIL_THEN_PAGER)
"""The same, but asked on Slack first: somebody has to wait for the ladder to bring them."""

ON_THE_PAGE = (REFUND, PARCEL, ADDRESS, INVOICE, DEPLOY, CLEANUP)
"""Those with a button, in its order."""

SAMPLES: Mapping[str, Sample] = {one.name: one for one in (*ON_THE_PAGE, INVOICE_CLIMBS, DEPLOY_CLIMBS)}
