"""Whatever an agent asks: Slack takes what we make of it, and none of it mentions anybody or leads anywhere.

"Slack takes it" is the sandbox's Block Kit validation, which goes by the documented limits and the official models.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.slack import limits
from channels.slack.modals import answer_modal, told_modal
from channels.slack.mrkdwn import clean, code, escaped, one_line, shown, width
from channels.slack.render import Rendered, cut, render_ending, render_message, render_notice, render_plain
from core.domain.notice import Ending, Message, Notice, Purpose, WhenCut
from core.domain.suspension import Cut, ResponseType
from tests.channels.slack.slack_examples import a_notice, endings, many_choices, notices, words
from tests.vendors.slack_blocks import check_message, check_view, texts

pytestmark = pytest.mark.slow

BARE = re.compile(r"&(?!(amp|lt|gt);)|[<>]")
CODE = re.compile(r"```\n(.*?)\n```", re.DOTALL)
VIEW_JSON = 250_000
"""Slack refuses a view of more characters (``view must be less than 250001 characters``)."""

whatever = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
policies = st.sampled_from(WhenCut)


def sign(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def objects(value: Any) -> list[dict[str, Any]]:
    """Every object in ``value``, however deep."""
    if isinstance(value, list | tuple):
        return [found for item in value for found in objects(item)]
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in objects(item))]
    return []


def check_markup(blocks: Any, *ours: str) -> None:
    """No mark of the agent's is left, and Slack is told not to look for names and links by itself; ``ours`` are the
    only ones there may be."""
    for found in objects(blocks):
        if found.get("type") == "mrkdwn":
            text = found["text"]
            for one in ours:
                text = text.replace(one, "")
            assert not BARE.search(text)
            assert found["verbatim"] is True


def check_text(text: str, *ours: str) -> None:
    assert text.strip()
    assert len(text.encode()) <= 4000
    for one in ours:
        text = text.replace(one, "")
    assert not BARE.search(text)


def check_size(blocks: list[dict[str, Any]]) -> None:
    assert sum(width(text) for text in texts(check_message(blocks))) <= limits.BLOCKS_TEXT


@given(notices(), policies, st.sampled_from([None, "S0FINANCE"]))
@whatever
def test_slack_takes_every_notice_and_nobody_is_mentioned_but_by_us(
    notice: Notice, when_cut: WhenCut, group: str | None
) -> None:
    rendered = render_notice(notice, "delivery-1", when_cut=when_cut, mention=group)
    blocks, ours = list(rendered.blocks), f"<!subteam^{group}>"
    check_size(blocks)
    check_markup(blocks, ours)
    check_text(rendered.text, ours)
    check_text(render_plain(notice, mention=group).text, ours, f"<{notice.links.shared}>")
    assert (ours in rendered.text) is (group is not None)
    leads_to = {found["url"] for found in objects(blocks) if "url" in found}
    assert leads_to <= {notice.links.shared}


@given(notices(), policies)
@whatever
def test_slack_takes_every_modal_and_all_that_is_in_it_is_the_agents_words_alone(
    notice: Notice, when_cut: WhenCut
) -> None:
    modal = answer_modal(notice, "delivery-1", sign, when_cut)
    if modal is not None:
        check_view(modal)
        check_markup(modal["blocks"])
        assert len(json.dumps(modal)) <= VIEW_JSON
        assert not any("url" in found for found in objects(modal))


@given(notices())
@whatever
def test_notifications_tell_the_question_the_choices_the_deadline_and_the_link(notice: Notice) -> None:
    text = render_notice(notice, "delivery-1").text
    lines = text.splitlines()
    assert text.startswith(f"{notice.headline}: {escaped(notice.question)[:20]}".rstrip())
    assert lines[-1] == f"{notice.links.shared} (HR-7F3K)"
    if notice.response_type in {ResponseType.CHOICE, ResponseType.CONFIRM} and notice.choices:
        assert any(line.startswith("1. ") for line in lines)
    deadline = escaped(notice.silence)
    assert deadline[:60].rstrip() in text


@given(notices())
@whatever
def test_a_notice_says_so_wherever_it_is_cut_and_only_there(notice: Notice) -> None:
    is_cut = cut(notice) > Cut.NOTHING
    blocks = list(render_notice(notice, "delivery-1").blocks)
    agents = [
        one for one in blocks if one["block_id"] in {"question", "context", "context:more", "action", "descriptions"}
    ]
    told = limits.MORE in "".join(texts(agents))
    hidden = notice.choices and notice.response_type in {ResponseType.TEXT, ResponseType.FORM}
    many = len(notice.choices) > limits.BUTTONS
    assert told == is_cut or (is_cut and (hidden or many)), "what is not shown at all is not announced as cut"
    buttons = [one for one in objects(blocks) if str(one.get("action_id", "")).startswith("ans:")]
    if not is_cut and buttons:
        everything = json.dumps(blocks, ensure_ascii=False)
        assert json.dumps(escaped(notice.question), ensure_ascii=False)[1:-1].strip() in everything


@given(notices())
@whatever
def test_where_it_has_to_be_opened_nothing_answers_a_cut_notice_and_its_modal_holds_everything(
    notice: Notice,
) -> None:
    if not cut(notice):
        return
    blocks = render_notice(notice, "delivery-1", when_cut=WhenCut.OPEN).blocks
    pressed = [one["action_id"] for one in objects(blocks) if str(one.get("action_id", "")).startswith("ans:")]
    assert set(pressed) <= {f"ans:{choice.index}" for choice in notice.negatives}
    modal = answer_modal(notice, "delivery-1", sign, WhenCut.OPEN)
    if modal is not None:
        read = "".join(texts([one for one in modal["blocks"] if one["type"] == "section"]))
        assert escaped(notice.question) in read or not clean(notice.question).strip()
        for key, value in notice.context.items():
            assert escaped(one_line(key)) in read
            assert escaped(shown(value)) in read
        if notice.action is not None:
            blocks_of_code = CODE.findall(read)
            assert "".join(blocks_of_code) == escaped(code(notice.action))
        for choice in notice.choices:
            assert escaped(one_line(choice.description or "")) in read


@given(notices())
@whatever
def test_what_will_run_stands_in_one_code_block_that_nothing_in_it_ends(notice: Notice) -> None:
    blocks = [one for one in render_notice(notice, "delivery-1").blocks if one["block_id"] == "action"]
    assert len(blocks) == (notice.action is not None)
    for block in blocks:
        text = block["text"]["text"]
        assert text.startswith("*Exactly this will run* (sha256 1a2b3c4d)\n")
        assert text.count("```") == 2
        assert "`" not in CODE.sub("", text)


@given(endings())
@whatever
def test_slack_takes_every_ending_and_nothing_is_left_to_press(ending: Ending) -> None:
    rendered = render_ending(ending)
    check_size(list(rendered.blocks))
    check_markup(rendered.blocks)
    check_text(rendered.text)
    assert not any(one["type"] == "actions" for one in rendered.blocks)


@given(words, words)
@whatever
def test_short_messages_and_told_modals_are_words_alone(subject: str, text: str) -> None:
    link = "https://handraise.example.com/s/x?a=1&b=2"
    check_text(render_message(Message(Purpose.CLARIFIED, subject, text, link)).text, "<" + escaped(link) + ">")
    modal = told_modal(subject, text)
    check_view(modal)
    check_markup(modal["blocks"])


# --- The largest of each ------------------------------------------------------------------------------------------

FORTY = {"type": "object", "properties": {f"field {number}": {"type": "string"} for number in range(40)}}
SCRIPTS: dict[str, Callable[[int], str]] = {
    "emoji": lambda size: "😀" * size,
    "right to left": lambda size: ("הזמנה " * size)[:size],
    "markup": lambda size: "&" * size,
    "plain": lambda size: "x" * size,
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("kind", ["confirm", "5 choices", "100 choices", "101 choices", "text", "40 fields"])
def test_three_thousand_characters_of_any_script_work_for_each_response_type(kind: str, script: str) -> None:
    fields: dict[str, Any] = {
        "confirm": {"response_type": ResponseType.CONFIRM, "choices": many_choices(2)},
        "5 choices": {"choices": many_choices(5)},
        "100 choices": {"choices": many_choices(100)},
        "101 choices": {"choices": many_choices(101)},
        "text": {"response_type": ResponseType.TEXT, "choices": ()},
        "40 fields": {"response_type": ResponseType.FORM, "choices": (), "form_schema": FORTY},
    }[kind]
    notice = a_notice(question=SCRIPTS[script](3000), **fields)
    rendered = render_notice(notice, "delivery-1")
    check_size(list(rendered.blocks))
    assert (limits.MORE in "".join(texts(list(rendered.blocks)))) is (script in {"emoji", "markup"})
    modal = answer_modal(notice, "delivery-1", sign)
    assert (modal is None) is (kind in {"confirm", "5 choices", "101 choices"})
    if modal is not None:
        check_view(modal)
        assert len([one for one in modal["blocks"] if one["type"] == "input"]) == (40 if kind == "40 fields" else 1)


def test_a_form_with_more_fields_than_a_modal_has_blocks_is_answered_on_the_page() -> None:
    properties = {f"field {number}": {"type": "string"} for number in range(100)}
    notice = a_notice(response_type=ResponseType.FORM, choices=(), form_schema={"properties": properties})
    rendered: Rendered = render_notice(notice, "delivery-1")
    (answer,) = [one for one in rendered.blocks if one["block_id"] == "answer"]
    assert [one["text"]["text"] for one in answer["elements"]] == ["Answer on the page"]
    assert answer_modal(notice, "delivery-1", sign) is None
