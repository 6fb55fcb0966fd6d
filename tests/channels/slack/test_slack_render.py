"""What people see in Slack: all they need to decide, nothing that Slack refuses, nothing that mentions anybody."""

from __future__ import annotations

import json
import re
import zlib
from datetime import UTC, datetime
from typing import Any

import pytest

from channels.slack import limits
from channels.slack.modals import answer_modal
from channels.slack.mrkdwn import clipped, escaped, plain_text
from channels.slack.render import Rendered, render_ending, render_message, render_notice
from core.domain.action import ShownAction
from core.domain.notice import Message, NoticeChoice, Purpose
from core.domain.suspension import EarlierAnswer, ResponseType, Status, Style
from tests.channels.slack.slack_examples import a_notice, an_ending, many_choices
from tests.vendors.slack_blocks import check_message, texts

MENTION = re.compile(r"<[@!#]")


def sign(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def buttons(rendered: Rendered) -> list[dict[str, Any]]:
    return [element for block in rendered.blocks if block["type"] == "actions" for element in block["elements"]]


def labels(rendered: Rendered) -> list[str]:
    return [button["text"]["text"] for button in buttons(rendered)]


def mrkdwn_of(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for item in value for text in mrkdwn_of(item)]
    if isinstance(value, dict):
        own = [value["text"]] if value.get("type") == "mrkdwn" else []
        return own + [text for item in value.values() for text in mrkdwn_of(item)]
    return []


@pytest.mark.parametrize("sign_used", ["x", "&", "😀", "é"])
def test_even_the_longest_notice_stays_well_below_what_slack_takes(sign_used: str) -> None:
    long = sign_used * 20_000
    choices = tuple(NoticeChoice(number, long, "v", long, Style.DANGER) for number in range(5))
    context = {f"{number}{long}": long for number in range(20)}
    said = {"asked_by": long, "silence": long, "risk": long, "notes": (long,)}
    said["action"] = ShownAction({long: "[redacted]" + long}, "1a2b3c4d")
    said["earlier"] = (EarlierAnswer("HR-7F3K", long, long, datetime(2026, 3, 1, tzinfo=UTC), long),) * 5
    notice = a_notice(question=long, choices=choices, context=context, **said)
    rendered = render_notice(notice, "d" * 64, mention="S" + "0" * 20)
    check_message(list(rendered.blocks))
    assert sum(limits_width(text) for text in texts(list(rendered.blocks))) <= limits.BLOCKS_TEXT


def limits_width(text: str) -> int:
    """UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_an_agents_text_cannot_mention_anybody() -> None:
    evil = "<!channel> <@U1> <#C1> <https://evil.example|click> & done"
    notice = a_notice(question=evil, context={evil: evil}, asked_by=evil, silence=evil, risk=evil)
    rendered = render_notice(notice, "delivery-1")
    assert not any(MENTION.search(text) for text in [rendered.text, *mrkdwn_of(rendered.blocks)])
    assert "&lt;!channel&gt;" in rendered.blocks[1]["text"]["text"]
    assert all(text["verbatim"] for text in [rendered.blocks[1]["text"], *rendered.blocks[2]["fields"]])


def test_a_label_is_plain_text_in_which_slack_sees_no_mention() -> None:
    choice = NoticeChoice(0, "<!here> & now", "now")
    (button, *_) = buttons(render_notice(a_notice(choices=(choice,)), "d"))
    assert button["text"] == {"type": "plain_text", "text": "<!here> & now", "emoji": False}


@pytest.mark.parametrize("label", ["\u200b", "\u3164 \u3164", "\u2800", "\u00ad\ufe0f"])
def test_a_label_that_shows_nothing_gives_way_to_one_that_does(label: str) -> None:
    assert plain_text(label, 75, "Choice 1")["text"] == "Choice 1"
    assert plain_text(label, 75, label)["text"] == "—"


@pytest.mark.parametrize("label", ["👍", "हाँ", "はい", "?", "1\u20e3", "네\u200b"])
def test_a_label_that_shows_something_stays_as_it_is(label: str) -> None:
    assert plain_text(label, 75, "Choice 1")["text"] == label


def test_a_choice_is_a_button_each_with_its_style_and_its_description() -> None:
    rendered = render_notice(a_notice(), "delivery-1")
    assert labels(rendered) == ["Approve refund", "Deny refund", "I'm on it", "Ask back…", "Hand over…", "Open"]
    approve, deny, claim, _, _, page = buttons(rendered)
    assert (approve["style"], deny["style"]) == ("primary", "danger")
    assert "confirm" not in approve
    assert "Deny refund" in deny["confirm"]["text"]["text"]
    assert ("url" not in page, page["value"]) == (True, claim["value"]), "the link is made for whoever presses it"
    assert [one["action_id"] for one in (approve, deny, claim, page)] == ["ans:0", "ans:1", "claim", "link"]
    assert any("The customer gets the money back." in text for text in texts(list(rendered.blocks)))


def test_the_default_style_is_left_out() -> None:
    choice = NoticeChoice(0, "Wait", "wait", None, Style.DEFAULT)
    (button, *_) = buttons(render_notice(a_notice(choices=(choice,)), "d"))
    assert "style" not in button


def test_slack_holds_neither_values_nor_the_personal_link() -> None:
    secret = NoticeChoice(0, "Yes", "the-secret-value")
    rendered = render_notice(a_notice(choices=(secret,)), "delivery-1")
    written = json.dumps(rendered.blocks) + rendered.text
    assert "the-secret-value" not in written
    assert "/a/secret" not in written
    assert buttons(rendered)[0]["value"] == "q=HR-7F3K;c=0;m=delivery-1"


@pytest.mark.parametrize(
    ("count", "first"),
    [(5, "Choice 0"), (6, "Answer…"), (100, "Answer…"), (101, "Answer on the page")],
)
def test_many_choices_move_from_buttons_to_a_list_to_the_page(count: int, first: str) -> None:
    notice = a_notice(choices=many_choices(count))
    assert labels(render_notice(notice, "d"))[0] == first
    modal = answer_modal(notice, "d", sign)
    if first == "Answer…":
        assert modal is not None
        (options,) = [block["element"]["options"] for block in modal["blocks"] if block["type"] == "input"]
        assert [option["value"] for option in options] == [f"c={index}" for index in range(count)]
    if first == "Answer on the page":
        assert modal is None


def test_a_text_is_answered_in_a_modal_with_room_for_several_lines() -> None:
    notice = a_notice(response_type=ResponseType.TEXT, choices=())
    assert labels(render_notice(notice, "d")) == ["Answer…", "I'm on it", "Ask back…", "Hand over…", "Open"]
    modal = answer_modal(notice, "d", sign)
    assert modal is not None
    element = modal["blocks"][-1]["element"]
    assert (element["type"], element["multiline"], element["max_length"]) == ("plain_text_input", True, 3000)
    assert "Refund order 12345?" in "".join(texts(modal["blocks"]))


def test_the_fallback_text_says_all_that_a_notification_needs() -> None:
    text = render_notice(a_notice(), "d").text
    assert text.splitlines() == [
        "Input needed: Refund order 12345?",
        "1. Approve refund",
        "2. Deny refund",
        "If nobody answers by 2026-03-24 12:00 UTC, the agent stops.",
        "https://handraise.example.com/q/HR-7F3K (HR-7F3K)",
    ]


def test_a_long_question_says_where_the_rest_is() -> None:
    rendered = render_notice(a_notice(question="why? " * 2000), "d")
    assert rendered.blocks[1]["text"]["text"].endswith("… open to read all")


def test_more_context_than_slack_shows_is_announced() -> None:
    rendered = render_notice(a_notice(context={f"key {number}": number for number in range(14)}), "d")
    assert any("4 more values" in text for text in texts(list(rendered.blocks)))


def test_a_reminder_and_the_last_call_say_so() -> None:
    assert render_notice(a_notice(attempt=2), "d").blocks[0]["text"]["text"] == "Reminder (2 of 3)"
    assert render_notice(a_notice(attempt=3), "d").blocks[0]["text"]["text"] == "URGENT: final reminder"


def test_an_ending_leaves_nothing_to_press_and_new_block_ids() -> None:
    before, after = render_notice(a_notice(), "d"), render_ending(an_ending())
    assert buttons(after) == []
    assert {block["block_id"] for block in before.blocks}.isdisjoint(block["block_id"] for block in after.blocks)
    told = "\n".join(texts(list(after.blocks)))
    assert "Refund order 12345?" in told
    assert "Answered “Approve refund” by alice@example.com via Slack, 2026-03-24 09:00 UTC." in told


def test_an_ending_keeps_what_people_decided_by_and_why() -> None:
    action = ShownAction({"tool": "stripe.refund", "amount": 499.99}, "1a2b3c4d")
    ending = an_ending(reason="too much", asked_by="refund-agent", context={"customer": "Zoe"}, action=action)
    told = "\n".join(texts(list(render_ending(ending).blocks)))
    for part in ("*Reason*\ntoo much", "asked by refund-agent", "*customer*\nZoe", "499.99", "sha256 1a2b3c4d"):
        assert part in told
    assert "will run" not in told


def test_a_long_answer_still_leaves_room_for_who_gave_it() -> None:
    told = "\n".join(texts(list(render_ending(an_ending(answer="because " * 5000)).blocks)))
    assert "by alice@example.com via Slack" in told


def test_silence_and_cancelling_are_told_as_such() -> None:
    silence = an_ending(resolution=Status.EXPIRED, answer=None, by=None, continued_with="deny")
    assert "the agent went on with “deny”" in render_ending(silence).text.replace("The agent", "the agent")
    cancelled = an_ending(resolution=Status.CANCELLED, answer=None, by="refund-agent")
    assert "No answer is needed any more." in render_ending(cancelled).text


def test_a_short_message_is_plain_text_with_its_link() -> None:
    message = Message(Purpose.SIGN_IN, "Sign in", "Here is your link, <@U1>.", "https://handraise.example.com/s/x")
    rendered = render_message(message)
    assert rendered == Rendered("*Sign in*\nHere is your link, &lt;@U1&gt;.\n<https://handraise.example.com/s/x>")


def action_of(rendered: Rendered) -> str:
    [block] = [one for one in rendered.blocks if one["block_id"] == "action"]
    text: str = block["text"]["text"]
    return text


def test_what_will_run_is_shown_in_a_code_block_under_its_heading() -> None:
    rendered = render_notice(a_notice(action=ShownAction({"tool": "refund", "amount": 49999}, "1a2b3c4d")), "d")
    assert action_of(rendered) == (
        '*Exactly this will run* (sha256 1a2b3c4d)\n```\n{\n  "tool": "refund",\n  "amount": 49999\n}\n```'
    )
    assert 'Exactly this will run (sha256 1a2b3c4d): { "tool": "refund", "amount": 49999 }' in rendered.text


def test_a_code_block_is_ended_by_nothing_that_an_agent_writes() -> None:
    action = {"note": "```\n<!channel> *approved by the board*\n```", "shell": "`date` ``"}
    text = action_of(render_notice(a_notice(action=ShownAction(action, "1a2b3c4d")), "d"))
    assert r"\u0060\u0060\u0060\n&lt;!channel&gt; *approved by the board*" in text
    assert "`date` ``" in text
    assert text.count("```") == 2


def test_a_part_of_an_action_that_is_hidden_is_said_to_be() -> None:
    hidden = action_of(render_notice(a_notice(action=ShownAction({"card": "[redacted: card number]"}, "1")), "d"))
    assert "_What is marked [redacted] or [masked] is hidden here, and runs all the same._" in hidden
    assert "hidden here" not in action_of(render_notice(a_notice(action=ShownAction({"card": "red"}, "1")), "d"))


def test_what_is_cut_of_an_action_says_so_below_it() -> None:
    text = action_of(render_notice(a_notice(action=ShownAction({"log": "x" * 5000}, "1a2b3c4d")), "d"))
    assert text.endswith("…\n```\n… open to read all")


@pytest.mark.parametrize(
    ("text", "most", "left"),
    [
        ("refund", 6, "refund"),
        ("refunds", 6, "refun…"),
        ("😀😀", 4, "😀😀"),
        ("😀😀😀", 5, "😀😀…"),  # Slack counts two units for each
        ("😀😀😀", 4, "😀…"),
        ("on hold", 4, "on…"),
    ],
)
def test_a_text_is_cut_to_the_units_that_slack_counts_and_no_shorter(text: str, most: int, left: str) -> None:
    assert (clipped(text, most), escaped(text, most)) == (left, left)


def test_no_text_is_cut_inside_an_escape() -> None:
    assert [escaped("a&b", most) for most in (7, 6, 5, 2)] == ["a&amp;b", "a…", "a…", "a…"]
