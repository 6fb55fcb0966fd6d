"""Signing in through a provider: everything that it may say, and whoever may come back from it (API.md §6).

Source: OpenID Connect Core 1.0 §3.1.3.7; RFC 9700 §4; docs/decisions/0074.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio

from bot.sandbox.serving import loopback_client, serving
from bot.sandbox.slack.app import SlackSandbox
from bot.sandbox.slack.world import User
from tests.bot.web.pages_world import ALICE, BOB, PEOPLE, SITE, Browser, Page, World, a_world
from tests.vendors import issuer as pretend
from tests.vendors.issuer import CLIENT_ID, CLIENT_SECRET, Issuer, ec_key, rsa_key, signed_by
from tests.vendors.slack import SlackSandbox as Slack

pytestmark = pytest.mark.asyncio(loop_scope="module")

BACK = f"{SITE}/signin/oidc/callback"
START = "/signin/oidc/start"


@dataclasses.dataclass
class House:
    world: World
    issuer: Issuer
    slack: SlackSandbox

    def browser(self) -> Browser:
        return self.world.browser()

    def asked_for_tokens(self) -> int:
        return sum(request.url.path == "/token" for request in self.issuer.requests)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at_home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One service with both providers for all tests; each begins with providers as they were."""

    def now() -> datetime:
        return house.world.clock.now()

    issuer, slack = Issuer(now, {BACK}), Slack(now=now)
    slack.workspace.add_user("U0ALICE", "Alice", "alice@elsewhere.example")
    slack.workspace.add_user("U0BOB", "Bob", BOB)
    slack.workspace.add_user("U0EVE", "Eve", "eve@elsewhere.example")
    slack.workspace.add_user("U0FAKE", "Fake", ALICE)
    slack.openid.redirect_uris.add(f"{SITE}/signin/slack/callback")
    people = [one | ({"slack_user_id": "U0ALICE"} if one["email"] == ALICE else {}) for one in PEOPLE]
    async with serving(issuer.app) as issuer.url, serving(slack.app) as slack_url:
        oidc = {"issuer": issuer.url, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "name": "Example <SSO>"}
        own = slack.openid
        of_slack = {"client_id": own.client_id, "client_secret": own.client_secret, "issuer": slack_url}
        signin = {"oidc": oidc, "slack": {**of_slack, "team_id": slack.workspace.team_id}}
        async with a_world(tmp_path_factory.mktemp("house"), signin=signin, people=people) as world:
            house = House(world, issuer, slack)
            yield house


@pytest.fixture
def house(at_home: House) -> House:
    fresh = Issuer(now=at_home.issuer.now, redirect_uris={BACK}, url=at_home.issuer.url)
    for field in dataclasses.fields(Issuer):
        setattr(at_home.issuer, field.name, getattr(fresh, field.name))
    at_home.slack.openid.signed_in = None
    at_home.slack.openid.unverified.clear()
    at_home.world.later(hours=2)  # what a provider publishes is fetched again
    return at_home


async def begin(browser: Browser, start: str = START) -> str:
    """Where the browser is sent."""
    response = await browser.client.get(start, follow_redirects=False)
    assert response.status_code == 303, response.text
    return response.headers["location"]


async def at_provider(url: str) -> str:
    """The person says yes there: the address, on our site, that they are sent back to."""
    async with loopback_client(timeout=30) as http:
        response = await http.get(url)
    assert response.status_code == 302, response.text
    return response.headers["location"].removeprefix(SITE)


async def sign_in(browser: Browser, start: str = START) -> Page:
    return await browser.get(await at_provider(await begin(browser, start)))


async def is_in(browser: Browser) -> bool:
    response = await browser.client.get("/inbox", follow_redirects=False)
    return response.status_code == 200


# --- It works -------------------------------------------------------------------------------------------------------


async def test_the_page_offers_every_way(house: House) -> None:
    page = await house.browser().get("/signin?next=/q/HR-7F3K")
    assert page.links == ["/signin/oidc/start?next=/q/HR-7F3K", "/signin/slack/start?next=/q/HR-7F3K"]
    assert "Sign in with Example <SSO>" in page.text
    assert "Sign in with Slack" in page.text
    assert page.buttons == ["Send me a link"]
    assert "<SSO>" not in page.html


