"""Negative choices: which choices say no. A "no" counts by itself, and may be given without seeing all of the action.

Only whole values count: ``reject`` is a no, ``reject_candidate`` may be what the agent wants to do. ``deny_refund`` is
a no if ``approve_refund`` stands beside it. The asker overrides it by ``metadata.negative``, but can't call an approval
a no: that would bypass what guards approvals.

The server judges answers by this rule, and the SDK words them for models by it.

Source: API.md §2 ("What is shown"), §4 ("Several answers").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue  # the command line imports this, and not Pydantic

NEGATIVES = frozenset(
    """no nope deny denied reject rejected refuse refused decline declined disapprove disapproved veto vetoed block
    blocked dont do_not do_not_approve not_approved nein ablehnen abgelehnt verweigern non refuser refusé rejeter rejeté
    denegar denegado rechazar rechazado rifiutare rifiutato negare não nao recusar recusado rejeitar rejeitado negar nee
    neen afwijzen afgewezen weigeren geweigerd nej avslå avslag neka avvisa nie odrzuć odrzucam odmawiam odmowa いいえ
    却下 拒否 否認 不承認""".split()  # noqa: SIM905 (a list of words, one a line, would fill the page)
)
AFFIRMATIVES = frozenset(
    """yes y ok okay approve approved accept accepted allow allowed authorize authorized authorise authorised confirm
    confirmed proceed grant granted permit agree go go_ahead ja genehmigen freigeben oui approuver valider sí si aprobar
    sì approvare sim aprovar goedkeuren godkänn godkänna bevilja tak zatwierdź zatwierdzam はい 承認""".split()  # noqa: SIM905
)

_APART = re.compile(r"[^\w]+|_+")


def is_negative(value: str, metadata: Mapping[str, JsonValue], others: Iterable[str] = ()) -> bool:
    """Whether the choice with this ``value`` says no. ``others`` are the values of the question's other choices."""
    words = _words(value)
    if is_affirmative(value):
        return False
    marked = metadata.get("negative")
    if isinstance(marked, bool):
        return marked
    if metadata.get("veto") is True or "_".join(words) in NEGATIVES:
        return True
    return _leads(words, NEGATIVES) and any(_leads(_words(other), AFFIRMATIVES) for other in others)


def is_affirmative(value: str) -> bool:
    """Whether the value says only yes."""
    return "_".join(_words(value)) in AFFIRMATIVES


def _words(value: str) -> tuple[str, ...]:
    plain = value.casefold().replace("'", "").replace("’", "")
    return tuple(word for word in _APART.split(plain) if word)


def _leads(words: tuple[str, ...], among: frozenset[str]) -> bool:
    return bool(words) and words[0] in among
