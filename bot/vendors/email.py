"""E-mail: its settings, its recipients, its doors, and what doctor asks about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from bot.config.sections import Place, Said, Section
from bot.config.values import (
    Flag,
    Listed,
    Mail,
    OwnPattern,
    Sender,
    Text,
    Word,
    between,
    mailbox_of,
    one_or_several,
    read_by,
    url_like,
)
from bot.vendors.description import (
    Addresses,
    Around,
    Door,
    Handover,
    Hook,
    Inside,
    Known,
    Source,
    Vendor,
)
from channels.email.imap import ImapServer
from channels.email.lmtp_server import LARGEST_MAIL, ListenAddress
from core.domain.channels import RecipientForm, RecipientKind
from core.domain.people import Address, Person, parse_recipient, spelled
from core.errors import InvalidRecipient

if TYPE_CHECKING:  # loaded only if mail is set up
    from starlette.requests import Request
    from starlette.responses import Response

    from bot.config.settings import Settings
    from bot.doctor.examination import Check
    from bot.inbound.mail.imap import MailPoller
    from bot.inbound.mail.inbox import MailInbox
    from bot.inbound.mail.lmtp import MailListener
    from bot.inbound.mail.webhook import MailWebhook
    from channels.email.channel import EmailChannel
    from channels.email.templates import Templates
    from core.inbound.correspondence import Correspondence

NAME = "email"
PATH = "/email/inbound"
_MAIL_RETURNS = "mail-returns"
"""The key by which a mail of ours is known when it comes back."""

SmtpUrl = Annotated[Text, url_like(("smtp", "smtps"), "smtp://user:password@host:25 or smtps://host")]
ImapUrl = Annotated[Text, read_by(ImapServer.parse)]
ListenUrl = Annotated[Text, read_by(ListenAddress.parse)]


class Email(Section):
    """Mail goes out through one mail server. Replies come in by each door that is set up: ``listen``, ``imap_url`` or
    ``inbound_secret``. Without a door mails don't ask for replies."""

    smtp_url: SmtpUrl = Field(repr=False)
    """The mail server that sends, with user and password if it wants them."""
    sender: Sender = Field(alias="from")
    """The sender of every mail, with or without a name."""
    inbound_secret: Text | None = Field(None, repr=False)
    """The secret that signs mails posted to ``/email/inbound``. Without it nobody can post any."""
    listen: ListenUrl | None = None
    """The address at which a mail server brings mail by LMTP or SMTP. Keep it off the internet."""
    imap_url: ImapUrl | None = Field(None, repr=False)
    """The mailbox that replies are fetched from, with its user, and its password or ``imap_token_file``."""
    imap_token_file: Text | None = None
    """A file that holds an OAuth 2.0 access token instead of the mailbox's password. It is read anew for each
    connection."""
    imap_poll_seconds: Annotated[int, between(1, 1500)] = 60
    """How often the mailbox is looked into, in seconds, whatever it tells by itself."""
    imap_done_folder: Text | None = None
    """The folder of the mailbox that mails are moved to once they are dealt with."""
    reply_to: Mail | None = Field(
        default_factory=lambda data: spelled(mailbox_of(data["sender"])) if _has_door(data) else None
    )
    """The mailbox that answers come to; each mail adds its token to it. By default that of ``from`` if there is a door,
    else none."""
    bounces_to: Mail | None = Field(
        default_factory=lambda data: data["reply_to"] if _has_only_a_mailbox(data) else None
    )
    """The mailbox that mail comes back to which can't be delivered. By default ``bounces@`` the domain of ``reply_to``,
    or ``reply_to`` if a mailbox is the only door."""
    default_to: Annotated[tuple[Mail, ...], Listed] = ()
    """Who is asked by mail if a question names nobody."""
    sender_auth: Annotated[Literal["dmarc", "dkim", "token_only", "link_only"], Word] = "dmarc"
    """What shows that a reply is its sender's: DMARC, a DKIM signature of the very domain, or its token alone. With
    ``link_only`` no reply answers."""
    authserv_id: Text = Field(default_factory=lambda data: mailbox_of(data["sender"]).rpartition("@")[2].lower())
    """The one mail server whose Authentication-Results are believed. By default the domain of ``from``."""
    max_connections: Annotated[int, between(1, 50)] = 4
    """How many connections to the mail server are open at once."""
    require_tls: Flag = False
    """Whether mail goes over TLS or not at all, also without a password and to this machine."""
    tls_ca: Text | None = None
    """A PEM file of certificate authorities that SMTP and IMAP believe beside the public ones."""
    templates: Text | None = None
    """A folder of templates that take the place of ours."""
    out_of_office_advances: Flag = False
    """Whether an out-of-office note counts as a refusal, so that the next attempt may be due at once."""
    tell_endings: Flag = True
    """Whether whoever was asked by mail gets one more mail once the question has ended: who decided, and what."""
    gateway_lines: Annotated[tuple[OwnPattern, ...], BeforeValidator(one_or_several)] = ()
    """Regular expressions. A line of a reply that one of them matches as a whole is your mail gateway's and nobody's
    words. The usual banners are known without."""
    quarantine_days: Annotated[int, between(1, 365)] = 30
    """How many days a mail is kept that can't be read."""

    @property
    def has_door(self) -> bool:
        """Whether replies can come in."""
        return _has_door(vars(self))


