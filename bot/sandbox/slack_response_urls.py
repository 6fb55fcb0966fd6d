"""What an app may do with the ``response_url`` of an interaction.

Source: https://docs.slack.dev/interactivity/handling-user-interaction (message responses).
"""

from __future__ import annotations

from bot.sandbox.slack_blocks import check_message
from bot.sandbox.slack_records import Ephemeral, JsonObject, Message, ResponseUrl, SlackRefusal
from bot.sandbox.slack_world import RESPONSE_URL_USES, Workspace


def respond(workspace: Workspace, name: str, said: JsonObject) -> None:
    """Ephemeral unless ``response_type`` says otherwise; raises :class:`SlackRefusal` once the address is used up."""
    handle = _usable(workspace, name)
    blocks = check_message(said["blocks"]) if said.get("blocks") else []
    text = str(said.get("text") or "")
    original = workspace.at(handle.channel, handle.message_ts) or workspace.ephemeral_at(handle.user, handle.message_ts)
    if said.get("delete_original") is True and original is not None:
        _remove(workspace, original)
    elif not text.strip() and not blocks:
        raise SlackRefusal("no_text")
    elif said.get("replace_original") is True and original is not None:
        original.text, original.blocks = text, blocks
        if isinstance(original, Message):
            original.edited = True
    elif said.get("response_type") == "in_channel":
        posted = Message(handle.channel, workspace.new_ts(), workspace.bot.id, text, blocks)
        workspace.messages.append(posted)
    else:
        workspace.ephemerals.append(Ephemeral(handle.channel, handle.user, text, blocks, workspace.new_ts()))
    workspace.touch()


def _remove(workspace: Workspace, original: Message | Ephemeral) -> None:
    if isinstance(original, Message):
        workspace.messages.remove(original)
    else:
        workspace.ephemerals.remove(original)


def _usable(workspace: Workspace, name: str) -> ResponseUrl:
    handle = workspace.response_urls.get(name)
    if handle is None:
        raise SlackRefusal("invalid_url")
    if workspace.now() > handle.expires:
        raise SlackRefusal("expired_url")
    if handle.uses >= RESPONSE_URL_USES:
        raise SlackRefusal("used_url")
    handle.uses += 1
    return handle
