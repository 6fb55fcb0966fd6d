"""A channel of one's own: questions are posted to a chat as JSON, and the chat posts the answers. HMAC signs both."""

import hmac
import json

from pydantic import Field

from bot.config.description import PersonSection, Section
from bot.config.values import HttpUrl, Text
from bot.vendors.description import Addresses, Door, Hook, Vendor
from channels import http
from core.domain.channels import RecipientForm
from core.domain.people import Address
from core.domain.suspension import Cut
from core.ports import RefusalCause, Refused


class Webhook(Section):
    """A chat that takes questions as JSON."""

    url: HttpUrl
    """Where questions are posted."""
    secret: Text = Field(repr=False)
    """The secret that signs questions and answers."""


class WebhookPerson(PersonSection):
    webhook: Text | None = None
    """Their name in the chat."""


class ChatNames(Addresses):
    def __init__(self, people):
        self.named = {person.account_on("webhook"): person.email for person in people.values()}

    def of_person(self, identity, person, mailbox):
        name = person.account_on("webhook") if person is not None else None
        return None if name is None else Address("webhook", name, identity)

    def at(self, value):
        return Address("webhook", value, self.identity_at(value))

    def identity_at(self, value):
        return self.named.get(value)


class WebhookChannel:
    name, lanes, lane_width = "webhook", 4, None
    withdraws = tells_endings = follows_up = takes_replies = False
    reaches_one_person = True

    def __init__(self, section, now):
        self.section, self.now, self.client = section, now, http.client(10)

    async def send(self, notice, to, sending):
        said = {"id": sending.id, "ref": notice.ref, "to": to.value, "question": notice.question}
        return await self.post(said | {"choices": [one.value for one in notice.choices], "page": notice.links.best})

    async def tell(self, message, to, sending):
        return await self.post({"id": sending.id, "to": to.value, "text": message.text, "page": message.link})

    async def post(self, said):
        body = json.dumps(said).encode()
        headers = {"X-Signature": sign(self.section.secret, body), "Content-Type": "application/json"}
        try:
            response = await self.client.post(self.section.url, content=body, headers=headers)
        except http.CAUGHT as error:
            return http.failed(error, http.Repeats.COLLAPSE)  # the chat knows a message by its id
        return http.answered(response, {"id": said["id"]}, http.Repeats.COLLAPSE, self.now())

    def cut(self, notice):
        return Cut.WORDS if notice.context else Cut.NOTHING if notice.action is None else Cut.ACTION

    async def withdraw(self, ending, receipt, sending):
        return Refused("not_withdrawn", RefusalCause.MESSAGE)

    async def recover(self, ref, to, sending):
        return Refused("not_found", RefusalCause.MESSAGE)

    async def close(self):
        await self.client.aclose()


class WebhookDoor(Door):
    def __init__(self, secret, answers):
        super().__init__("webhook", Hook("/webhook/answers", {"include_in_schema": False}))
        self.secret, self.answers = secret, answers

    async def handle(self, request):
        raw = await request.body()
        if not hmac.compare_digest(sign(self.secret, raw).encode(), request.headers.get("x-signature", "").encode()):
            return self.told(401)
        said = json.loads(raw)
        question, person = await self.answers.question_of(said["ref"]), self.answers.person_of(said["by"])
        if question is not None and person is not None:
            await self.answers.respond(question, person, said["value"])
        return self.told(202)


def sign(secret, body):
    return hmac.new(secret.encode(), body, "sha256").hexdigest()


async def chat(examined):
    from bot.doctor.findings import fault, ok
    from bot.doctor.network import Unreached

    section = examined.settings.of(Webhook)
    if section is None:
        return []
    try:
        await examined.around.network.get(section.url)
    except Unreached:
        return [fault("webhook.url", "the chat is not reached", "Correct webhook.url.")]
    return [ok("webhook.url", "the chat answers")]


class WebhookVendor(Vendor):
    name, display, how = "webhook", "the chat", "in the chat"
    section, needed, person = Webhook, "url", WebhookPerson
    unique, reached_by, default_setting = ("webhook",), "webhook", "people[].webhook"
    forms = (RecipientForm("webhook", "webhook:NAME", "webhook"),)

    def secrets(self, section):
        yield ("secret",), section.secret, "make one with `openssl rand -hex 32`"

    def account_in(self, entry):
        return entry.webhook

    def addresses(self, settings, people, source, known):
        return ChatNames(people)

    def channel(self, section, around, source):
        return WebhookChannel(section, around.clock.now)

    def doors(self, section, inside, source):
        return [WebhookDoor(section.secret, inside.answers("webhook"))] if "api" in inside.parts else []

    def checks(self):
        return [("webhook.url", chat)]


VENDOR = WebhookVendor()
