"""The closed sets of a question: what may stand in those of its fields that are no free text.

In a module of their own, since both what a question is made of and what checks it need them. Source: RFC-0025 §4, §6;
RFC-0026 §4.1; API.md §2.
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
