"""A reply's body is JSON that says what was kept, whatever that is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.web.api.replies import reply


@pytest.mark.parametrize(
    "kept",
    [
        *("Zürich 🙂 \u2028 \x7f", "</script>", "half \ud800"),  # the last an older version has let in
        *(10**30, -(10**30), 2**53 + 1, 1e16, 1e-7, -0.0, 0.1, 1.7976931348623157e308),
        *(True, None, [], {}, [[{"": [None]}]]),
        json.loads("[" * 300 + "]" * 300),
    ],
    ids=lambda kept: ascii(kept)[:40],
)
def test_a_body_is_read_as_what_was_written(kept: Any) -> None:
    body = reply({"kept": kept}).body
    assert repr(json.loads(bytes(body))) == repr({"kept": kept})
