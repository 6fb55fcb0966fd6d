"""Administration: the caller's own key, revoking keys, sign-in links, the pause, and mail that could not be read.

A quarantined mail is somebody else's bytes: it is served as a file to keep, never as a page.

Source: API.md §1, §9; docs/decisions/0019; ``core/delivery/pause.py`` says what a pause holds back.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, Path, Query, Response

from bot.config.loading import warnings_about
from bot.web.api import requests
from bot.web.api.auth import Admin, Caller, KeyedRoute, Served
from bot.web.api.paging import Cursor, Limit, cursor_after, place
from bot.web.api.replies import BODY, refusals, reply
from core.domain.people import LONGEST_KEY_NAME, Actor, Role, read_mail_address
from core.domain.wire import Instant, JsonObject, Open, instant, reply_of
from core.errors import InvalidRequest, NotFound
from core.store.pauses import Pause

log = structlog.get_logger(__name__)

KeyName = Annotated[str, Path(min_length=1, max_length=LONGEST_KEY_NAME)]

key_routes = APIRouter(route_class=KeyedRoute, tags=["keys"])


class QuotaReply(Open):
    """``null`` is no limit."""

    open: int | None
    """How many of its questions may be open at once."""
    per_minute: int | None
    """How many it may put in a minute."""


class MeReply(Open):
    """``identity`` is a person's e-mail, else the key's name. ``webhook_secrets``: how many sign its callbacks.
    ``default_retry_policy`` is the key's own, ``{}`` where it has set none."""

    name: str
    """The key's name."""
    identity: str
    """Who answers with this key: a person's e-mail, else the key's name."""
    roles: list[Literal[Role.AGENT, Role.OPERATOR, Role.ADMIN]]
    """What the key may do."""
    webhook_secrets: int
    """How many secrets sign its callbacks; two while one is being replaced."""
    quotas: QuotaReply
    """How much it may ask."""
    default_retry_policy: JsonObject
    """The key's own policy; `{}` if it has set none."""


class SignInLinkReply(Open):
    """``url`` works once, until ``expires_at``, and is shown here alone."""

    url: str
    """The link. It works once."""
    expires_at: Instant
    """From when on it is worth nothing."""


class RevokedReply(Open):
    """The key is worth nothing any more."""

    name: str
    """The key's name."""
    revoked_at: Instant
    """When it was revoked."""


@key_routes.get(
    "/me", summary="Who the caller is, and what its key may do", responses={200: {"model": MeReply}, **refusals()}
)
async def me(services: Served, actor: Caller) -> Response:
    """The first call to make with a new key."""
    name = actor.key or actor.identity
    quota = services.asking.quotas.of(name)
    return reply(
        MeReply(
            name=name,
            identity=actor.identity,
            roles=sorted(actor.roles),
            webhook_secrets=len(services.running.keys.secrets(name)),
            quotas=QuotaReply(open=quota.open, per_minute=quota.per_minute),
            default_retry_policy=dict(await services.asking.client_queries.agent_policy(name, actor)),
        )
    )


@key_routes.delete(
    "/keys/{name:path}",
    summary="Revoke a key, for good",
    responses={200: {"model": RevokedReply}, **refusals(403, 404, 422)},
)
async def revoke(services: Served, _admin: Admin, name: KeyName) -> Response:
    """Its streams and waits end within five seconds, on every replica. `keys create` brings the name back with a new
    key; a key of the configuration file stays revoked."""
    revoked_at = await services.running.keys.revoke(name)
    if revoked_at is None:
        raise NotFound("There is no such key.")
    return reply(RevokedReply(name=name, revoked_at=instant(revoked_at)))


@key_routes.post(
    "/signin-links",
    summary="Make a link by which somebody of the directory signs in to the pages, once",
    responses={200: {"model": SignInLinkReply}, **refusals(*BODY, 403)},
)
async def signin_link(services: Served, admin: Admin, body: requests.SignInLinkBody) -> Response:
    """To be handed over by whoever runs the service. It is shown here alone: nothing of it is stored before it is
    used, so a repeated request makes another one."""
    mail = read_mail_address(body.email)
    if mail is None or not services.asking.responders.is_known(mail):
        raise InvalidRequest("This is nobody of the directory, and no key is named like it.", path="email")
    url, expires_at = services.running.links.issue_until(mail)
    log.info("signin.link_made", by=admin.key)
    return reply(SignInLinkReply(url=url, expires_at=instant(expires_at)), headers={"Cache-Control": "no-store"})


class NotTakenIn(Open):
    """``message`` says what counts until the service is started again."""

    key: str
    """The setting, such as `http.port`."""
    message: str
    """One sentence for a person."""


class ReloadReply(Open):
    """``changed`` are the settings that were taken in, ``needs_restart`` those that differ and were not."""

    changed: list[str]
    """The settings that were taken in."""
    needs_restart: list[NotTakenIn]
    """The settings that differ, and count after the next start."""
    warnings: list[str]
    """What is allowed and probably not meant, as sentences."""


Force = Annotated[
    bool, Query(description="Take the configuration in also if nobody could administer or be asked afterwards.")
]

reload_routes = APIRouter(route_class=KeyedRoute, tags=["configuration"])