async def test_somebody_signs_in_and_comes_to_where_they_were_going(house: House) -> None:
    asked = await house.world.ask()
    browser = house.browser()
    place = f"/q/{asked.ask.ref}"
    page = await sign_in(browser, f"{START}?next={place}")
    assert (page.status, page.path) == (200, place)
    assert asked.ask.question in page.text
    assert f"Signed in as {ALICE}" in page.text


async def test_whoever_is_signed_in_is_sent_on(house: House) -> None:
    browser = house.browser()
    back = await at_provider(await begin(browser))
    await browser.get(back)
    for path in (START, back):  # the same address loaded again is no mistake
        assert (await browser.client.get(path, follow_redirects=False)).headers["location"] == "/inbox"


async def test_every_sign_in_has_its_own_session_state_nonce_and_challenge(house: House) -> None:
    seen = []
    browser = house.browser()
    for _ in range(2):
        url = await begin(browser)
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        await browser.get(await at_provider(url))
        session = browser.client.cookies["__Host-handraise_session"]
        seen.append((session, query["state"], query["nonce"], query["code_challenge"]))
        await browser.submit_to(browser.page.sign_out if browser.page is not None else pytest.fail())
    assert all(first != second for first, second in zip(*seen, strict=True))


TAKEN: dict[str, dict[str, Any]] = {
    "PS256": {"encode": signed_by(rsa_key(), "PS256")},
    "ES256": {"encode": signed_by(ec_key(), "ES256"), "keys": [ec_key().as_dict(private=False)]},
    "keys of other kinds beside its own": {
        "keys": [
            {"kty": "OKP", "crv": "X448", "x": "AA"},
            {"kty": "RSA", "use": "enc", "n": "AQAB", "e": "AQAB", "kid": rsa_key().kid},
            {"kty": "RSA", "n": "!", "e": "AQAB"},
            "no key",
            rsa_key().as_dict(private=False),
        ]
    },
    "several audiences": {"claims": {"aud": [CLIENT_ID, "another"], "azp": CLIENT_ID}},
    "another case": {"person": {"email": "Alice@EXAMPLE.com", "email_verified": True}},
    "verified in writing": {"person": {"email": ALICE, "email_verified": "true"}},
    "told by userinfo": {"user_info": {"email": ALICE, "email_verified": True}},
    "no at_hash": {"claims": {"at_hash": None}},
    "names itself": {"published": {"authorization_response_iss_parameter_supported": True}, "names_itself": "its own"},
}


@pytest.mark.parametrize("what", TAKEN)
async def test_a_genuine_token_signs_in(house: House, what: str) -> None:
    for name, value in TAKEN[what].items():
        setattr(house.issuer, name, house.issuer.url if value == "its own" else value)
    browser = house.browser()
    page = await sign_in(browser)
    assert (page.path, f"Signed in as {ALICE}" in page.text) == ("/inbox", True), page.text


@pytest.mark.parametrize(("claim", "seconds"), [("exp", -59), ("iat", 59), ("nbf", 59)])
async def test_a_clock_may_be_a_minute_off(house: House, claim: str, seconds: int) -> None:
    house.issuer.claims = {claim: int(house.world.clock.now().timestamp()) + seconds}
    browser = house.browser()
    await sign_in(browser)
    assert await is_in(browser)


async def test_a_provider_may_change_its_keys(house: House) -> None:
    """At the next token that names a key which is not known, and not for each: anybody can name one."""
    await sign_in(house.browser())
    second = rsa_key("second")
    house.issuer.keys, house.issuer.encode = [second.as_dict(private=False)], signed_by(second, "RS256")
    house.world.later(seconds=10)
    browser = house.browser()
    await sign_in(browser)
    assert await is_in(browser)
    house.issuer.encode = signed_by(rsa_key("third"), "RS256")
    for _ in range(3):
        assert (await sign_in(house.browser())).status == 502
    assert sum(request.url.path == "/keys" for request in house.issuer.requests) == 2


# --- Tokens that do not count ---------------------------------------------------------------------------------------

