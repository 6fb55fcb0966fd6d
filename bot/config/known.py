"""Known keys, and suggestions for a misspelt one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from bot.config.settings import Settings

Path = tuple[str | int, ...]
"""Where a value stands: ``("people", 0, "email")``."""


@dataclass(frozen=True, slots=True)
class Node:
    """One place in the tree of settings: a mapping with these ``keys``, or with ``free`` names; a list of ``items``
    that are mappings; else a plain value. Everything below a secret is one."""

    keys: Mapping[str, Node] = field(default_factory=dict)
    free: Node | None = None
    items: Node | None = None
    is_secret: bool = False

    @property
    def is_plain(self) -> bool:
        return not self.keys and self.free is None and self.items is None

    def at(self, step: str | int) -> Node | None:
        if isinstance(step, int):
            return self.items
        return self.keys.get(step, self.free)


def _tree(annotation: Any) -> Node:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = annotation.model_fields.items()
        return Node(
            keys={info.alias or name: replace(_tree(info.annotation), is_secret=not info.repr) for name, info in fields}
        )
    if get_origin(annotation) is dict:
        return Node(free=_tree(get_args(annotation)[1]))
    inner = [_tree(part) for part in get_args(annotation)]
    found = next((node for node in inner if not node.is_plain), Node())
    return Node(items=found) if get_origin(annotation) is tuple and not found.is_plain else found


TREE = _tree(Settings)


def written(path: Path) -> str:
    """``people[0].email``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return text if text.isprintable() else ascii(text)


def pattern(path: Path) -> str:
    """``people[].email``: the path whatever the position in its lists."""
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def is_secret(path: Path) -> bool:
    """Whether what stands there is never shown."""
    node: Node | None = TREE
    for step in path:
        if node is None or (node.is_secret or node.is_plain):
            break
        node = node.at(step)
    return node is not None and node.is_secret


def without(values: Any, paths: Collection[Path], path: Path = ()) -> Any:
    """``values`` without what stands at one of ``paths``."""
    if isinstance(values, dict):
        below = {key: (*path, str(key)) for key in values}
        return {key: without(value, paths, below[key]) for key, value in values.items() if below[key] not in paths}
    if isinstance(values, list):
        return [without(item, paths, (*path, index)) for index, item in enumerate(values)]
    return values


_REMOVED: Mapping[Path, str] = {
    ("answers", "proposer"): "is gone: nothing guesses at replies any more; please take the setting out",
}


def removed(path: Path) -> str | None:
    """That a setting of an earlier tree is gone, and what to do, as the end of a sentence."""
    return _REMOVED.get(path)


def unknown_keys(values: Any, node: Node = TREE, path: Path = ()) -> Iterator[Path]:
    """Every key in ``values`` that is no setting, outermost first. Values of the wrong shape are not looked into."""
    if isinstance(values, list) and node.items is not None:
        for index, item in enumerate(values):
            yield from unknown_keys(item, node.items, (*path, index))
    elif isinstance(values, dict) and not node.is_plain and node.items is None:
        for key, value in values.items():
            name = str(key)
            below = node.at(name)
            if below is None:
                yield (*path, name)
            else:
                yield from unknown_keys(value, below, (*path, name))


def nearest(path: Path) -> str:
    """The known key that ``path`` was probably meant to be: a misspelt neighbour, else one from elsewhere."""
    place = path[:-1]
    around: Node | None = TREE
    for step in place:
        around = around.at(step) if around is not None else None
    siblings: list[Path] = [(*place, name) for name in (around.keys if around is not None else ())]
    here = _most_like(path, siblings)
    there = _most_like(path, list(_leaves(TREE)))
    return written(there if _ALIKE <= _likeness(path, there) > _likeness(path, here) else here)


_ALIKE = 0.8
"""From here on a key elsewhere is a better guess than a neighbour."""


def _most_like(path: Path, candidates: list[Path]) -> Path:
    return max(
        candidates, key=lambda other: (_likeness(path, other), _ratio(written(path), written(other))), default=("http",)
    )


def _likeness(path: Path, other: Path) -> float:
    """How alike the last steps are, from 0 to 1."""
    return _ratio(str(path[-1]), str(other[-1]))


def _ratio(left: str, right: str) -> float:
    return SequenceMatcher(None, left.lower(), right.lower()).ratio()


def _leaves(node: Node, path: Path = ()) -> Iterator[Path]:
    """Every plain setting outside lists."""
    for name, below in node.keys.items():
        if below.is_plain or below.items is not None:
            yield (*path, name)
        yield from _leaves(below, (*path, name))