def _has_door(fields: Mapping[str, object]) -> bool:
    return any(fields[name] is not None for name in ("inbound_secret", "listen", "imap_url"))


def _has_only_a_mailbox(fields: Mapping[str, object]) -> bool:
    """Whether nothing brings us mail but the one mailbox that we look into."""
    return fields["imap_url"] is not None and fields["listen"] is None and fields["inbound_secret"] is None


class EmailAddresses(Addresses):
    """Any mailbox is reached, in the directory or not; somebody of the directory in the mailbox that it has of them."""

    reaches_on_call = True

    def __init__(self, default_to: Iterable[str], known: Known) -> None:
        self._default_to = tuple(dict.fromkeys(default_to))
        self._known = known

    def of_person(self, identity: str, person: Person | None, mailbox: str) -> Address:
        return Address(NAME, mailbox, identity)

    def at(self, value: str) -> Address:
        return Address(NAME, value, self._known.identity_of(value))

    def defaults(self) -> Sequence[str]:
        return tuple(f"{NAME}:{mailbox}" for mailbox in self._default_to)

    def identity_at(self, value: str) -> str | None:
        """A mailbox is an identity by itself."""
        try:
            recipient = parse_recipient(value)
        except InvalidRecipient:
            return None
        return self._known.identity_of(recipient.value) if recipient.kind is RecipientKind.PERSON else None

    def references(self, identity: str, person: Person | None) -> Iterable[str]:
        """With a sub-address or without."""
        for name in sorted(person.identities) if person is not None else (identity,):
            local, at, _ = name.rpartition("@")
            yield f"{NAME}:{name}"
            if at:
                yield f"{NAME}:{local}+"


class PostedMail(Door):
    """Mails that a mail server posts."""

    def __init__(self, webhook: MailWebhook) -> None:
        from bot.web.hooks import signed

        said = (
            "Your mail server posts each mail here. 202 means that it is stored, whatever it says; 503 means that it "
            "has to be sent again."
        )
        pattern, types = r"^\s*t=[0-9]{1,12}\s*,\s*v1=[0-9a-f]{64}\s*$", ("message/rfc822", "application/octet-stream")
        about = "The mail as it arrived, headers and all."
        described = signed(
            "A mail that came in, as raw MIME",
            said,
            header="X-Handraise-Signature",
            pattern=pattern,
            types=types,
            body=about,
        )
        super().__init__("mail", Hook(PATH, described, LARGEST_MAIL))
        self.webhook = webhook

    async def handle(self, request: Request) -> Response:
        signature = request.headers.get("x-handraise-signature")
        raw = await request.body() if self.webhook.may_be_signed(signature) else b""
        return self.told(await self.webhook.receive(raw, signature))


