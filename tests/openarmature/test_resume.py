"""A graph suspends in one process and goes on in another; each ``agent`` here is a process of its own."""

from __future__ import annotations

import pytest

from tests.openarmature.office import Office


async def test_the_second_process_runs_what_comes_after_the_gate_and_nothing_else(place: Office) -> None:
    first = await place.agent("line", initial_state={"signal": "line"}, correlation_id="corr-7")
    assert (first["outcome"], first["ran"], first["namespace"]) == ("suspended", ["draft", "gate"], ["gate"])
    assert (await place.signal("line-1", {"approved": True})).status_code == 200
    second = await place.agent("line", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"], second["state"]["log"]) == ("completed", ["send"], ["draft", "send"])
    assert second["state"]["approved"] is True
    assert (second["invocation_id"], second["correlation_id"]) == (first["invocation_id"], "corr-7")
    assert first["same"] and second["same"], "the engine's ids in the nodes are those of the outcome"


@pytest.mark.parametrize(("graph", "before"), [("line", ["draft", "gate"]), ("entry", ["gate"])])
async def test_an_invocation_has_the_id_that_its_caller_gave_it(place: Office, graph: str, before: list[str]) -> None:
    name = f"named-{graph}"
    first = await place.agent(graph, initial_state={"signal": name}, invocation_id=name)
    assert (first["invocation_id"], first["ran"], first["same"]) == (name, before, True)
    await place.signal(first["signal"], {})
    second = await place.agent(graph, resume_invocation=name)
    assert (second["outcome"], second["ran"], second["invocation_id"]) == ("completed", ["send"], name)


async def test_a_last_node_that_suspends_leaves_nothing_to_run(place: Office) -> None:
    first = await place.agent("last", initial_state={"signal": "last"})
    await place.signal("last-1", {"approved": True})
    second = await place.agent("last", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"], second["state"]["approved"]) == ("completed", [], True)


async def test_a_node_that_is_not_completed_runs_again_with_the_answer_and_may_suspend_again(place: Office) -> None:
    first = await place.agent("again", initial_state={"signal": "again"})
    assert (first["ran"], first["signal"]) == (["gate"], "again-0")
    await place.signal("again-0", {"log": ["once"]})
    second = await place.agent("again", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"], second["signal"]) == ("suspended", ["gate"], "again-1")
    await place.signal("again-1", {"log": ["once", "twice"]})
    third = await place.agent("again", resume_invocation=first["invocation_id"])
    assert (third["outcome"], third["ran"]) == ("completed", ["acts", "send"])
    assert third["state"]["log"] == ["once", "twice", "acts", "send"], "no reducer touches an answer"
    assert {one["invocation_id"] for one in (first, second, third)} == {first["invocation_id"]}


async def test_a_gate_in_a_loop_asks_each_time_round(place: Office) -> None:
    """The engine's own resume would skip it the second time, since its record says that the gate is done."""
    first = await place.agent("loop", initial_state={"signal": "loop"})
    await place.signal("loop-1", {"approved": False})
    second = await place.agent("loop", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"], second["signal"]) == ("suspended", ["draft", "gate"], "loop-2")
    await place.signal("loop-2", {"approved": True})
    third = await place.agent("loop", resume_invocation=first["invocation_id"])
    assert (third["outcome"], third["ran"], third["state"]["rounds"]) == ("completed", ["send"], 2)


async def test_a_gate_two_graphs_down_is_gone_on_from_and_asks_the_next_time_too(place: Office) -> None:
    first = await place.agent("nested", initial_state={"signal": "nested", "text": "outermost"})
    assert (first["node_name"], first["namespace"]) == ("gate", ["outer", "inner", "gate"])
    await place.signal("nested-1", {"approved": False})
    second = await place.agent("nested", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"]) == ("suspended", ["send", "draft", "gate"])
    await place.signal("nested-2", {"approved": True})
    third = await place.agent("nested", resume_invocation=first["invocation_id"])
    assert (third["outcome"], third["ran"]) == ("completed", ["send", "send"])
    whole = ["draft", "send", "draft", "send", "send"]
    assert (third["state"]["log"], third["state"]["text"]) == (whole, "outermost")


async def test_after_an_instance_has_suspended_the_graph_goes_on_behind_the_fan_out(place: Office) -> None:
    """What the instances had found is not carried over: the aggregate is as it was before (suspension §8.2)."""
    first = await place.agent("fan_out_once", initial_state={"signal": "once"})
    assert (first["namespace"], first["ran"]) == (["parts"], ["draft", "part 0", "part 1", "part 2"])
    await place.signal("once", {"approved": True})
    second = await place.agent("fan_out_once", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"], second["state"]["results"]) == ("completed", ["send"], [])


async def test_a_fan_out_that_is_not_completed_runs_from_scratch_with_the_answer(place: Office) -> None:
    first = await place.agent("fan_out_again", initial_state={"signal": "scratch"})
    await place.signal("scratch", {"approved": True})
    second = await place.agent("fan_out_again", resume_invocation=first["invocation_id"])
    assert (second["outcome"], second["ran"]) == ("completed", ["part 0", "part 1", "part 2", "send"])
    assert second["state"]["results"] == [0, 10, 20]


async def test_what_has_gone_on_already_or_was_never_paused_is_not_resumed(place: Office) -> None:
    first = await place.agent("line", initial_state={"signal": "done"})
    waits = await place.agent("line", resume_invocation=first["invocation_id"])
    assert (waits["raised"], waits["reason"]) == ("suspension_record_invalid", "open")
    await place.signal("done-1", {"approved": True})
    await place.agent("line", resume_invocation=first["invocation_id"])
    for name, reason in ((first["invocation_id"], "resumed"), ("never-paused", "unknown")):
        told = await place.agent("line", resume_invocation=name)
        assert (told["raised"], told["reason"], told["ran"]) == ("suspension_record_invalid", reason, [])


@pytest.mark.parametrize(("graph", "other"), [("nested", "line"), ("line", "nested")])
async def test_a_graph_without_the_node_that_suspended_does_not_go_on(place: Office, graph: str, other: str) -> None:
    first = await place.agent(graph, initial_state={"signal": f"moved-{graph}"})
    await place.signal(first["signal"], {"approved": True})
    told = await place.agent(other, resume_invocation=first["invocation_id"])
    assert (told["raised"], told["reason"], told["ran"]) == ("suspension_record_invalid", "foreign", [])
    assert (await place.agent(graph, resume_invocation=first["invocation_id"]))["outcome"] == "completed"


async def test_an_answer_that_does_not_fit_the_state_is_refused_when_it_is_given(place: Office) -> None:
    first = await place.agent("line", initial_state={"signal": "typed"})
    refused = await place.signal("typed-1", {"rounds": "many"})
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "suspension_resume_payload_invalid")
    await place.signal("typed-1", {"rounds": 7})
    told = await place.agent("line", resume_invocation=first["invocation_id"], signal_payload={"rounds": 8})
    assert (told["raised"], told["ran"]) == ("suspension_resume_payload_invalid", [])
    done = await place.agent("line", resume_invocation=first["invocation_id"], signal_payload={"rounds": 7})
    assert (done["outcome"], done["state"]["rounds"]) == ("completed", 7)


async def test_a_question_that_was_taken_back_ends_the_run_and_no_node_runs(place: Office) -> None:
    first = await place.agent("line", initial_state={"signal": "back"}, invocation_id="back")
    [one] = (await place.call("GET", "/v1/suspensions?invocation_id=back")).json()["items"]
    await place.call("POST", f"/v1/suspensions/{one['id']}/cancel", "agent-key-1", json={"reason": "sold out"})
    told = await place.agent("line", resume_invocation=first["invocation_id"])
    assert (told["outcome"], told["ran"], told["namespace"]) == ("cancelled", [], ["gate"])


async def test_a_signal_id_that_is_in_use_is_refused_and_nothing_is_paused(place: Office) -> None:
    await place.agent("line", initial_state={"signal": "taken"})
    told = await place.agent("line", initial_state={"signal": "taken"}, invocation_id="second-of-taken")
    assert (told["raised"], told["ran"]) == ("suspension_persistence_failed", ["draft", "gate"])
    found = await place.call("GET", "/v1/suspensions?invocation_id=second-of-taken")
    assert found.json()["items"] == []
