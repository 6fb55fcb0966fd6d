"""What people do, and how: by the engine's own door, as somebody who may."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from core.domain.answers import GivenAnswer
from core.domain.people import Actor
from core.domain.reception import AlreadyYours, Counted, Recorded, TooLate
from core.domain.suspension import Choice, Sight, Style, Suspension
from core.engine.collaboration import Collaboration
from core.engine.engine import Engine
from core.errors import AlreadyAnswered, HandraiseError, SuspensionEnded
from core.ports import Responders
from handraise_testing.clock import Duration, parse_duration
from handraise_testing.plans import Act, Due, Schedule, Verb, Which
from handraise_testing.questions import Journal, Question

_YES = frozenset({"approve", "yes", "authorize", "accept", "allow", "confirm", "ok"})
_NO = frozenset({"deny", "no", "veto", "reject", "decline", "refuse"})


class PlanFailed(Exception):
    """A person can't do what was planned. The text is for the author of the test."""


class People:
    """Carries plans out, in the server's event loop."""

    def __init__(
        self, engine: Engine, collaboration: Collaboration, responders: Responders, journal: Journal, schedule: Schedule
    ) -> None:
        self._engine = engine
        self._collaboration = collaboration
        self._responders = responders
        self._journal = journal
        self._schedule = schedule

    async def act(self, due: Due) -> None:
        """Raises :class:`PlanFailed` for what the service refuses; coming too late is no failure."""
        suspension, act = self._journal.latest(due.suspension_id), due.act
        if not suspension.is_open:
            return
        actor = self._who(suspension, act)
        try:
            await self._do(suspension, act, actor)
        except (AlreadyAnswered, SuspensionEnded):
            return
        except HandraiseError as refusal:
            raise PlanFailed(_told(act, suspension, actor, refusal)) from None

    async def _do(self, suspension: Suspension, act: Act, actor: Actor) -> None:
        match act.verb:
            case "answer" | "approve" | "deny":
                await self._answer(suspension, act, actor)
            case "claim":
                claimed = await self._engine.claim(suspension.id, actor, _channel(suspension), act.lasts)
                if not isinstance(claimed, Suspension):
                    raise claimed.error
            case "ask_back":
                await self._collaboration.clarify(suspension.id, actor, str(act.value))
            case "hand_over":
                await self._collaboration.assign(suspension.id, actor, str(act.value))
            case "stay_silent":
                pass

    async def _answer(self, suspension: Suspension, act: Act, actor: Actor) -> None:
        value = act.value if act.verb == "answer" else _choice(suspension, act)
        given = GivenAnswer(suspension.id, actor, _channel(suspension), value, reason=act.reason, sight=Sight.REVEALED)
        reception = await self._engine.respond(given)
        if isinstance(reception, Counted):
            self._schedule.wants_more(reception.suspension)
        elif not isinstance(reception, Recorded | TooLate | AlreadyYours):
            raise reception.error

    def _who(self, suspension: Suspension, act: Act) -> Actor:
        """Whoever the plan names; else the first of those asked who may answer and has not; else an operator."""
        if act.by is not None:
            return self._responders.actor(act.by)
        asked = (one for ref in (*suspension.asked, *suspension.ask.responders) for one in self._responders.people(ref))
        answered = {one.by for one in suspension.answers}
        for identity in (*asked, *sorted(self._responders.operators())):
            actor = self._responders.actor(identity)
            if actor.identity not in answered and self._engine.permissions.refusal(suspension, actor) is None:
                return actor
        raise PlanFailed(f"{act}: nobody may answer {suspension.ask.question!r}. Name somebody with by=….")


def _channel(suspension: Suspension) -> str:
    """Where people were asked last."""
    return suspension.ask.planned(suspension.attempt).channel


