"""Limits of Slack, and our own limits below them.

Slack does not say whether it counts characters or UTF-16 units. Everything here is in UTF-16 units, which are never
fewer.

Source: https://docs.slack.dev/reference/block-kit (blocks, block-elements, composition-objects),
https://docs.slack.dev/reference/views/modal-views.
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

BLOCKS_TEXT = 11_000
"""All text of one message. Slack refuses at about 13,200 without documenting it: github.com/slackapi/bolt-js#2509."""

MODAL_TEXT = 30_000
"""All that the agent wrote in one modal. A view may have 250,000 characters of JSON, in which one may take six."""

FALLBACK_BYTES = 3_900
"""``chat.update`` refuses a ``text`` of more than 4,000 bytes after escaping, as GitLab found (gitlab!258898)."""

BUTTONS = 5
"""More choices than this are picked from a list in a modal."""

QUESTION = SECTION_TEXT
CONTEXT_KEY = 60
CONTEXT_VALUE = 160
LABEL_IN_FULL = 120
"""A choice whose label is longer than its button is told above it."""
DESCRIPTION = 200
ACTION = 1_200
FOOTER = 400
RISK = 300
NOTES = 600
EARLIER = 980
"""Of answers to earlier questions about the same action; three lines of three texts."""
ANSWER = 300
SENTENCE = 1_500
ENDED_ACTION = 600
ENDED_VALUE = 100
"""Of the context, beside the end of its question."""
REASON = 500
REPORT = 2_600
REPORT_IN_BRIEF = 300
CONFIRM_LABEL = 60
LABEL = 150
HINT = 300
OPTION_DESCRIPTION = 75
MODAL_HEAD = 5
"""Blocks above the inputs of a modal that does not show everything."""
FORM_FIELDS = MODAL_BLOCKS - MODAL_HEAD
PLAIN_QUESTION = 1_000
FALLBACK_ACTION = 400
FALLBACK_CHOICES = 25
FALLBACK_CHOICES_BYTES = 1_500

LARGEST_BOUND = 10**15
"""A bound of a number input beyond this is left to the engine: Slack's own arithmetic is a browser's."""

MORE = "… open to read all"
