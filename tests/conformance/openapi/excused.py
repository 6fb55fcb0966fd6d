"""Refusals of requests that fit the document, for reasons that JSON Schema has no words for.

Such a request is as good as accepted; every other refusal of a request that fits is a failure. The rules are API.md's
(§1, §2, §4, §5, §7): how values of one body compare, what is inherited, what is stored, what is configured.
"""

from __future__ import annotations

import re
from typing import Any

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData

CODES = {
    "answers_unreachable",  # how many people may answer?
    "dependency_cycle",  # who waits for whom?
    "deadline_too_short",  # what of the policy comes before it?
    "callback_not_allowed",  # is the address public, and has this key a secret to sign with?
    "invalid_answer",  # what does this question take?
    "invalid_choice",
    "invalid_recipient",  # is it one once its blanks are gone?
    "no_recipient",  # who is reachable?
    "receipt_invalid",  # was it made here, of this action and this answer?
    "recipient_not_allowed",  # whom may this service ask?
    "suspension_resume_payload_invalid",  # what does the agent's own schema take?
    "unknown_channel",  # which channels are set up?
}
MESSAGES = re.compile(
    r"Two choices have the same value\."
    r"|A choice needs no more answers than the question's answers_required\."
    r"|A choice whose value is an approval can't be called a negative\."
    r"|fallback_value is not one of the choices\."
    r"|\w+ needs a fallback_value\."  # where the policy that needs it is inherited
    r"|retry_policy\.interval_seconds must not be greater than timeout_seconds\."
    r"|More than one attempt needs .*"  # unless they are inherited
    r"|The timeout_seconds of a veto window \(\d+\) are all its time: .*"  # how many attempts are inherited?
    r"|Every rung's attempt must be between 1 and max_attempts .*"
    r"|Two rungs name the same attempt\."
    r"|There is no group .*"
    r"|There is no such intent\."
    r"|The path names another parent\."
    r"|There is no such key\."
    r"|A subscription expires in the future\."
    r"|Name an intent or a portfolio, or neither\."
    r"|A portfolio's deadline lies in the future\."
    r"|governance and governance_policy are one thing\."
    r"|This is nobody of the directory, .*"
    r"|action has no canonical JSON .*"  # integers beyond 2^53 (RFC 8785)
    r"|(form_schema|resume\.payload_schema) is (not a usable JSON Schema|too large).*"
    r"|form_schema\.properties\..* must be a simple type: a form is flat\."
    r"|base_delay_ms must not be greater than max_delay_ms\."
    r"|intent_id is another intent's\."
    r"|error_code and error_type are one code\."
    r"|The (intent|plan) has no such task\."
    r"|There is no such task on which you may work\."
    r"|The name of an agent must .*"
    r"|There is no such phase\."
    r"|Name an intent or a portfolio, and not both\."
    r"|A coordinator ends in the future\."
    r"|Two phases have the same name\."
    r"|That phase declares no output of this name\."
    r"|since: (this day is after .*|at most .*)"
    r"|(since|until): write .*a day such as 2026-03-01\."  # 2026-02-30
    r"|time_zone: there is none of this name; .*"
    r"|(This path leads nowhere in the state|append needs a list at this path)\.",
    re.DOTALL,
)


def is_excused(failure: Failure, case: schemathesis.Case, response: schemathesis.Response) -> bool:
    """Whether ``failure`` is a refusal that the document could not have foretold."""
    if not isinstance(failure, RejectedPositiveData) or response.status_code not in (400, 422):
        return False
    detail = response.json()["detail"]
    problems = detail.get("fields", [])
    return detail["error"] in CODES or (bool(problems) and all(_is_unsayable(one, case.body) for one in problems))


def _is_unsayable(problem: dict[str, str], body: Any) -> bool:
    return bool(MESSAGES.fullmatch(problem["message"])) or _is_whole_float(body, problem["path"])


def _is_whole_float(body: Any, path: str) -> bool:
    """``60.0`` is an integer to JSON Schema, and none to API.md §1, whose integers are strict."""
    for step in path.split("."):
        if isinstance(body, dict):
            body = body.get(step)
        elif isinstance(body, list) and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
    return isinstance(body, float) and body.is_integer()