@reload_routes.post(
    "/reload",
    summary="Read the configuration again, and take in what can change while the service runs",
    responses={200: {"model": ReloadReply}, **refusals(403, 409, 422)},
)
async def reload(services: Served, admin: Admin, force: Force = False) -> Response:
    """People, groups, keys, the allow-list, quotas and channels' settings. A wrong file changes nothing: 422
    `invalid_configuration`, with every error among `fields`. Nor does one that would shut people out: 422
    `reload_loses_access`. It would leave no key, no admin's key or nobody to ask, or the caller's own key would
    no longer be an admin's. Other processes follow within seconds."""
    changes = await services.running.reloading.reload(admin.key or admin.identity, force=force)
    return reply(
        ReloadReply(
            changed=list(changes.taken),
            needs_restart=[NotTakenIn(key=one.key, message=one.message) for one in changes.waiting],
            warnings=list(warnings_about(changes.settings)),
        )
    )


pause_routes = APIRouter(route_class=KeyedRoute, tags=["pause"])


class PauseReply(Open):
    """``held`` are notices that wait; who paused and why is for operators."""

    paused: bool
    """Whether new notices wait."""
    paused_at: Instant | None
    """Since when; `null` without a pause."""
    paused_by: str | None
    """Who paused; `null` without a pause, and for agents."""
    reason: str | None
    """Why; `null` if nobody said, and for agents."""
    held: int
    """How many notices wait."""


class UnpauseReply(Open):
    """Of what waited: how many notices leave now, and how many were out of date."""

    paused: Literal[False]
    """Always `false`."""
    released: int
    """How many notices leave now."""
    dropped: int
    """How many were out of date."""


@pause_routes.get(
    "/pause", summary="Whether new notices are paused", responses={200: {"model": PauseReply}, **refusals()}
)
async def show(services: Served, actor: Caller) -> Response:
    """Agents are told that nobody is being asked, but neither by whom nor why."""
    return reply(pause_json(*await services.running.pausing.current(), actor))


@pause_routes.post(
    "/pause",
    summary="Pause all new notices; what would ask people waits",
    responses={200: {"model": PauseReply}, **refusals(*BODY, 403)},
)
async def pause(services: Served, actor: Admin, body: requests.PauseBody) -> Response:
    """Questions still open and end by their time; nobody is asked. Answers are taken."""
    await services.running.pausing.pause(actor, body.reason)
    return reply(pause_json(*await services.running.pausing.current(), actor))


@pause_routes.delete(
    "/pause",
    summary="Let notices leave again: each open question asks once",
    responses={200: {"model": UnpauseReply}, **refusals(403)},
)
async def unpause(services: Served, _actor: Admin) -> Response:
    """A question that has become due several times meanwhile asks once, not once for each attempt."""
    lifted = await services.running.pausing.lift()
    released, dropped = (0, 0) if lifted is None else (lifted.released, lifted.dropped)
    return reply(UnpauseReply(paused=False, released=released, dropped=dropped))


def pause_json(pause: Pause | None, held: int, reader: Actor) -> PauseReply:
    """An agent is told that nobody is being asked, but neither by whom nor why."""
    told = pause if reader.has(Role.OPERATOR) else None
    return reply_of(
        PauseReply,
        pause,
        paused=pause is not None,
        paused_at=pause and pause.at,
        paused_by=told and told.by,
        reason=told and told.reason,
        held=held,
    )


RAW = "message/rfc822"
_AS_A_FILE = {
    "Cache-Control": "no-store",
    "Content-Disposition": 'attachment; filename="quarantined.eml"',
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {RAW: {"schema": {"type": "string", "format": "binary"}}}, "description": "The mail as it came."}
}

Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="The SHA-256 of the mail's bytes.")]

quarantine_routes = APIRouter(route_class=KeyedRoute, tags=["mail"])


class QuarantinedReply(Open):
    """``reason`` says why it could not be read, ``size`` how many bytes it has."""

    digest: str
    """The SHA-256 of the mail's bytes, in hexadecimal."""
    door: str
    """How it came in: `imap`, `lmtp` or `webhook`."""
    reason: str
    """Why it could not be read, as a code."""
    size: int
    """How many bytes it has."""
    received_at: Instant
    """When it came."""
    kept_until: Instant
    """Until when it is kept."""


class QuarantinePage(Open):
    """One page of mails that could not be read."""

    items: list[QuarantinedReply]
    """The mails, newest first."""
    next_cursor: str | None
    """What to send as `cursor` for the next page; `null` on the last one."""


@quarantine_routes.get(
    "/mail/quarantine",
    summary="Mails that could not be read, newest first",
    responses={200: {"model": QuarantinePage}, **refusals(403, 422)},
)
async def quarantine(services: Served, _actor: Admin, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Mails that can't be parsed are kept here for a while, so that nothing is lost."""
    found = await services.asking.client_queries.quarantined(before=place(cursor), limit=limit + 1)
    items, more = found[:limit], len(found) > limit
    following = cursor_after(items[-1].at, items[-1].digest) if more else None
    shown = [reply_of(QuarantinedReply, one, received_at=one.at) for one in items]
    return reply(QuarantinePage(items=shown, next_cursor=following))


@quarantine_routes.get(
    "/mail/quarantine/{digest}",
    summary="One of them, as it came",
    response_class=Response,
    responses={**_BYTES, **refusals(403, 404, 422)},
)
async def quarantined(services: Served, _actor: Admin, digest: Digest) -> Response:
    """Sent as a file to keep, never as a page: these are somebody else's bytes."""
    found = await services.asking.client_queries.one_quarantined(digest)
    if found is None:
        raise NotFound("There is no such mail in quarantine.")
    if found.raw is None:
        raise NotFound("The mail was noted, but there was no room to keep it.")
    return Response(found.raw, media_type=RAW, headers=_AS_A_FILE)