FORGED: dict[str, dict[str, Any]] = {
    "another nonce": {"claims": {"nonce": "0" * 64}},
    "no nonce": {"claims": {"nonce": None}},
    "another issuer": {"claims": {"iss": "https://accounts.elsewhere.example"}},
    "no issuer": {"claims": {"iss": None}},
    "another audience": {"claims": {"aud": "another-client"}},
    "another audience, by our name": {"claims": {"aud": "another-client", "azp": CLIENT_ID}},
    "no audience": {"claims": {"aud": None}},
    "several audiences, and not which": {"claims": {"aud": [CLIENT_ID, "another"]}},
    "made for another client": {"claims": {"aud": [CLIENT_ID, "another"], "azp": "another"}},
    "expired": {"claims": {"exp": 1_700_000_000}},
    "never expires": {"claims": {"exp": None}},
    "made in the future": {"claims": {"iat": 4_000_000_000}},
    "not yet": {"claims": {"nbf": 4_000_000_000}},
    "of nobody": {"claims": {"sub": None}},
    "of another access token": {"claims": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}},
    "alg none": {"encode": pretend.unsigned},
    "HS256 with the public key": {"encode": pretend.signed_with_the_public_key},
    "another key": {"encode": pretend.signed_by_a_stranger},
    "brings its own key": {"encode": pretend.with_its_own_key},
    "changed afterwards": {"encode": pretend.changed_afterwards},
    "no token at all": {"encode": pretend.no_token},
    "no keys": {"keys": []},
    "userinfo of somebody else": {"user_info": {"sub": "person-2", "email": ALICE, "email_verified": True}},
    "another's answer": {"names_itself": "https://accounts.elsewhere.example"},
    "not said whose answer": {"published": {"authorization_response_iss_parameter_supported": True}},
    "too long": {"token_status": 200, "padding": 600_000},
}


@pytest.mark.parametrize("what", FORGED)
async def test_a_token_that_is_not_genuine_signs_nobody_in(
    house: House, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = house.browser()
    url = await begin(browser)  # it publishes what is right
    for name, value in FORGED[what].items():
        setattr(house.issuer, name, value)
    if "published" in FORGED[what] or "padding" in FORGED[what]:
        house.world.clock.move_by(timedelta(hours=2))
        response = await browser.client.get(START, follow_redirects=False)
        if response.status_code == 502:  # what it publishes is no good already
            return
        url = response.headers["location"]
    page = await browser.get(await at_provider(url))
    assert (page.status, "could not be used" in page.text) == (502, True), page.text
    assert not await is_in(browser)
    assert "signin.failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "claim"), [(-61, "exp"), (61, "iat"), (61, "nbf")], ids=["expired", "issued", "not before"]
)
async def test_more_than_a_minute_is_too_much(house: House, seconds: int, claim: str) -> None:
    house.issuer.claims = {claim: int(house.world.clock.now().timestamp()) + seconds}
    browser = house.browser()
    assert (await sign_in(browser)).status == 502
    assert not await is_in(browser)


NOT_ADMITTED: dict[str, tuple[dict[str, Any], str]] = {
    "unverified": ({"email": ALICE, "email_verified": False}, "has not verified your e-mail"),
    "unverified in writing": ({"email": ALICE, "email_verified": "false"}, "has not verified your e-mail"),
    "not said whether verified": ({"email": ALICE}, "has not verified your e-mail"),
    "vouched by a claim of its own": ({"email": ALICE, "xms_edov": True}, "has not verified your e-mail"),
    "unknown": ({"email": "eve@example.com", "email_verified": True}, "this service does not"),
    "a name like hers": ({"email": "alice@example.com.evil.example", "email_verified": True}, "this service does not"),
    "letters like hers": ({"email": "аlice@example.com", "email_verified": True}, "this service does not"),
    "two addresses": ({"email": [ALICE], "email_verified": True}, "did not tell us your e-mail"),
    "no address": ({"preferred_username": ALICE, "upn": ALICE}, "did not tell us your e-mail"),
    "no address but words": ({"email": f"{ALICE} eve@evil.example", "email_verified": True}, "did not tell us"),
}


@pytest.mark.parametrize("what", NOT_ADMITTED)
async def test_whoever_is_not_known_for_sure_is_told_why(house: House, what: str) -> None:
    house.issuer.person, told = NOT_ADMITTED[what]
    house.issuer.user_info = None if "email" in house.issuer.person else {}
    browser = house.browser()
    page = await sign_in(browser)
    assert (page.status, told in page.text) == (403, True), page.text
    assert page.links == ["/signin"]
    assert not await is_in(browser)


# --- Whoever comes back ---------------------------------------------------------------------------------------------


async def test_a_link_that_somebody_else_has_made_signs_nobody_in(house: House) -> None:
    """Login CSRF: the attacker's own code and state, in the victim's browser; with a sign-in of the victim's under way
    and without."""
    house.issuer.person = {"email": BOB, "email_verified": True}
    trap = await at_provider(await begin(house.browser()))
    victim = house.browser()
    for _ in range(2):
        page = await victim.get(trap)
        assert (page.status, "begun in another browser" in page.text) == (403, True)
        assert not await is_in(victim)
        await begin(victim)
    assert house.asked_for_tokens() == 0