class ListeningDoor(Door):
    """Mails that a mail server brings. It goes on with the listener that it has."""

    def __init__(self, listener: MailListener) -> None:
        super().__init__("mail_listener")
        self.listener = listener

    @property
    def standing(self) -> str:
        return self.listener.standing

    async def start(self) -> None:
        await self.listener.start()

    def become(self, other: Door) -> bool:
        if isinstance(other, ListeningDoor):
            self.listener.become(other.listener)
        return True

    async def stop_taking(self) -> None:
        await self.listener.stop_taking()


class MailboxDoor(Door):
    """Mails that are fetched. One mailbox is looked into by one poller at a time."""

    handover = Handover.IN_TURN

    def __init__(self, poller: MailPoller) -> None:
        super().__init__("mail_poller")
        self.poller = poller

    @property
    def standing(self) -> str:
        return self.poller.standing

    async def start(self) -> None:
        self.poller.start()

    async def stop_taking(self) -> None:
        await self.poller.stop_taking()


class EmailVendor(Vendor[Email]):
    name = NAME
    display = "e-mail"
    how = "by mail"
    section = Email
    needed = "smtp_url"
    reached_by = "email"
    default_setting = "email.default_to"
    forms = (RecipientForm(NAME, "email:x@y", NAME, RecipientKind.MAILBOX),)
    stays = frozenset({"listen", "max_connections"})
    ways_in: ClassVar = {
        "inbound_secret": (),
        "imap_url": ("imap_token_file", "imap_done_folder"),
        "reply_to": ("bounces_to",),
    }
    doors_standing = ("mail_listener", "mail_poller")
    door_setting = "inbound_secret"
    door_hint = "listen"

    def misfits(self, section: Email) -> Iterator[Said]:
        if section.imap_url is None:
            for name in ("imap_token_file", "imap_done_folder"):
                if getattr(section, name) is not None:
                    yield (name,), "is of no use without email.imap_url"
            return
        server = ImapServer.parse(section.imap_url)
        if (server.password is None) == (section.imap_token_file is None):
            yield ("imap_url",), "needs a password or email.imap_token_file, and not both"
        if section.imap_done_folder == server.folder:
            yield ("imap_done_folder",), "must be another folder than email.imap_url's"

    def is_deaf(self, section: Email) -> bool:
        return not section.has_door

    def secrets(self, section: Email) -> Iterator[tuple[Place, str, str]]:
        if section.inbound_secret is not None:
            yield ("inbound_secret",), section.inbound_secret, "make one with `openssl rand -hex 32`"

    def is_rebuilt(self, section: Email, changed: Collection[str]) -> bool:
        """It reads files that the settings name, which may have changed as well."""
        return bool(section.templates or section.tls_ca)

    def addresses(
        self, settings: Settings, people: Mapping[str, Person], source: Source | None, known: Known
    ) -> Addresses:
        section = settings.of(Email)
        return EmailAddresses(section.default_to if section is not None else (), known)

    def channel(self, section: Email, around: Around, source: Source | None) -> EmailChannel:
        """Raises :class:`core.errors.ConfigError` for a template or a certificate that can't work."""
        from channels.email.channel import EmailChannel
        from channels.email.mail_server import Security

        authorities = None if section.tls_ca is None else around.folder / section.tls_ca
        return EmailChannel(
            section.smtp_url,
            section.sender,
            section.reply_to,
            returns_key=around.root.derive(_MAIL_RETURNS),
            bounces_to=section.bounces_to,
            lanes=section.max_connections,
            security=Security(authorities, section.require_tls),
            templates=mail_templates(section, around.folder),
            when_cut=around.settings.when_cut,
            tells_endings=section.tell_endings,
        )

    def doors(self, section: Email, inside: Inside, source: Source | None) -> Iterator[Door]:
        """One inbox behind all of them."""
        from bot.wiring.roles import Part

        if Part.MAIL not in inside.parts or not section.has_door:
            return
        from core.inbound.correspondence import Correspondence

        around = inside.around
        correspondence = Correspondence(around.database, inside.transitions, around.clock)
        inbox = _inbox(section, inside, correspondence)
        if section.inbound_secret is not None:
            from bot.inbound.mail.webhook import MailWebhook

            yield PostedMail(MailWebhook(inbox, around.clock, section.inbound_secret))
        if section.listen is not None:
            from bot.inbound.mail.lmtp import MailListener

            domain = mailbox_of(section.sender).rpartition("@")[2].lower()
            yield ListeningDoor(MailListener(inbox, ListenAddress.parse(section.listen), domain))
        if section.imap_url is not None:
            yield MailboxDoor(_poller(section, section.imap_url, inbox, correspondence, inside))

    def checks(self) -> Sequence[tuple[str, Check]]:
        from bot.doctor.incoming_mail import REPLIES, incoming_mail
        from bot.doctor.outgoing_mail import SMTP_SERVER, outgoing_mail

        return ((SMTP_SERVER, outgoing_mail), (REPLIES, incoming_mail))


