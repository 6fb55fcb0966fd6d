"""The client: ask a person, wait, go on."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack
from urllib.parse import quote, urlsplit

from pydantic import JsonValue, ValidationError

from handraise.errors import ConfigurationError, ReceiptRefused, Refusal, RequestRefused, UnexpectedResponse
from handraise.questions import Options, body
from handraise.records import Received, Suspended, SuspensionRecord

WINDOW_SECONDS = 55
"""The longest that ``wait`` may be asked to take (API.md §2)."""

_NO_RECEIPT = Refusal(422, "receipt_invalid", "There is no receipt.", details={"reason": "missing"})

Answer = TypeVar("Answer", bound=Received)


class Handraise:
    """A Handraise server, from an agent's side.

    ``url`` and ``api_key`` default to ``HANDRAISE_URL`` and ``HANDRAISE_API_KEY``. One client serves any number of
    questions at once. ``patience_seconds`` is how long a request is repeated while the server can't be reached;
    waiting for an answer is never given up, so bound it with ``asyncio.timeout`` if that is wanted.
    """

    def __init__(self, url: str | None = None, api_key: str | None = None, *, patience_seconds: float = 60.0) -> None:
        from handraise.transport import Transport

        self._transport = Transport(_url(url), _key(api_key), patience_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of the connections. Questions stay open on the server."""
        await self._transport.close()

    async def request_input(
        self,
        question: str,
        *,
        intent_id: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[Options],
    ) -> JsonValue:
        """Ask a person and wait for as long as it takes; returns what to go on with (RFC-0025 §9.1).

        That is the answer (``"yes"`` or ``"no"`` for a confirm), or the fallback value where the policy has one and
        nobody answered. Raises :class:`InputTimeoutError` if it has none, :class:`InputCancelledError` if the
        question was taken back, :class:`RequestRefused` if it can't be asked like this.

        A restart of the server goes unnoticed. For one of the agent, give an ``idempotency_key`` of your own: asked
        again with it and the same question, a restarted agent waits for the same answer instead of asking twice.
        """
        suspended = await self.suspend(question, intent_id=intent_id, idempotency_key=idempotency_key, **options)
        ended = await self.wait(suspended.suspension_id)
        return ended.result()

    async def suspend(
        self,
        question: str,
        *,
        intent_id: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[Options],
    ) -> Suspended:
        """Ask, and return as soon as the server has stored the question.

        ``intent_id`` suspends that intent; without it the server makes one.
        """
        path = "suspensions" if intent_id is None else f"intents/{_segment(intent_id)}/suspend"
        key = idempotency_key or str(uuid.uuid4())
        return _parsed(Suspended, await self._transport.call("POST", path, body(question, options), key))

    async def wait(self, suspension_id: str) -> SuspensionRecord:
        """The record once the question has ended, in whatever way; ``result()`` says what that means."""
        path = f"suspensions/{_segment(suspension_id)}/wait"
        return _parsed(SuspensionRecord, await self._transport.poll(path, WINDOW_SECONDS))

    async def get(self, suspension_id: str) -> SuspensionRecord:
        """Where the question stands now."""
        return _parsed(SuspensionRecord, await self._transport.call("GET", f"suspensions/{_segment(suspension_id)}"))

    async def cancel(self, suspension_id: str, reason: str | None = None) -> SuspensionRecord:
        """Take the question back. Raises :class:`RequestRefused` if it has ended already."""
        return await self._say(suspension_id, "cancel", {} if reason is None else {"reason": reason})

    async def execute_once(
        self, receipt: str | None, action: Mapping[str, JsonValue], *, when: JsonValue, allow_silence: bool = False
    ) -> None:
        """Use up ``receipt``, right before running ``action``: it returns once, and only if a person answered ``when``
        to exactly this action (API.md §5).

        Raises :class:`ReceiptRefused`, whose ``reason`` says why, and then ``action`` must not run. With
        ``allow_silence`` a fallback or a veto's silence counts as an answer too. A process that ends between this and
        its action has used the receipt up: ask again.
        """
        if not receipt:
            raise ReceiptRefused(_NO_RECEIPT)
        asked = {"receipt": receipt, "action": dict(action), "when": when, "allow_silence": allow_silence}
        try:
            await self._transport.call("POST", "receipts/verify", json.dumps(asked).encode(), str(uuid.uuid4()))
        except RequestRefused as refusal:
            if refusal.code in {"receipt_used", "receipt_invalid"}:
                raise ReceiptRefused(refusal.refusal) from None
            raise

    async def assign(self, suspension_id: str, to: str) -> SuspensionRecord:
        """Hand the question over ``to`` a person, by e-mail: they are asked at once and may answer from now on.

        With the key of somebody who may answer, or an admin's. Raises :class:`RequestRefused` if that person can't
        be asked, or somebody else is on it (API.md §2).
        """
        return await self._say(suspension_id, "assign", {"to": to})

    async def clarify(self, suspension_id: str, question: str) -> SuspensionRecord:
        """Ask the agent back, with the key of somebody who may answer: the clock holds until it has said more, for a
        bounded time. Raises :class:`RequestRefused` if it is asked back already."""
        return await self._say(suspension_id, "clarify", {"question": question})

    async def clarification(self, suspension_id: str, text: str) -> SuspensionRecord:
        """Say more, where a person has asked back (the callback ``clarification_requested``): the clock goes on.

        With the key that has asked. Raises :class:`RequestRefused` if nobody has asked back.
        """
        return await self._say(suspension_id, "clarification", {"text": text})

    async def _say(self, suspension_id: str, what: str, said: dict[str, str]) -> SuspensionRecord:
        path, given = f"suspensions/{_segment(suspension_id)}/{what}", json.dumps(said).encode()
        return _parsed(SuspensionRecord, await self._transport.call("POST", path, given, str(uuid.uuid4())))


def _url(given: str | None) -> str:
    url = (given or os.environ.get("HANDRAISE_URL", "")).strip()
    if not url:
        raise ConfigurationError("No server: set HANDRAISE_URL or pass url=, for example http://127.0.0.1:8080.")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError("The server's URL must begin with http:// or https:// and name a host.")
    return url


def _key(given: str | None) -> str:
    key = (given or os.environ.get("HANDRAISE_API_KEY", "")).strip()
    if not key:
        raise ConfigurationError("No API key: set HANDRAISE_API_KEY or pass api_key=.")
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError("The API key holds characters that no HTTP header may have.")
    return key


def _segment(identifier: str) -> str:
    if not identifier:
        raise ValueError("An empty id names nothing.")
    return quote(identifier, safe="")


def _parsed(kind: type[Answer], content: bytes) -> Answer:
    try:
        return kind.model_validate_json(content)
    except ValidationError as problem:
        wrong = ", ".join(sorted({".".join(map(str, error["loc"])) or "JSON" for error in problem.errors()}))
    # Outside the handler, so that no traceback carries the question along.
    raise UnexpectedResponse(f"The server's answer can't be read as a {kind.__name__} ({wrong}).")
