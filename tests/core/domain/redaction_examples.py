"""Secrets that are none: of the shape that each issuer describes, or from its own documentation."""

from __future__ import annotations

from core.domain.redaction.kinds import FindingKind

PLANTED: dict[FindingKind, tuple[str, ...]] = {
    FindingKind.CARD: (
        "4111111111111111",
        "4111 1111 1111 1111",
        "5555-5555-5555-4444",
        "3782 822463 10005",
        "371449635398431",
        "6011.1111.1111.1117",
        "4111\u00a01111\u00a01111\u00a01111",
        "2223003122003222",
    ),
    FindingKind.IBAN: ("DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "fr1420041010050500013m02606"),
    FindingKind.SSN: ("123-45-6789", "078-05-1120"),
    FindingKind.EMAIL: ("alice@customer.example", "jörg.müller+shop@post.example"),
    FindingKind.PHONE: ("+49 30 901820", "+4915112345678", "+1 (415) 555-0132", "(415) 555-0132"),
    FindingKind.PRIVATE_KEY: (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----",
    ),
    FindingKind.TOKEN: (
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
        "glpat-abcdefghij0123456789",
        "xox" + "b-2345678901-abcdefghijklmn",
        "xapp-1-A0123456789-1234567890-abcdef",
        "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
        "rk_" + "test_4eC39HqLyjWDarjtT1zdp7dc",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "sk-proj-abcDEF123abcDEF123abcDEF",
        "hr_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFy1",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    ),
}
"""What is told by its shape alone."""

SAID = {
    "password: hunter2": "hunter2",
    "The password is in Password=correct-horse!": "correct-horse!",
    '{"api_key": "letmein"}': "letmein",
    "Authorization: Bearer abc.def-123": "abc.def-123",
    "Authorization: Basic dXNlcjpwYXNz": "dXNlcjpwYXNz",
    "curl -H 'Authorization: Token 0123abcd4567'": "0123abcd4567",
    "postgres://app:p@ss@db.internal/prod": "p@ss",
    "https://x.example/cb?token=abcdef": "abcdef",
    "client_secret := 'two words'": "two words",
    "pin: 4711": "4711",
    "SSN 123 45 6789": "123 45 6789",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG": "wJalrXUtnFEMI/K7MDENG",
}
"""What is told by the words before it."""

ORDINARY = (
    "Refund order 12345?",
    "Refund order 20261121-000123 (EUR 1,234,567.89)?",
    "Merge 3f2a9c1d4e5b6a7f8091a2b3c4d5e6f708192a3b into main?",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "Delete 550e8400-e29b-41d4-a716-446655440000?",
    "Cancel ORD-555-123-4567 and 030-12345678?",
    "Since 1774344000000, that is 2026-03-24T09:20:00Z",
    "EAN 4006381333931, tracking 1Z999AA10123456784",
    "Order 4111111111111112 has the length of a card number and no check digit",
    "Reset the password? Rotate the token?",
    "Token: expires tomorrow. Secret: santa.",
    "Basic responsibilities of the task-force-for-the-new-vendor",
    "Clone git@github.com:acme/shop.git at lodash@4.17.21",
    "10.0.0.1:8080 answers with 200, 404 and 503",
    "v1.2.3-beta.4+build.5",
    "[redacted: card number] was there",
    "+5 points, +12,500,000 EUR, -40 %",
)
"""What questions are about."""
