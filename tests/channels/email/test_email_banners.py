"""What a gateway writes above a mail is nobody's words, and what somebody writes like it is theirs (API.md §6)."""

from __future__ import annotations

import re

import pytest

from channels.email.banners import without_banners

BANNERS = [
    "[EXTERNAL]",
    "[External Email]",
    "EXTERNAL SENDER",
    "*** EXTERNAL EMAIL ***",
    "CAUTION: This email originated from outside of the organization. Do not click links or open attachments unless "
    "you recognize the sender and know the content is safe.",
    "CAUTION: This email originated from outside of the organization. Do not click links or\nopen attachments unless "
    "you recognize the sender and know the\ncontent is safe.",
    "[EXTERNAL] This message came from outside your organization. Please do not open attachments from unknown senders.",
    "WARNING: The sender of this email is external. Never give your passwords. Report suspicious mail to IT security.",
    "This message was sent from outside the company. Be careful with links.",
    "You don't often get email from alice@example.com. Learn why this is important"
    "<https://aka.ms/LearnAboutSenderIdentification>",
    "[You don’t often get email from alice@example.com. Learn why this is important at "
    "https://aka.ms/LearnAboutSenderIdentification ]",
    "ZjQcmQRYFpfptBannerStart\nThis Message Is From an External Sender\nThis message came from outside your "
    "organization.\n\nZjQcmQRYFpfptBannerEnd",
    "This Message Is From an Untrusted Sender\nYou have not previously corresponded with this sender.\n"
    "Report Suspicious <https://us-phishalarm-ewt.proofpoint.com/EWT/v1/x>",
    "ACHTUNG: Diese E-Mail stammt von einem externen Absender. Bitte klicken Sie nicht auf Links und öffnen Sie keine "
    "Anhänge, wenn Sie den Absender nicht kennen.",
    "ATTENTION : Cet e-mail provient de l'extérieur de l'entreprise. Ne cliquez pas sur les liens et n'ouvrez pas les "
    "pièces jointes si vous ne connaissez pas l'expéditeur.",
    "Este correo electrónico proviene de fuera de la organización. No abra enlaces ni archivos adjuntos.",
    "Questa email proviene dall'esterno. Non cliccare sui link.",
    "Deze e-mail is afkomstig van buiten de organisatie. Klik niet op links.",
    "UWAGA: wiadomość pochodzi spoza organizacji. Nie klikaj linków i nie otwieraj załączników.",
    "[EXTERNO] Mensagem de remetente externo.",
    "EXTERNT: meddelandet kommer från en extern avsändare.",
    "External mail – handle with care",
    "【社外メール】このメールは社外から送信されています。",
]


@pytest.mark.parametrize("banner", BANNERS)
@pytest.mark.parametrize("between", ["\n\n", "\n"])
def test_a_banner_above_is_none_of_the_words(banner: str, between: str) -> None:
    assert [line for line in without_banners(f"{banner}{between}Approve".split("\n")) if line] == ["Approve"]


@pytest.mark.parametrize(
    "words",
    [
        "CAUTION: do not approve this.",
        "This message is external, so do not approve.",
        "This email came from outside the organization. Deny it.",
        "Warning: this is the wrong order",
        "External auditors have to agree first",
        "[EXTERNAL] Deny",
        "External",
        "Caution!",
        "Please do not open attachments. Deny",
        "This message is from an external sender, deny",
        "The message, deny it, is from outside.",
        "This email came from outside. Please reject what the sender wants.",
    ],
)
def test_what_somebody_writes_like_a_banner_is_theirs(words: str) -> None:
    lines = [words, "", "Approve"]
    assert without_banners(lines) == lines


def test_a_reply_that_is_nothing_but_a_banner_is_one() -> None:
    assert without_banners(["External sender", ""]) == ["External sender", ""]


def test_a_banner_stands_at_the_top() -> None:
    lines = ["Approve", "", BANNERS[4]]
    assert without_banners(lines) == lines


def test_lines_of_ones_own_gateway_are_none_of_the_words_wherever_they_stand() -> None:
    ours = [re.compile(r"Scanned by \w+ \d+"), re.compile("Classification: .*")]
    lines = ["Classification: internal", "Approve", "Scanned by Gate 7", "Scanned by Gate 7, deny"]
    assert without_banners(lines, ours) == ["Approve", "Scanned by Gate 7, deny"]


@pytest.mark.parametrize(
    "line",
    [
        "External mail review required",
        "External sender\nDisapproved",
        "External email\nbob pays fifty percent",
        "Legal wants external message review",
        "Voucher by external mail",
        "[External mail]\n2",
        "Extern mails gestoppt",
        "El remitente externo paga todo",
        "External messages get a voucher of twenty",
    ],
)
def test_what_somebody_writes_of_external_mail_is_theirs(line: str) -> None:
    written = [*line.split("\n"), "", "Approve"]

    assert len([one for one in without_banners(written) if one]) > 1, "something stands above the answer yet"