def mail_templates(mail: Email, folder: Path) -> Templates:
    """Ours, and the operator's in their place."""
    from channels.email.templates import Templates

    if mail.templates is None:
        return Templates()
    from channels.email.overrides import read_templates

    return read_templates(folder / mail.templates)


def _poller(mail: Email, url: str, inbox: MailInbox, correspondence: Correspondence, inside: Inside) -> MailPoller:
    from bot.inbound.mail.imap import MAILBOX, MailPoller
    from channels.email.imap import ImapAccount
    from channels.email.mail_server import tls_context
    from core.database.locks import LockSlots
    from core.delivery import alerts

    database, folder, clock = correspondence.database, inside.around.folder, inside.around.clock
    transitions = inside.transitions

    async def tell(reason: str) -> None:
        await database.write(lambda tx: alerts.way_in_lost(transitions, tx, NAME, f"imap_{reason}", clock.now()))

    token_file = folder / mail.imap_token_file if mail.imap_token_file is not None else None
    trusted = tls_context(folder / mail.tls_ca) if mail.tls_ca is not None else None
    account = ImapAccount(ImapServer.parse(url), token_file, mail.imap_done_folder, trusted)
    every = timedelta(seconds=mail.imap_poll_seconds)
    place = LockSlots(database, MAILBOX, 1)
    return MailPoller(inbox, account, correspondence, place, tell, clock, every, health=inside.health)


def _inbox(mail: Email, inside: Inside, correspondence: Correspondence) -> MailInbox:
    from bot.inbound.mail.inbox import MailInbox
    from channels.email.addressing import Mailboxes
    from channels.email.authentication import SenderAuth
    from channels.email.inbound import MailRules
    from core.domain.redaction.patterns import compile_pattern
    from core.engine.signature_lines import SignatureLines

    around, transitions = inside.around, inside.transitions
    rules = MailRules(
        Mailboxes.of(mail.sender, mail.reply_to, mail.bounces_to, key=around.root.derive(_MAIL_RETURNS)),
        SenderAuth(mail.sender_auth),
        mail.authserv_id,
        away_advances=mail.out_of_office_advances,
        quarantine=timedelta(days=mail.quarantine_days),
        gateway_lines=tuple(map(compile_pattern, mail.gateway_lines)),
    )
    signatures = SignatureLines.of(around.database, transitions, around.root)
    return MailInbox(inside.engine, correspondence, around.clock, rules, signatures, transitions.observer)


VENDOR = EmailVendor()
