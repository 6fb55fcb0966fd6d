"""Agents that ask and people who answer, each by the way the plan gave them, as stubborn as people and vendors are:
what was not taken is brought again."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx

from bot.sandbox.pagerduty.webhooks import Delivery, envelope, incident_data, note_data
from bot.sandbox.serving import loopback_client
from bot.sandbox.slack.world import Message
from channels.slack.notes import NOT_SAVED
from tests.chaos.bringing import Bringing, Told
from tests.chaos.fleet import Fleet, Member
from tests.chaos.plan import ALICE, BOB, CAROL, LABELS, Act, Question, Way
from tests.chaos.records import Asked, Records, now
from tests.chaos.together import OPERATORS, Together
from tests.chaos.world import World
from tests.vendors import mail as mail_replies
from tests.world import INBOUND_SECRET, KEYS

_AFTERTHOUGHT = 4.0
"""Seconds after a question's end during which somebody who has not seen it yet still tries: too late, by then."""
_SOON_DIES = timedelta(seconds=6)

_SLACK = {ALICE: "U0ALICE", BOB: "U0BOB", CAROL: "U0CAROL"}
_PAGER = {ALICE: "PALICE", BOB: "PBOB"}
_FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


class People:
    """``live`` is one question's life as its agent and its people see it."""

    def __init__(self, world: World, fleet: Fleet, records: Records) -> None:
        self._world = world
        self._records = records
        self._bring = Bringing(fleet, records)
        self._together = Together(self._bring)

    async def close(self) -> None:
        await self._bring.http.aclose()

    async def live(self, question: Question) -> None:
        asked = await self._ask(question)
        if asked is not None:
            ends = time.monotonic() + question.lasts + _AFTERTHOUGHT
            await asyncio.gather(*(self._act(asked, act, ends) for act in question.acts))

    # --- Asking -------------------------------------------------------------------------------------------------------

    async def _ask(self, question: Question) -> Asked | None:
        body = {**question.body, "resume": {"callback_url": self._world.callback_url}}
        headers = {"X-API-Key": KEYS["agent"], "Idempotency-Key": f"ask-{question.text}"}
        told = await self._bring.brought(
            lambda door: self._bring.http.post(f"{door.url}/v1/suspensions", json=body, headers=headers)
        )
        if told is None or told[0].status_code != 201:
            self._records.happened["never got a 201"] += 1
            return None
        response, door = told
        if question.then_kill:
            self._bring.kill(door, "killed after a 201")
        asked = Asked(question, response.json())
        self._records.asked.append(asked)
        return asked

    # --- Answering ----------------------------------------------------------------------------------------------------

    async def _act(self, asked: Asked, act: Act, ends: float) -> None:
        ways = {
            Way.API: self._by_api,
            Way.CANCEL: self._cancel,
            Way.SLACK: self._in_slack,
            Way.MAIL: self._by_mail,
            Way.PAGER: self._on_the_pager,
            Way.PAGE: self._on_the_page,
            Way.HANDED: self._wherever_asked,
            Way.ASSIGN: self._together.hand_over,
            Way.CLARIFY: self._together.ask_back,
        }
        await ways[act.way](asked, act, ends)

    async def _by_api(self, asked: Asked, act: Act, ends: float) -> None:
        path = f"/v1/intents/{asked.outcome['intent_id']}/suspend/respond"
        body = {"suspension_id": asked.suspension_id, "value": act.value}
        headers = {"X-API-Key": OPERATORS[act.who], "Idempotency-Key": f"answer-{asked.ref}-{act.value}"}
        await asyncio.sleep(act.after)
        self._bring.note(
            asked,
            act,
            await self._bring.brought(lambda door: self._bring.http.post(door.url + path, json=body, headers=headers)),
        )

    async def _cancel(self, asked: Asked, act: Act, ends: float) -> None:
        path = f"/v1/suspensions/{asked.suspension_id}/cancel"
        headers = {"X-API-Key": KEYS["agent"], "Idempotency-Key": f"cancel-{asked.ref}"}
        await asyncio.sleep(act.after)
        body = {"reason": "no longer needed"}
        self._bring.note(
            asked,
            act,
            await self._bring.brought(lambda door: self._bring.http.post(door.url + path, json=body, headers=headers)),
        )

    async def _by_mail(self, asked: Asked, act: Act, ends: float) -> None:
        mail = await self._bring.found(lambda: self._world.board.mail(asked.ref, act.who), ends)
        if mail is None:
            return
        await asyncio.sleep(act.after)
        verdict = mail_replies.passing(mail_replies.domain_of(mail.header("From")), mail.recipient)
        words = LABELS[act.value]
        raw = mail_replies.reply(mail, words, sender=mail.recipient, at=now(), authentication=verdict)

        def send(door: Member) -> Awaitable[httpx.Response]:
            self._world.mailbox.answer_at(f"{door.url}/email/inbound", INBOUND_SECRET)
            return self._world.mailbox.post(raw)

        self._bring.note(asked, act, await self._bring.brought(send))

    async def _on_the_pager(self, asked: Asked, act: Act, ends: float) -> None:
        account = self._world.pager.account
        incident = await self._bring.found(lambda: self._world.board.incident(asked.ref), ends)
        if incident is None:
            return
        user = account.users[_PAGER[act.who]]
        await asyncio.sleep(act.after)
        if act.claims_first and incident.is_open:
            account.acknowledge(incident, user)
            await self._webhook(envelope("incident.acknowledged", incident_data(incident), user, now()))
            await asyncio.sleep(act.after)
        note = account.annotate(incident, user, LABELS[act.value])
        told = await self._webhook(envelope("incident.annotated", note_data(incident, note), user, now()))
        self._bring.note(asked, act, told)

    async def _webhook(self, body: dict[str, Any]) -> Told | None:
        """PagerDuty brings the same webhook until it is taken."""
        webhooks = self._world.pager.webhooks
        delivery = Delivery(str(uuid.uuid4()), body["event"], json.dumps(body).encode())

        def send(door: Member) -> Awaitable[httpx.Response]:
            webhooks.url = f"{door.url}/pagerduty/webhooks"
            return webhooks.deliver(delivery)

        return await self._bring.brought(send)

    async def _on_the_page(self, asked: Asked, act: Act, ends: float) -> None:
        mail = await self._bring.found(lambda: self._world.board.mail(asked.ref, act.who), ends)
        if mail is None:
            return
        path = "/a/" + next(link for link in mail.links if "/a/" in link).partition("/a/")[2]
        await asyncio.sleep(act.after)
        index = list(LABELS).index(act.value)

        async def send(door: Member) -> httpx.Response:
            async with loopback_client(timeout=10) as browser:
                page = await browser.get(door.url + path)
                token = _FORM_TOKEN.search(page.text)
                if page.status_code != 200 or token is None:
                    return page
                form = {"form_token": token[1], "choice": str(index), "do": "answer"}
                return await browser.post(door.url + path, data=form)

        self._bring.note(asked, act, await self._bring.brought(send))

    async def _wherever_asked(self, asked: Asked, act: Act, ends: float) -> None:
        """The first that comes, a message or a mail."""
        board, user = self._world.board, _SLACK[act.who]
        found = await self._bring.found(lambda: board.message(asked.ref, user) or board.mail(asked.ref, act.who), ends)
        if isinstance(found, Message):
            await self._in_slack(asked, replace(act, way=Way.SLACK), ends)
        elif found is not None:
            await self._by_mail(asked, replace(act, way=Way.MAIL), ends)

    async def _in_slack(self, asked: Asked, act: Act, ends: float) -> None:
        """A click is acknowledged whatever becomes of it; who is told that it could not be saved clicks again."""
        slack, user = self._world.slack, _SLACK[act.who]
        action = f"ans:{list(LABELS).index(act.value)}"
        await self._bring.found(lambda: self._world.board.message(asked.ref, user), ends)
        await asyncio.sleep(act.after)
        while time.monotonic() < ends:
            message = self._world.board.message(asked.ref, user)
            if message is None or message.button(action) is None:
                return
            said_before = len(slack.workspace.ephemerals)

            def send(door: Member, message: Any = message) -> Awaitable[httpx.Response]:
                slack.events_url = f"{door.url}/slack/events"
                return slack.click(user, message, action)

            try:
                told = await self._bring.brought(send)
            except (
                LookupError
            ):  # edited while they pressed it, by somebody's answer: theirs, if an earlier press came through
                told = None
            if told is None:
                self._bring.note(asked, act, None)
                return
            at = now()
            await self._bring.found(lambda m=message: m.button(action) is None or None, time.monotonic() + 3)
            said = slack.workspace.ephemerals[said_before:]
            excused = any(one.user == user and one.text == NOT_SAVED for one in said)
            excused |= self._records.killed_soon_after(told[1].name, at, _SOON_DIES)
            self._bring.note(asked, act, told, excused=excused, at=at)
            if not excused:
                return
