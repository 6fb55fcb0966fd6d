"""Which path a transmission takes. Pure, and decided before anything runs.

A transmission is what a transport hands over: a request, an event, a line. Its path follows from what it says it is
(``intent``), from the session it names, and from whether it brings a signal. Nothing is looked up, so the same
transmission takes the same path every time.

| Mode | Intent | Brings a signal | Names a session | Path |
|---|---|---|---|---|
| stateless | any but a signal's | no | whatever | 3.0 |
| stateless | none, or a signal's | yes | whatever | 3.0, and resumes |
| sessioned | ``new_session``, or none | no | no | 3.1, with a fresh id |
| sessioned | ``new_session`` | no | yes | 3.1 |
| sessioned | ``existing_session``, or none | no | yes | 3.2 |
| sessioned | ``existing_session`` | no | no | ``harness_session_id_unresolved`` |
| sessioned | ``signal_resume`` | whatever | whatever | 3.3 |
| sessioned | none | yes | no | 3.3 |

Anything else is ``harness_path_classification_ambiguous``. Source: OpenArmature harness §3, §3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, Literal

from pydantic import JsonValue

from handraise.harness.errors import HarnessPathClassificationAmbiguous, HarnessSessionIdUnresolved
from handraise.suspension.descriptor import LONGEST_ID


class HarnessMode(StrEnum):
    """Fixed when the harness is made. Whoever needs both makes two."""

    SESSIONED = "sessioned"
    STATELESS = "stateless"


class DispatchPath(StrEnum):
    """By the number of its section in the specification."""

    STATELESS = "3.0"
    NEW_SESSION = "3.1"
    EXISTING_SESSION = "3.2"
    SIGNAL_RESUME = "3.3"


Intent = Literal["new_session", "existing_session", "signal_resume"]


class NoSignal(Enum):
    """Told apart from a signal whose payload is ``null``."""

    NO_SIGNAL = "no signal"


NO_SIGNAL: Final = NoSignal.NO_SIGNAL


@dataclass(frozen=True, slots=True)
class Transmission:
    """One inbound request or event. ``payload`` is what it carries; ``invocation_id`` and ``signal_id`` in it say which
    invocation a signal is for.

    ``intent`` is what the transport knows it to be, by a route or an event's type. ``signal_payload`` is the answer: an
    object for a form, else a choice's value, ``"yes"``, a text. Without it, a signal says that its invocation may go on
    with what is recorded, as a scheduled wake-up does. ``delivery_id`` is the same for each repetition of one signal.
    """

    payload: Mapping[str, JsonValue] = field(repr=False)
    intent: Intent | None = None
    signal_payload: JsonValue | NoSignal = field(default=NO_SIGNAL, repr=False)
    delivery_id: str | None = None

    @property
    def invocation_id(self) -> str | None:
        return _id(self.payload.get("invocation_id"))

    @property
    def signal_id(self) -> str | None:
        return _id(self.payload.get("signal_id"))

    @property
    def brings_signal(self) -> bool:
        """Whether it has a signal's fields."""
        names = {"invocation_id", "signal_id"} & self.payload.keys()
        return bool(names) or self.signal_payload is not NO_SIGNAL


@dataclass(frozen=True, slots=True)
class InboundDispatch:
    """Where a transmission goes. ``session_id`` is ``None`` if a fresh one is due, and where there are none."""

    path: DispatchPath
    session_id: str | None = None
    resumes: bool = False


def classify(mode: HarnessMode, transmission: Transmission, session: JsonValue) -> InboundDispatch:
    """The one path of ``transmission``. ``session`` is the resolver's result, ``None`` for nothing; a stateless harness
    has no resolver.

    Raises :class:`HarnessPathClassificationAmbiguous` and :class:`HarnessSessionIdUnresolved`.
    """
    intent, signals = transmission.intent, transmission.brings_signal
    if signals and intent in {"new_session", "existing_session"}:
        raise HarnessPathClassificationAmbiguous(f"The transmission is said to be a {intent} and brings a signal.")
    resumes = signals or intent == "signal_resume"
    if mode is HarnessMode.STATELESS:
        return InboundDispatch(DispatchPath.STATELESS, resumes=resumes)
    if resumes:
        if intent is None and session is not None:
            message = "The transmission brings a signal and names a session: its intent has to say which one counts."
            raise HarnessPathClassificationAmbiguous(message)
        return InboundDispatch(DispatchPath.SIGNAL_RESUME, resumes=True)  # the paused record has its session
    return _of_a_session(intent, session)


def _of_a_session(intent: Intent | None, session: JsonValue) -> InboundDispatch:
    if session is None:
        if intent == "existing_session":
            raise HarnessSessionIdUnresolved("The transmission continues a session and names none.")
        return InboundDispatch(DispatchPath.NEW_SESSION)
    session_id = _id(session)
    if session_id is None:
        raise HarnessSessionIdUnresolved(f"A session_id is a text of 1 to {LONGEST_ID} characters.")
    path = DispatchPath.NEW_SESSION if intent == "new_session" else DispatchPath.EXISTING_SESSION
    return InboundDispatch(path, session_id)


def _id(value: JsonValue) -> str | None:
    """``value`` if it is a valid id: one that a server can store."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_ID:
        return None
    return None if any(mark == "\x00" or "\ud800" <= mark <= "\udfff" for mark in value) else value
