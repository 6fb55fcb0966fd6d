"""A mailbox with its name is read by one rule on every Python: the standard library's changed within patch releases."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from core.domain.people import named_mailbox

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("written", "name", "address"),
    [
        ("alice@example.com", "", "alice@example.com"),
        ("  alice@example.com ", "", "alice@example.com"),
        ("<alice@example.com>", "", "alice@example.com"),
        ("Alice Doe <alice@example.com>", "Alice Doe", "alice@example.com"),
        ('"Doe, Alice" <alice@example.com>', "Doe, Alice", "alice@example.com"),
        (r'"Alice \"Al\" Doe" <alice@example.com>', 'Alice "Al" Doe', "alice@example.com"),
        ("Ä Ö <ä@exämple.com>", "Ä Ö", "ä@exämple.com"),
        ("alice@example.com, mallory@evil.test", "", ""),
        ("Alice <alice@example.com>, Mallory <mallory@evil.test>", "", ""),
        ("alice@example.com <mallory@evil.test>", "", ""),
        ("alice@example.com (mallory@evil.test)", "", ""),
        ("alice@@example.com", "", ""),
        ("Alice", "", ""),
        ("", "", ""),
    ],
)
def test_a_mailbox_is_read_with_its_name_or_not_at_all(written: str, name: str, address: str) -> None:
    assert named_mailbox(written) == (name, address)


def test_nothing_reads_addresses_by_the_standard_library() -> None:
    """``parseaddr`` and ``getaddresses`` say something else from 3.11.10, 3.12.6 and 3.13 on."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("bot", "core", "channels", "sdk/handraise")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom | ast.Attribute)
        and {"parseaddr", "getaddresses"}
        & ({alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else {node.attr})
    ]
    assert found == []
