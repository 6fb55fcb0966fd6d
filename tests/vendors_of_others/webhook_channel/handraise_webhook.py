"""A channel of one's own: questions are posted to a chat as JSON, and the chat posts the answers. HMAC signs both."""

import hmac
import json

from pydantic import Field

from bot.config.sections import PersonSection, Section
from bot.config.values import HttpUrl, Text
from bot.vendors.description import Door, Hook, Vendor
from channels import http
from core.domain.channels import RecipientForm
from core.ports import Channel


class Webhook(Section):
    """A chat that takes questions as JSON."""

    url: HttpUrl
    """Where questions are posted."""
    secret: Text = Field(repr=False)
    """The secret that signs questions and answers."""


class WebhookPerson(PersonSection):
    webhook: Text | None = None
    """Their name in the chat."""


class WebhookChannel(Channel):
    name = "webhook"

    def __init__(self, section, now):
        self.section, self.now, self.client = section, now, http.client(10)

    async def send(self, notice, to, sending):
        said = {"ref": notice.ref, "question": notice.question, "page": notice.links.best}
        return await self.post(said | {"choices": [one.value for one in notice.choices]}, to, sending)

    async def tell(self, message, to, sending):
        return await self.post({"text": message.text, "page": message.link}, to, sending)

    async def post(self, said, to, sending):
        body = json.dumps(said | {"id": sending.id, "to": to.value}).encode()
        signed = {"X-Signature": sign(self.section.secret, body)}
        repeats = http.Repeats.COLLAPSE  # the chat knows a message by its id
        return await http.post(self.client, self.section.url, body, {"id": sending.id}, repeats, self.now, signed)

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
    account = reached_by = "webhook"
    unique, default_setting = ("webhook",), "people[].webhook"
    forms = (RecipientForm("webhook", "webhook:NAME", "webhook"),)

    def secrets(self, section):
        yield ("secret",), section.secret, "make one with `openssl rand -hex 32`"

    def channel(self, section, around, source):
        return WebhookChannel(section, around.clock.now)

    def doors(self, section, inside, source):
        return [WebhookDoor(section.secret, inside.answers("webhook"))] if "api" in inside.parts else []

    def checks(self):
        return [("webhook.url", chat)]


VENDOR = WebhookVendor()
