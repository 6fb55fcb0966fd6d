"""Which path a transmission takes (OpenArmature harness §3, §3.4): one, the same each time, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from handraise.harness import (
    DispatchPath,
    HarnessError,
    HarnessMode,
    HarnessPathClassificationAmbiguous,
    HarnessSessionIdUnresolved,
    InboundDispatch,
    Transmission,
    classify,
)
from handraise.harness.classification import NO_SIGNAL
from hypothesis import example, given
from hypothesis import strategies as st

SESSIONED, STATELESS = HarnessMode
NEW, EXISTING, SIGNAL = DispatchPath.NEW_SESSION, DispatchPath.EXISTING_SESSION, DispatchPath.SIGNAL_RESUME
AMBIGUOUS, UNRESOLVED = HarnessPathClassificationAmbiguous, HarnessSessionIdUnresolved

INTENTS = [None, "new_session", "existing_session", "signal_resume"]
SIGNS: list[dict[str, Any]] = [
    {"payload": {"signal_id": "refund-1"}},
    {"payload": {"invocation_id": "inv-1"}},
    {"payload": {}, "signal_payload": None},
    {"payload": {"signal_id": 7}},
]
"""Each by itself makes a signal."""


def taken(transmission: Transmission, session: Any, mode: HarnessMode = SESSIONED) -> Any:
    """Its dispatch, or the class of the error."""
    try:
        return classify(mode, transmission, session)
    except HarnessError as refusal:
        return type(refusal)


@pytest.mark.parametrize(
    ("intent", "session", "path"),
    [
        (None, None, InboundDispatch(NEW)),
        (None, "sess-1", InboundDispatch(EXISTING, "sess-1")),
        ("new_session", None, InboundDispatch(NEW)),
        ("new_session", "sess-1", InboundDispatch(NEW, "sess-1")),
        ("existing_session", "sess-1", InboundDispatch(EXISTING, "sess-1")),
        ("existing_session", None, UNRESOLVED),
    ],
)
def test_what_brings_no_signal_begins_a_session_or_continues_one(intent: Any, session: Any, path: Any) -> None:
    assert taken(Transmission({"kind": "message"}, intent), session) == path


@pytest.mark.parametrize("signal", SIGNS)
@pytest.mark.parametrize(
    ("intent", "session", "path"),
    [
        (None, None, InboundDispatch(SIGNAL, resumes=True)),
        ("signal_resume", None, InboundDispatch(SIGNAL, resumes=True)),
        ("signal_resume", "sess-1", InboundDispatch(SIGNAL, resumes=True)),
        (None, "sess-1", AMBIGUOUS),
        ("new_session", None, AMBIGUOUS),
        ("new_session", "sess-1", AMBIGUOUS),
        ("existing_session", "sess-1", AMBIGUOUS),
    ],
)
def test_a_signal_resumes_and_never_names_its_session(intent: Any, session: Any, path: Any, signal: Any) -> None:
    assert taken(Transmission(intent=intent, **signal), session) == path


def test_what_is_said_to_be_a_signal_is_one_whatever_it_looks_like() -> None:
    assert taken(Transmission({}, "signal_resume"), None) == InboundDispatch(SIGNAL, resumes=True)


@pytest.mark.parametrize("intent", INTENTS)
@pytest.mark.parametrize("signal", [{"payload": {}}, *SIGNS])
def test_a_stateless_harness_knows_one_path(intent: Any, signal: Any) -> None:
    transmission = Transmission(intent=intent, **signal)
    resumes = transmission.brings_signal or intent == "signal_resume"
    contradicts = transmission.brings_signal and intent in {"new_session", "existing_session"}
    expected = AMBIGUOUS if contradicts else InboundDispatch(DispatchPath.STATELESS, resumes=resumes)
    assert taken(transmission, None, STATELESS) == expected


@pytest.mark.parametrize("session", ["", 7, True, [], {}, "x" * 256, "a\x00", "\ud800"])
@pytest.mark.parametrize("intent", [None, "new_session", "existing_session"])
def test_what_is_no_id_names_no_session(session: Any, intent: Any) -> None:
    assert taken(Transmission({}, intent), session) is UNRESOLVED


@pytest.mark.parametrize("name", ["signal_id", "invocation_id"])
@pytest.mark.parametrize("value", ["", 7, None, "x" * 256, "a\x00", "\ud800"])
def test_what_is_no_id_is_still_a_signal_and_finds_nothing(name: str, value: Any) -> None:
    transmission = Transmission({name: value})
    assert taken(transmission, None) == InboundDispatch(SIGNAL, resumes=True)
    assert (transmission.signal_id, transmission.invocation_id) == (None, None)


def test_a_payload_of_null_is_a_signal() -> None:
    assert Transmission({}, signal_payload=None).brings_signal
    assert not Transmission({}, signal_payload=NO_SIGNAL).brings_signal


KEYS = st.sampled_from(["kind", "input", "session_id", "signal_id", "invocation_id"])
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=300) | st.lists(st.text(), max_size=2)
TRANSMISSIONS = st.builds(
    Transmission,
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.sampled_from(INTENTS),
    st.just(NO_SIGNAL) | VALUES,
    st.none() | st.text(max_size=10),
)


@given(st.sampled_from(HarnessMode), TRANSMISSIONS)
@example(SESSIONED, Transmission({"session_id": "s", "signal_id": "x"}))
def test_every_transmission_has_one_path_or_one_error_and_the_same_again(mode: Any, transmission: Any) -> None:
    session = transmission.payload.get("session_id")
    first = taken(transmission, session, mode)
    again = Transmission(
        dict(reversed(transmission.payload.items())),
        transmission.intent,
        transmission.signal_payload,
        transmission.delivery_id,
    )
    assert taken(again, session, mode) == first
    if not isinstance(first, InboundDispatch):
        assert first in {AMBIGUOUS, UNRESOLVED}
        return
    assert (first.path is DispatchPath.STATELESS) == (mode is STATELESS)
    if mode is STATELESS:
        assert first.session_id is None
        return
    assert first.resumes == (first.path is SIGNAL)
    assert first.session_id is None or first.session_id == session
    assert (first.path is EXISTING) <= (first.session_id is not None)
    assert (first.path is SIGNAL) <= (first.session_id is None)
