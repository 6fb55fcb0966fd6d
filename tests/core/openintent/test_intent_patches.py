"""What clients may change of an intent: its status (RFC-0001) and its state, but never the server's own record."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.intent import IntentStatus, Patch, apply_patches, check_move, replace_state
from core.errors import HandraiseError, InvalidRequest, InvalidTransition, ReservedPath

State = dict[str, Any]


@pytest.mark.parametrize(
    ("state", "patch", "changed"),
    [
        ({}, Patch("set", "/cart", 7), {"cart": 7}),
        ({}, Patch("set", "cart", 7), {"cart": 7}),
        ({"cart": 7}, Patch("set", "/cart", None), {"cart": None}),
        ({}, Patch("set", "/order/id", "12345"), {"order": {"id": "12345"}}),
        ({"order": {"id": 1}}, Patch("set", "/order/total", 5), {"order": {"id": 1, "total": 5}}),
        ({"items": [1, 2]}, Patch("set", "/items/1", 9), {"items": [1, 9]}),
        ({"items": [{"n": 1}]}, Patch("set", "/items/0/n", 2), {"items": [{"n": 2}]}),
        ({}, Patch("append", "/log", "a"), {"log": ["a"]}),
        ({"log": ["a"]}, Patch("append", "/log", "b"), {"log": ["a", "b"]}),
        ({"cart": 7, "x": 1}, Patch("remove", "/cart"), {"x": 1}),
        ({"items": [1, 2, 3]}, Patch("remove", "/items/1"), {"items": [1, 3]}),
        ({}, Patch("set", "/a~1b", 1), {"a/b": 1}),
        ({}, Patch("set", "/a~0b", 1), {"a~b": 1}),
        ({}, Patch("set", "/a~01", 1), {"a~1": 1}),
        ({}, Patch("set", "/_suspensions", 1), {"_suspensions": 1}),
        ({}, Patch("set", "/nested/_suspension", 1), {"nested": {"_suspension": 1}}),
    ],
)
def test_a_patch_changes_the_state_where_it_says(state: State, patch: Patch, changed: State) -> None:
    assert apply_patches(state, [patch]) == changed


def test_patches_follow_each_other() -> None:
    patches = [Patch("set", "/a", {}), Patch("set", "/a/b", 1), Patch("append", "/c", 2), Patch("remove", "/a/b")]
    assert apply_patches({}, patches) == {"a": {}, "c": [2]}


def test_a_patched_state_is_a_new_one() -> None:
    state: State = {"items": [1], "order": {"id": 1}}
    before = deepcopy(state)
    apply_patches(state, [Patch("append", "/items", 2), Patch("set", "/order/id", 2)])
    assert state == before


@pytest.mark.parametrize("path", ["/_suspension", "_suspension", "/_suspension/response", "_suspension/id"])
@pytest.mark.parametrize("op", ["set", "append", "remove"])
def test_the_record_of_the_suspension_is_the_servers(path: str, op: str) -> None:
    with pytest.raises(ReservedPath):
        apply_patches({"_suspension": {"id": "x"}}, [Patch("set", "/a", 1), Patch(op, path, {})])


@pytest.mark.parametrize(
    ("state", "patch"),
    [
        ({}, Patch("set", "")),
        ({}, Patch("set", "/")),
        ({}, Patch("set", "/a//b")),
        ({}, Patch("set", "/a/")),
        ({"a": 1}, Patch("set", "/a/b", 1)),
        ({"a": [1]}, Patch("set", "/a/1", 1)),
        ({"a": [1]}, Patch("set", "/a/-1", 1)),
        ({"a": [1]}, Patch("set", "/a/x", 1)),
        ({"a": [1]}, Patch("set", "/a/\u00b2", 1)),
        ({"a": 1}, Patch("append", "/a", 1)),
        ({"a": [[1]]}, Patch("append", "/a/0", 2)),
        ({}, Patch("remove", "/a")),
        ({}, Patch("remove", "/a/b")),
        ({"a": [1]}, Patch("remove", "/a/1")),
        ({"a": "text"}, Patch("remove", "/a/0")),
        ({}, Patch("move", "/a")),
        ({}, Patch("SET", "/a")),
    ],
)
def test_a_patch_that_leads_nowhere_is_refused_by_its_number(state: State, patch: Patch) -> None:
    with pytest.raises(InvalidRequest) as refused:
        apply_patches(state, [Patch("set", "/fine", 1), patch])
    assert refused.value.details["fields"][0]["path"].startswith("patches.1.")  # type: ignore[index,call-overload,union-attr]


segments = st.sampled_from(["a", "b", "0", "1", "-1", "~1", "~0", "x" * 20, "é"])
patches = st.builds(
    Patch,
    st.sampled_from(["set", "append", "remove"]),
    st.lists(segments, min_size=1, max_size=4).map("/".join),
    st.none() | st.integers() | st.just([]) | st.just({}),
)


@given(st.lists(patches, max_size=8))
def test_any_patches_change_the_state_or_are_refused_and_leave_it_alone(many: list[Patch]) -> None:
    state: State = {"a": {"b": [1, {"a": 2}]}, "_suspension": {"id": "x"}}
    before = deepcopy(state)
    try:
        changed = apply_patches(state, many)
    except HandraiseError:
        changed = before
    assert state == before
    assert changed["_suspension"] == {"id": "x"}


def test_a_whole_new_state_leaves_the_servers_record_to_the_server() -> None:
    assert replace_state({"cart": 7, "_suspension": {"response": "approve"}}) == {"cart": 7}


ALLOWED = {
    ("draft", "active"),
    ("draft", "abandoned"),
    ("active", "blocked"),
    ("active", "completed"),
    ("active", "abandoned"),
    ("blocked", "active"),
    ("blocked", "abandoned"),
}


@pytest.mark.parametrize("wanted", IntentStatus)
@pytest.mark.parametrize("current", IntentStatus)
def test_an_intent_moves_as_its_lifecycle_allows(current: IntentStatus, wanted: IntentStatus) -> None:
    if (current.value, wanted.value) in ALLOWED:
        check_move(current, wanted)
    else:
        with pytest.raises(InvalidTransition) as refused:
            check_move(current, wanted)
        assert refused.value.details == {"status": current.value}
