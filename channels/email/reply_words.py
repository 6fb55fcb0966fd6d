"""Reply words: sentences for a person whose reply recorded nothing, in each language that the grammar reads. Pure.

The words are ``languages/*.toml``: one file a language, with the same names in it. Places in braces are filled in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from channels.grammar.phrases import LANGUAGES
from core.domain.notice import DEFAULT_LANGUAGE

_FOLDER = Path(__file__).parent / "languages"


@dataclass(frozen=True, slots=True)
class ReplyWords:
    """The sentences of one language by name, and why a reply decided nothing by its code."""

    language: str
    sentences: Mapping[str, str]
    why: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.sentences[name]


@cache
def reply_words(language: str) -> ReplyWords:
    """The sentences of ``language`` (``de``), else the English ones."""
    known = language if language in LANGUAGES else DEFAULT_LANGUAGE
    read = tomllib.loads((_FOLDER / f"{known}.toml").read_text("utf-8"))
    why = read.pop("why")
    return ReplyWords(known, read, why)
