"""Bodies that work as they stand, for the OpenAPI document."""

from __future__ import annotations

from pydantic import JsonValue

Examples = list[JsonValue]

SUSPEND: Examples = [
    {
        "question": "Refund order 12345?",
        "choices": [
            {"value": "approve", "label": "Approve refund", "style": "primary"},
            {"value": "deny", "label": "Deny refund", "style": "danger"},
        ],
        "context": {"order_id": "12345", "amount": 499.99},
        "timeout_seconds": 3600,
        "fallback_policy": "complete_with_fallback",
        "fallback_value": "deny",
        "retry_policy": {"max_attempts": 3, "interval_seconds": 3600},
    },
    {"question": "What should the release notes say?", "response_type": "text", "timeout_seconds": 86400},
    {
        "question": "Ship to this address?",
        "response_type": "form",
        "form_schema": {
            "type": "object",
            "properties": {"city": {"type": "string", "title": "City"}, "express": {"type": "boolean"}},
            "required": ["city"],
        },
    },
    {"question": "Deploy at noon unless somebody objects.", "kind": "veto", "timeout_seconds": 7200},
]
RESPOND: Examples = [
    {
        "suspension_id": "565fb386-c48e-4b75-ac3f-54fa515fa9b0",
        "value": "approve",
        "metadata": {"reason": "The parcel was lost."},
    }
]
SIGNAL: Examples = [{"value": "approve"}]
CANCEL: Examples = [{"reason": "The customer withdrew."}]
CLAIM: Examples = [{"seconds": 1800}]
PAUSE: Examples = [{"reason": "refund-agent asks in a loop."}]
ASSIGN: Examples = [{"to": "alice@example.com"}]
CLARIFY: Examples = [{"question": "Which account does the refund go to?"}]
CLARIFICATION: Examples = [{"text": "To the card that the order was paid with."}]
SESSION: Examples = [{"metadata": {"thread": "t-1"}}]
ENGAGEMENT: Examples = [{"confidence": 0.55, "risk": 0.4, "reversibility": 0.9}]
INTENT: Examples = [{"title": "Refund order 12345", "status": "active", "state": {"cart": {"items": 7}}}]
STATUS: Examples = [{"status": "active"}]
STATE: Examples = [{"patches": [{"op": "set", "path": "/cart/items", "value": 7}]}, {"state": {"cart": {"items": 7}}}]
EVENT: Examples = [{"event_type": "refund.prepared", "payload": {"amount": 499.99}}]
