"""The closed language of replies once more, written without the grammar: one regular expression for each language."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from channels.grammar.phrases import ANY, LANGUAGES
from core.domain.notice import NoticeChoice

GAP = r"[\s,.!¡*_、。-]*"
GOING = {"yes": ("yes", "approve", "agree", "true"), "no": ("no", "deny", "refuse", "false")}
GOING |= {"approve": ("approve",), "deny": ("deny",)}


def listed(name: str, *codes: str) -> list[str]:
    lists = [ANY[name]] if name in ANY else [getattr(LANGUAGES[code], name) for code in codes or LANGUAGES]
    return sorted(" ".join(one) for phrases in lists for one in phrases.listed)


def shown(text: str) -> str:
    seen = "".join(one for one in text if one in "\n\t" or unicodedata.category(one) not in {"Cf", "Cc"})
    straight = re.sub("[’‘ʼ´`]", "'", re.sub("[\ufe0f\u20e3]", "", seen))
    lines = unicodedata.normalize("NFKC", straight).casefold().split("\n")
    return "\n".join(" ".join(line.split()) for line in lines)


def any_of(phrases: Iterable[str]) -> str:
    found: dict[str, list[str]] = {}
    for one in sorted(phrases, key=len, reverse=True):
        ends = r"\u3005-\u9fff" if one > "\u3000" else r"\w'"
        found.setdefault(ends, []).append(re.escape(one).replace(r"\ ", r"[\s,、-]+"))
    parts = [f"(?<![{ends}])(?:{'|'.join(one)})(?![{ends}])" for ends, one in found.items()]
    return f"(?:{'|'.join(parts)})" if parts else "(?!)"


def bare(code: str, choice: NoticeChoice, choices: Sequence[NoticeChoice]) -> list[str]:
    called = {own: {word for name in GOING[own] for word in listed(name)} for own in GOING}
    owns = [own for own in GOING if [one for one in choices if one.value in called[own]] == [choice]]
    return [one for own in owns for one in listed(own, code)]


@cache
def closed(code: str, choice: NoticeChoice, choices: tuple[NoticeChoice, ...]) -> re.Pattern[str]:
    polite, yes = rf"(?:{any_of(listed('polite', code))}|{GAP})*", listed("yes", code)
    number, label = str(choice.number), shown(choice.label)
    numbers = [number, f"{number})", f"({number})", f"#{number}", f"[{number}]"]
    printed = [f"{number}{mark} {label}" for mark in (")", ".", ":", " -", " –", "")] + [f"[{number}] {label}"]
    exact = "|".join(map(re.escape, [*numbers, *printed, label, shown(choice.value)]))
    counted = rf"{any_of(listed('number', code))}[ ,.!:*_、。-]*(?:{'|'.join(map(re.escape, numbers))})"
    spoken = bare(code, choice, choices)
    alone = [re.escape(one).replace(r"\ ", " ?") for one in listed("alone")] if set(yes) <= set(spoken) else []
    exact = "|".join([*alone, exact])
    also = any_of(yes if set(yes) <= set(spoken) else [])
    twice = rf"(?:{also}{polite})*(?:{any_of(spoken)}|{exact})(?:{polite}{also})*"
    name = rf"(?:(?<!\w)(?:{exact})(?![a-z0-9])|{counted}|{twice})"
    greeting = rf"{any_of(listed('greeting'))}[ \w,.:!']*"
    return re.compile(
        rf"(?:(?:{polite}|{greeting})\n)*{polite}{name}{polite}(?:\n(?:{any_of(listed('farewell'))}|{polite})*)*\s*"
    )


def means(text: str, choices: tuple[NoticeChoice, ...]) -> set[int]:
    """Every choice that ``text`` names in some language and says nothing else."""
    above = re.split(rf"^ ?(?:{'|'.join(listed('reason'))}) ?:", shown(text), maxsplit=1, flags=re.MULTILINE)[0]
    return {one.index for one in choices for code in LANGUAGES if closed(code, one, choices).fullmatch(above)}
