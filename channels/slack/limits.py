"""Slack's limits, and what we allow ourselves below them.

Slack does not say whether it counts characters or UTF-16 units, so everything here is kept in UTF-16 units, which are
never fewer. Source of the limits: https://docs.slack.dev/reference/block-kit (blocks, block-elements,
composition-objects), https://docs.slack.dev/reference/views/modal-views.
"""

from __future__ import annotations

# --- Slack's own ---

BUTTON_TEXT = 75
OPTION_TEXT = 75
HEADER_TEXT = 150
SECTION_TEXT = 3000
SECTION_FIELDS = 10
MODAL_TITLE = 24
MODAL_BLOCKS = 100
INPUT_TEXT = 3000
PLACEHOLDER = 150
OPTIONS = 100
CONFIRM_TITLE = 100
CONFIRM_TEXT = 300
CONFIRM_BUTTON = 30

# --- ours, so that a whole message stays under BLOCKS_TEXT ---

BLOCKS_TEXT = 10_000
"""All text of one message. Slack refuses at about 13,200 without documenting it: github.com/slackapi/bolt-js#2509."""

FALLBACK_BYTES = 3_900
"""``chat.update`` refuses a ``text`` of more than 4,000 bytes after escaping, as GitLab found (gitlab!258898)."""

BUTTONS = 5
"""More choices than this are picked from a list in a modal."""

QUESTION = 2_800
CONTEXT_KEY = 60
CONTEXT_VALUE = 180
DESCRIPTION = 200
FOOTER = 800
RISK = 300
NOTES = 1_000
ANSWER = 300
SENTENCE = 2_600
CONFIRM_LABEL = 60
LABEL = 150
HINT = 300
FORM_FIELDS = 50
PLAIN_QUESTION = 1_000

MORE = "… open to read all"