async def test_a_code_of_another_sign_in_is_worth_nothing(house: House) -> None:
    """Code injection: the victim's code, caught, in a sign-in that the attacker has begun: PKCE keeps it."""
    victim, attacker = house.browser(), house.browser()
    code = parse_qs(urlsplit(await at_provider(await begin(victim))).query)["code"][0]
    state = parse_qs(urlsplit(await begin(attacker)).query)["state"][0]
    page = await attacker.get(f"/signin/oidc/callback?code={code}&state={state}")
    assert page.status == 502
    assert not await is_in(attacker)


async def test_a_code_counts_once(house: House) -> None:
    browser = house.browser()
    back = await at_provider(await begin(browser))
    await browser.get(back)
    again = house.browser()
    url = await begin(again)
    state = parse_qs(urlsplit(url).query)["state"][0]
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert (await again.get(f"/signin/oidc/callback?code={code}&state={state}")).status == 502
    assert not await is_in(again)


async def test_a_state_counts_once_whoever_kept_the_cookie(house: House) -> None:
    browser, thief = house.browser(), house.browser()
    back = await at_provider(await begin(browser))
    thief.client.cookies.update(browser.client.cookies)
    await browser.get(back)
    assert (await thief.get(back)).status == 403
    assert not await is_in(thief)
    assert house.asked_for_tokens() == 1


@pytest.mark.parametrize("change", ["state=0", "state=", "nothing=1"])
async def test_another_state_signs_nobody_in(house: House, change: str) -> None:
    browser = house.browser()
    back = urlsplit(await at_provider(await begin(browser)))
    code = parse_qs(back.query)["code"][0]
    assert (await browser.get(f"{back.path}?code={code}&{change}")).status == 403
    assert house.asked_for_tokens() == 0
    await browser.get(f"{back.path}?{back.query}")  # the sign-in that is under way is not disturbed
    assert await is_in(browser)


async def test_ten_minutes_at_the_provider_are_enough(house: House) -> None:
    browser = house.browser()
    back = await at_provider(await begin(browser))
    house.world.later(minutes=10)
    assert (await browser.get(back)).status == 403


async def test_one_provider_can_t_answer_for_the_other(house: House) -> None:
    """Mix-up: begun at one, and back from the other."""
    house.slack.openid.signed_in = "U0BOB"
    for start, other in ((START, "slack"), ("/signin/slack/start", "oidc")):
        browser = house.browser()
        back = urlsplit(await at_provider(await begin(browser, start)))
        assert (await browser.get(f"/signin/{other}/callback?{back.query}")).status == 403
        assert not await is_in(browser)
    assert house.asked_for_tokens() == 0


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "/signout", "/q/../x"])
async def test_it_leads_nowhere_else(house: House, wanted: str) -> None:
    browser = house.browser()
    assert (await sign_in(browser, f"{START}?next={wanted}")).path == "/inbox"
    again = await browser.client.get(f"{START}?next={wanted}", follow_redirects=False)
    assert again.headers["location"] == "/inbox"


@pytest.mark.parametrize(("error", "told"), [("access_denied", "You stopped, or"), ("<b>server_error", "refused.")])
async def test_whoever_is_denied_there_is_told_so(house: House, error: str, told: str) -> None:
    house.issuer.denies = error
    page = await sign_in(house.browser())
    assert (page.status, told in page.text) == (403, True)
    assert "server_error" not in page.html


# --- Providers that are away, or wrong ------------------------------------------------------------------------------

AWAY: dict[str, tuple[dict[str, Any], int]] = {
    "publishes another issuer": ({"published": {"issuer": "https://elsewhere.example"}}, 502),
    "sends people elsewhere in plain text": (
        {"published": {"authorization_endpoint": "http://elsewhere.example"}},
        502,
    ),
    "wants our secret in plain text": ({"published": {"token_endpoint": "http://10.0.0.1/token"}}, 502),
    "publishes no keys": ({"published": {"jwks_uri": None}}, 502),
    "publishes too much": ({"padding": 600_000}, 502),
}


@pytest.mark.parametrize("what", AWAY)
async def test_a_provider_that_is_set_up_wrongly_is_told(house: House, what: str) -> None:
    wrong, status = AWAY[what]
    for name, value in wrong.items():
        setattr(house.issuer, name, value)
    page = await house.browser().get(START)
    assert (page.status, "You are not signed in" in page.text) == (status, True)


