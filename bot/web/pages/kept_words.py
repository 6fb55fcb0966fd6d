"""What somebody had typed when their form came too late: shown once more, to be copied. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.web.pages.forms import ANSWER, CHOICE, REASON, Posted, form_fields
from core.domain.forms import Field, FieldKind
from core.domain.suspension import Ask, ResponseType

CLARIFY = "clarify"


@dataclass(frozen=True, slots=True)
class TypedWords:
    """``rows`` is how many lines of a text box they take, about."""

    label: str
    text: str

    @property
    def rows(self) -> int:
        return min(12, sum(1 + len(line) // 60 for line in self.text.split("\n")))


def kept_words(ask: Ask, posted: Posted) -> tuple[TypedWords, ...]:
    """Everything of ``posted`` that somebody has chosen or written, as ``ask`` shows it."""
    return tuple(words for words in _words(ask, posted) if words.text.strip())


def _words(ask: Ask, posted: Posted) -> Iterator[TypedWords]:
    yield TypedWords("You had chosen", _chosen(ask, _first(posted, CHOICE)))
    yield TypedWords("Your answer", _first(posted, ANSWER))
    if ask.response_type is ResponseType.FORM:
        for field in form_fields(ask.form_schema, ask.context):
            yield TypedWords(field.label, _typed(field, posted.all(field.input)))
    yield TypedWords("Your reason", _first(posted, REASON))
    yield TypedWords("Your question to the agent", _first(posted, CLARIFY))


def _first(posted: Posted, name: str) -> str:
    return next(iter(posted.all(name)), "")


def _chosen(ask: Ask, index: str) -> str:
    return ask.choices[int(index)].label if _is_index(index, len(ask.choices)) else ""


def _typed(field: Field, values: tuple[str, ...]) -> str:
    if field.kind not in {FieldKind.OPTION, FieldKind.OPTIONS}:
        return "\n".join(values)
    return ", ".join(field.options[int(one)].label for one in values if _is_index(one, len(field.options)))


def _is_index(text: str, length: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and int(text) < length
