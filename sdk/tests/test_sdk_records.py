"""Every field that the server writes has a name here. ``golden.json`` is what the server writes; a test there holds it
to that."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from handraise import Resumed, Suspended
from pydantic import BaseModel

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text())


def fields_of(read: BaseModel, written: dict[str, Any], found: dict[type[BaseModel], set[str]]) -> None:
    """Collect which fields were written of each model that ``read`` is made of."""
    found[type(read)] |= written.keys()
    for name, value in read:
        parts = value if isinstance(value, tuple) else (value,)
        for number, part in enumerate(parts):
            if isinstance(part, BaseModel):
                fields_of(part, written[name][number] if isinstance(value, tuple) else written[name], found)


def test_the_models_have_the_fields_that_the_server_writes_and_no_others() -> None:
    callback = {"webhook_id": "msg_1", **GOLDEN["callback"], **GOLDEN["callback"]["data"]}
    del callback["data"]
    found: dict[type[BaseModel], set[str]] = defaultdict(set)
    fields_of(Suspended.model_validate(GOLDEN["suspended"]), GOLDEN["suspended"], found)
    fields_of(Resumed.model_validate(callback), callback, found)
    assert {model.__name__: names for model, names in found.items()} == {
        model.__name__: set(model.model_fields) for model in found
    }
    assert {model.__name__ for model in found} == {
        "Suspended",
        "PlannedAttempt",
        "PreviewProblem",
        "SuspensionRecord",
        "SuspensionChoice",
        "HumanRetryPolicy",
        "EscalationRung",
        "GivenAnswer",
        "Clarification",
        "Resumed",
    }