@pytest.mark.parametrize("status", [429, 500])
async def test_a_provider_that_is_away_is_told(house: House, status: int) -> None:
    house.issuer.token_status = status
    page = await sign_in(house.browser())
    assert (page.status, "does not answer just now" in page.text) == (503, True)


async def test_a_provider_that_can_t_be_reached_is_told(tmp_path: Path) -> None:
    oidc = {"issuer": "http://127.0.0.1:1", "client_id": "c", "client_secret": "s"}
    async with a_world(tmp_path, signin={"oidc": oidc, "mail_links": False}) as world:
        page = await world.browser().get("/signin")
        assert page.forms == []
        assert page.links == [START]
        page = await world.browser().get(START)
        assert (page.status, "Company SSO does not answer just now" in page.text) == (503, True)
        await world.browser().post("/signin", {"email": ALICE})
        assert await world.mails_to(ALICE) == []


# --- Nothing leaks --------------------------------------------------------------------------------------------------


async def test_no_code_token_or_address_is_logged_or_sent_on(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    browser, secrets = house.browser(), [ALICE, CLIENT_SECRET, "access-1"]
    for person in ({"email": ALICE, "email_verified": True}, {"email": ALICE}):
        house.issuer.person = person
        url = await begin(browser)
        back = await at_provider(url)
        secrets += [values[0] for values in parse_qs(urlsplit(back).query).values()]
        response = await browser.client.get(back, follow_redirects=False)
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        browser = house.browser()
    logged = capsys.readouterr().out
    assert "signin.completed" in logged
    assert "unverified_email" in logged
    assert [one for one in secrets if one in logged] == []


async def test_the_cookie_of_a_sign_in_is_short_lived_and_ours_alone(house: House) -> None:
    response = await house.browser().client.get(START, follow_redirects=False)
    [cookie] = response.headers.get_list("set-cookie")
    kept = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert kept == {"httponly", "max-age=600", "path=/", "samesite=lax", "secure"}
    assert cookie.startswith("__Host-handraise_signin=")
    query = parse_qs(urlsplit(response.headers["location"]).query)
    assert query["nonce"][0] not in cookie
    browser = house.browser()
    await sign_in(browser)
    assert "__Host-handraise_signin" not in browser.client.cookies


# --- Slack ----------------------------------------------------------------------------------------------------------

BY_SLACK = {"U0ALICE": ALICE, "U0BOB": BOB, "U0EVE": None, "U0FAKE": None}
"""By the account that the directory names, whatever its address; by the address; nobody; another account than hers."""


@pytest.mark.parametrize("user", BY_SLACK)
async def test_slack_says_who_somebody_is(house: House, user: str) -> None:
    house.slack.openid.signed_in = user
    browser = house.browser()
    url = await begin(browser, "/signin/slack/start")
    assert parse_qs(urlsplit(url).query)["team"] == [house.slack.workspace.team_id]
    page = await browser.get(await at_provider(url))
    person = BY_SLACK[user]
    assert page.status == (403 if person is None else 200)
    assert (f"Signed in as {person}" in page.text) is (person is not None)


async def test_slack_has_to_vouch_for_an_address_but_not_for_an_account(house: House) -> None:
    house.slack.openid.unverified |= {"U0ALICE", "U0BOB"}
    for user, status in {"U0ALICE": 200, "U0BOB": 403}.items():
        house.slack.openid.signed_in = user
        assert (await sign_in(house.browser(), "/signin/slack/start")).status == status


async def test_another_workspace_says_nothing(house: House) -> None:
    """Its admins may give an account any address, and its accounts may be called like ours."""
    own = house.slack.workspace.users["U0ALICE"]
    house.slack.workspace.users["U0ALICE"] = User("U0ALICE", "Mallory", ALICE, "T0OTHER")
    house.slack.openid.signed_in = "U0ALICE"
    try:
        page = await sign_in(house.browser(), "/signin/slack/start")
    finally:
        house.slack.workspace.users["U0ALICE"] = own
    assert (page.status, "another Slack workspace" in page.text) == (403, True)


async def test_whoever_says_no_in_slack_is_told_so(house: House) -> None:
    page = await sign_in(house.browser(), "/signin/slack/start")
    assert (page.status, "You stopped, or Slack" in page.text) == (403, True)
