"""The closed sets of a question: the allowed values of its fields that are not free text.

A module of their own, because both a question's types and its checks need them. Source: RFC-0025 §4, §6; RFC-0026 §4.1;
API.md §2.
"""

from __future__ import annotations

from typing import Literal

ResponseType = Literal["choice", "confirm", "text", "form"]
FallbackPolicy = Literal["fail", "complete_with_fallback", "use_default_and_continue"]
ChoiceStyle = Literal["primary", "danger", "default"]
Kind = Literal["input", "veto"]
Strategy = Literal["fixed"]
PagerSeverity = Literal["critical", "error", "warning", "info"]
YesOrNo = Literal["yes", "no"]
