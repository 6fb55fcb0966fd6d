"""``redaction`` and ``quotas`` in the configuration (API.md §8): what they come to, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.config.loading import load
from bot.config.settings import Settings
from core.domain.redaction.kinds import FindingKind
from core.domain.redaction.redaction import PAGE, Policy
from core.engine.quotas import Quota
from core.errors import ConfigError

KEYS = "api_keys: [{name: a, key: k1, roles: [agent], quotas: {per_minute: 5}}, {name: b, key: k2, roles: [agent]}]"


def read(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    file = folder / "handraise.yaml"
    file.write_text(text)
    return load(file, environ or {})


def test_everything_is_redacted_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    rules = read(tmp_path, "").redaction.rules
    assert {rules.policy_on(name) for name in ("slack", "email", "pagerduty", PAGE)} == {Policy.REDACT}
    assert rules.finder.texts.keep == frozenset()


@pytest.mark.parametrize(("word", "policy"), [("off", Policy.OFF), ("'off'", Policy.OFF), ("Reject", Policy.REJECT)])
def test_a_policy_may_be_written_as_yaml_reads_it(tmp_path: Path, word: str, policy: Policy) -> None:
    """YAML takes a bare ``off`` for false."""
    assert read(tmp_path, f"redaction: {{policy: {word}}}").redaction.rules.policy_on("slack") is policy


def test_a_channel_may_have_a_policy_of_its_own(tmp_path: Path) -> None:
    text = "redaction: {policy: reject, channels: {email: {policy: off}, page: {policy: redact}}}"
    rules = read(tmp_path, text).redaction.rules
    assert rules.policy_on("slack") is Policy.REJECT
    assert rules.policy_on("email") is Policy.OFF
    assert rules.policy_on(PAGE) is Policy.REDACT


def test_keys_patterns_and_kept_kinds_are_the_installations_own(tmp_path: Path) -> None:
    text = 'redaction: {keys: [customer_no], patterns: ["EMP-[0-9]{2,3}", "K[0-9]+"], keep: [email]}'
    rules = read(tmp_path, text).redaction.rules
    assert rules.finder.texts.keep == {FindingKind.EMAIL}
    assert rules.finder.mapping({"customerNo": 1, "note": "EMP-12, K1 of bob@example.com"}) == {
        "customerNo": "[redacted]",
        "note": "[redacted], [redacted] of bob@example.com",
    }


def test_variables_set_them_too_and_a_pattern_may_hold_commas(tmp_path: Path) -> None:
    environ = {
        "HANDRAISE_REDACTION__POLICY": "reject",
        "HANDRAISE_REDACTION__KEYS": "customer_no, case_no",
        "HANDRAISE_REDACTION__PATTERNS": "EMP-[0-9]{2,3}",
        "HANDRAISE_REDACTION__CHANNELS__EMAIL__POLICY": "off",
        "HANDRAISE_QUOTAS__OPEN": "7",
    }
    settings = read(tmp_path, "", environ)
    assert settings.redaction.rules.policy is Policy.REJECT
    assert settings.redaction.rules.policy_on("email") is Policy.OFF
    assert settings.redaction.keys == ("customer_no", "case_no")
    assert settings.redaction.patterns == ("EMP-[0-9]{2,3}",)
    assert settings.quotas.open == 7


def test_without_quotas_no_key_is_limited(tmp_path: Path) -> None:
    quotas = read(tmp_path, "api_keys: [{name: a, key: k1, roles: [agent]}]").key_quotas
    assert quotas.everybody == Quota()
    assert set(quotas.of_keys.values()) == {Quota()}


def test_a_keys_own_quota_counts_before_everybodys_field_by_field(tmp_path: Path) -> None:
    quotas = read(tmp_path, f"{KEYS}\nquotas: {{open: 10, per_minute: 100}}").key_quotas
    assert quotas.of_keys == {"a": Quota(10, 5), "b": Quota(10, 100)}
    assert quotas.everybody == Quota(10, 100)


WRONG = [
    ("redaction: {policy: hide}", "redaction.policy must be redact, reject or off"),
    ("redaction: {policy: on}", "redaction.policy must be redact, reject or off"),
    ("redaction: {channels: {page: {policy: reject}}}", "redaction.channels.page.policy must be redact or off"),
    ("redaction: {channels: {slack: {}}}", "redaction.channels.slack.policy is missing"),
    ("redaction: {channels: {slak: {policy: off}}}", "unknown key redaction.channels.slak"),
    ("redaction: {pattern: [a]}", "unknown key redaction.pattern; did you mean redaction.patterns?"),
    ("redaction: {keep: [cards]}", "redaction.keep[0] must be email or phone"),
    ('redaction: {patterns: ["EMP-[0-9"]}', "redaction.patterns[0] must be a regular expression as Python's re has"),
    ('redaction: {patterns: [ok, "x*"]}', "redaction.patterns[1] must not match the empty text"),
    (
        'redaction: {patterns: ["(a+)+b"]}',
        "redaction.patterns[0] must not repeat what can itself match in several ways",
    ),
    ("quotas: {open: 0}", "quotas.open must be a whole number from 1 to 1000000"),
    ("quotas: {per_hour: 3}", "unknown key quotas.per_hour; did you mean quotas.per_minute?"),
    ("api_keys: [{name: a, key: k, roles: [agent], quotas: {open: many}}]", "api_keys[0].quotas.open must be a whole"),
]


@pytest.mark.parametrize(("text", "line"), WRONG)
def test_what_is_wrong_is_one_line_that_names_the_key(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text)
    assert line in refused.value.message
    assert "\n" not in refused.value.message