def _choice(suspension: Suspension, act: Act) -> JsonValue:
    """The one choice that approves, or denies: by its value, else by its style. A veto's is marked."""
    choices = suspension.ask.choices
    denies = act.verb == "deny"
    if marked := [one for one in choices if one.is_veto]:
        found = marked if denies else [one for one in choices if not one.is_veto]
    else:
        words, style = (_NO, Style.DANGER) if denies else (_YES, Style.PRIMARY)
        found = [one for one in choices if one.value.lower() in words] or [one for one in choices if one.style is style]
    if len(found) == 1:
        return found[0].value
    raise PlanFailed(
        f"{act}: which choice of {suspension.ask.question!r} is that? {_values(choices)} Say humans.answer(value)."
    )


def _values(choices: tuple[Choice, ...]) -> str:
    return f"Its choices: {', '.join(repr(one.value) for one in choices)}." if choices else "It has no choices."


def _told(act: Act, suspension: Suspension, actor: Actor, refusal: HandraiseError) -> str:
    valid = f" {_values(suspension.ask.choices)}" if "valid_choices" in refusal.details else ""
    return (
        f"{act} was refused. {actor.identity} can't do that with {suspension.ask.question!r}: "
        f"{refusal.code}: {refusal.message}{valid}"
    )


class Humans:
    """What people do in this test. The fixture ``humans``; may be used from any thread.

    Each plan is for one question: the next that is asked and that ``to`` fits, or one that is open already and has
    none. ``to`` is a regular expression that is searched for in the question's text, or a predicate over the text.
    ``after`` counts from the asking (from now, if it is asked already). ``by`` is a person's e-mail; left out, it is
    the first of those asked who may answer, else an operator.

    A question without a plan meets silence.
    """

    def __init__(self, plan: Callable[[Act, Which | None], None], journal: Journal) -> None:
        self._plan = plan
        self._journal = journal

    @property
    def asked(self) -> list[Question]:
        """The questions so far, in order."""
        return self._journal.questions()

    def answer(
        self,
        value: JsonValue,
        *,
        after: Duration = 0,
        by: str | None = None,
        reason: str | None = None,
        to: Which | None = None,
    ) -> None:
        """Somebody answers ``value``. A value that the question does not take fails the test."""
        self._add("answer", value, after, by, to, reason=reason)

    def approve(
        self, *, after: Duration = 0, by: str | None = None, reason: str | None = None, to: Which | None = None
    ) -> None:
        """Somebody takes the one choice that approves: ``approve``, ``yes``, ``authorize`` and the like, else the one
        with the style ``primary``."""
        self._add("approve", None, after, by, to, reason=reason)

    def deny(
        self, *, after: Duration = 0, by: str | None = None, reason: str | None = None, to: Which | None = None
    ) -> None:
        """Somebody takes the one choice that denies: ``deny``, ``no``, ``veto`` and the like, else the one with the
        style ``danger``."""
        self._add("deny", None, after, by, to, reason=reason)

    def stay_silent(self, *, to: Which | None = None) -> None:
        """Nobody answers."""
        self._add("stay_silent", None, 0, None, to)

    def claim(
        self,
        *,
        after: Duration = 0,
        by: str | None = None,
        lasts: Duration | None = None,
        to: Which | None = None,
    ) -> None:
        """Somebody is on it: further attempts wait for ``lasts`` (30 minutes). What is planned next is for the same
        question."""
        span = None if lasts is None else parse_duration(lasts)
        self._plan(Act("claim", None, parse_duration(after), by, lasts=span), to)

    def ask_back(self, question: str, *, after: Duration = 0, by: str | None = None, to: Which | None = None) -> None:
        """Somebody asks the agent back. What is planned next is for the same question."""
        self._add("ask_back", question, after, by, to)

    def hand_over(self, person: str, *, after: Duration = 0, by: str | None = None, to: Which | None = None) -> None:
        """Somebody hands the question over to ``person``, an e-mail. What is planned next is for the same question."""
        self._add("hand_over", person, after, by, to)

    def _add(
        self,
        verb: Verb,
        value: JsonValue,
        after: Duration,
        by: str | None,
        to: Which | None,
        reason: str | None = None,
    ) -> None:
        self._plan(Act(verb, value, parse_duration(after), by, reason), to)
