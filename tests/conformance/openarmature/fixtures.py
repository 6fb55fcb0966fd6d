"""The fixtures of the OpenArmature specification, from the folder that ``HANDRAISE_CONFORMANCE_DIR`` names.

They are no part of this project. Without the variable they are not run, and the run says so (``tests/conftest.py``).
A fixture describes a graph by directives. Here is what becomes of a linear one: a state model, and node functions for a
:class:`handraise.Pipeline`. A node that suspends calls the real ``suspend()``.

Source: OpenArmature conformance-adapter §4, §5.1, §5.7.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from handraise import SignalDescriptor, suspend
from pydantic import BaseModel, create_model

VARIABLE = "HANDRAISE_CONFORMANCE_DIR"
FOLDER = os.environ.get(VARIABLE)

Said = Mapping[str, Any]
TYPES: Mapping[str, Any] = {"bool": bool, "int": int, "string": str, "list": list[Any], "list<int>": list[int]}


def cases(capability: str, folder: str | None = FOLDER) -> dict[str, Said]:
    """Each case of a capability's fixtures, by the file's number and the case's name; none without a folder."""
    found: dict[str, Said] = {}
    if folder is None:
        return {}
    files = sorted((Path(folder) / capability).glob("*.yaml"))
    assert files, f"{VARIABLE} names a folder that has no {capability}/*.yaml"
    for file in files:
        for case in yaml.safe_load(file.read_text())["cases"]:
            found[f"{file.name[:3]}-{case['name']}"] = case
    return found


class Raised(Exception):
    """What a node raises that is told to (``raises``), or a store (``load_raises``)."""

    def __init__(self, category: str, message: str = "The fixture says so.") -> None:
        super().__init__(message)
        self.category = category


def state_of(case: Said) -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (TYPES[field["type"]], field["default"]) for name, field in case["state"]["fields"].items()
    }
    made: type[BaseModel] = create_model("State", **fields)
    return made


def nodes_of(case: Said) -> list[Any]:
    """The node functions from ``entry`` along the edges, each by its name. Raises for what is no line of nodes."""
    after = {edge["from"]: edge["to"] for edge in case["edges"]}
    assert len(after) == len(case["edges"]), "the fixture has a fork"
    names: list[str] = []
    name = case["entry"]
    while name != "END":
        names.append(name)
        name = after[name]
    reducers = {name: field.get("reducer") for name, field in case["state"]["fields"].items()}
    return [_node(name, case["nodes"][name], reducers) for name in names]


def _node(name: str, directives: Said, reducers: Said) -> Any:
    assert len(directives) == 1, "the fixture has a node that does two things"
    [(directive, said)] = directives.items()

    async def node(state: Any) -> Said | None:
        match directive:
            case "update":
                return {field: _reduced(getattr(state, field), value, reducers[field]) for field, value in said.items()}
            case "suspend_with_descriptor":
                await suspend(SignalDescriptor(said["signal_id"], said.get("metadata")))
            case "update_pure":
                return said
            case "raises":
                raise Raised(said["category"], said["message"])
        raise AssertionError(f"no such directive here: {directive}")

    node.__name__ = name
    return node


def _reduced(before: Any, value: Any, reducer: str | None) -> Any:
    """A pipeline has no reducers, so the node does it."""
    if reducer is None:
        return value
    assert reducer == "append"
    together: Sequence[Any] = [*before, *value]
    return together
