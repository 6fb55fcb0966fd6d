"""What holds for any reply, in any language and program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.inbound import MailRules, read_mail
from channels.email.own_words import OwnWords
from tests.corpus.clients import CLIENTS, TONGUES, Ours, mail
from tests.corpus.load import HERE
from tests.corpus.replies import PLAIN

RULES = MailRules(
    Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com", key=b"mail"),
    SenderAuth.TOKEN_ONLY,
    "mx.example.com",
)
OURS = {one: Ours.of((HERE / "ours" / f"{one}.eml").read_bytes()) for one in ("refund", "region", "deploy")}
WHOLE = sorted({*CLIENTS} - {"bottom-posted", "bare"})


@pytest.mark.parametrize("client", WHOLE)
@settings(max_examples=15, deadline=None)
@given(
    language=st.sampled_from(sorted(TONGUES)),
    ours=st.sampled_from(sorted(OURS)),
    own=st.sampled_from([reply.own for reply in PLAIN]) | st.sampled_from(["", "Approve", "はい", "wait", "> hm"]),
)
def test_our_own_mail_quoted_below_in_any_program_says_nothing(client: str, language: str, ours: str, own: str) -> None:
    words = read_mail(mail(client, language, own, OURS[ours]), RULES).words

    assert _flat(words) == _flat(read_mail(mail("bare", language, own, OURS[ours]), RULES).words)


def _flat(words: OwnWords) -> list[str]:
    return [" ".join(line.split()) for line in words.lines if line.strip()]
