"""How more mail programs and languages introduce what they quote: nothing from there on is the writer's."""

from __future__ import annotations

import pytest

from channels.email.own_words import own_words

US = "Handraise <handraise@example.com>"
LRE, PDF = "\u202a", "\u202c\u200f"
"""The marks of direction that Gmail puts around a name."""
GMAIL = f"{LRE}Handraise{PDF} <{LRE}handraise@example.com{PDF}>"
QUOTED = "> — reply above this line · HR-7F3K —\n> Refund order 12345?\n>   1) Approve refund"
BARE = "— reply above this line · HR-7F3K —\nRefund order 12345?\n  1) Approve refund"
HEADS = {
    "ru": "От: {us}\nОтправлено: 21 ноября 2026 г. 9:31\nКому: alice@example.com\nТема: Refund?",
    "uk": "Від: {us}\nНадіслано: 21 листопада 2026 р. 9:31\nКому: alice@example.com\nТема: Refund?",
    "ko": "보낸 사람: {us}\n보낸 날짜: 2026년 11월 21일 토요일 오전 9:31\n받는 사람: alice@example.com\n제목: Refund?",
    "zh": "发件人: {us}\n发送时间: 2026年11月21日 9:31\n收件人: alice@example.com\n主题: Refund?",
    "zh-TW": "寄件者: {us}\n寄件日期: 2026年11月21日 上午 09:31\n收件者: alice@example.com\n主旨: Refund?",
    "ar": "من: {us}\nتاريخ الإرسال: 21 نوفمبر 2026 09:31\nإلى: alice@example.com\nالموضوع: Refund?",
    "he": "מאת: {us}\nנשלח: יום שבת 21 נובמבר 2026 09:31\nאל: alice@example.com\nנושא: Refund?",
    "tr": "Kimden: {us}\nGönderildi: 21 Kasım 2026 Cumartesi 09:31\nKime: alice@example.com\nKonu: Refund?",
    "hi": "प्रेषक: {us}\nभेजा गया: 21 नवंबर 2026 09:31\nप्रति: alice@example.com\nविषय: Refund?",
    "no": "Fra: {us}\nSendt: lørdag 21. november 2026 09:31\nTil: alice@example.com\nEmne: Refund?",
}
ATTRIBUTIONS = {
    "zoho": f"---- On Sat, 21 Nov 2026 09:31:00 +0100 {US} wrote ----",
    "undated": f"{US} wrote:",
    "wrapped address": "Am 21.11.2026 um 09:31 schrieb Handraise <handraise@example.com\n>:",
    "ru gmail": f"сб, 21 нояб. 2026 г. в 09:31, {US}:",
    "ru": f"21.11.2026 09:31, {US} пишет:",
    "uk gmail": f"сб, 21 лист. 2026 р. о 09:31 {US} пише:",
    "ko gmail": f"2026년 11월 21일 (토) 오전 9:31, {US}님이 작성:",
    "zh gmail": f"{US} 于2026年11月21日周六 09:31写道：",
    "zh-TW gmail": f"{US} 於 2026年11月21日 週六 上午9:31寫道：",
    "ar gmail": f"\u202bفي السبت، 21 نوفمبر 2026 في 9:31 ص تمت كتابة ما يلي بواسطة {GMAIL}:",
    "he gmail": f"\u202bבתאריך שבת, 21 בנוב׳ 2026 ב-9:31 מאת {GMAIL}:",
    "tr gmail": f"{US}, 21 Kas 2026 Cmt, 09:31 tarihinde şunu yazdı:",
    "hi gmail": f"शनि, 21 नव॰ 2026 को 9:31 am बजे को {US} ने लिखा:",
}


@pytest.mark.parametrize("name", ATTRIBUTIONS)
def test_an_attribution_is_not_the_writer_s(name: str) -> None:
    assert own_words(f"2\n\n{ATTRIBUTIONS[name]}\n{QUOTED}\n").lines == ("2",)
    assert own_words(f"2\n\n{ATTRIBUTIONS[name]}\n\n{QUOTED}\n").lines == ("2",)


def test_an_attribution_without_a_colon_may_stand_above_bars() -> None:
    bars = QUOTED.replace(">", "|")

    assert own_words(f"2\n\nOn 21 November 2026 at 09:31, {US} wrote\n{bars}\n").lines == ("2",)


@pytest.mark.parametrize("language", HEADS)
def test_the_head_of_a_quoted_mail_is_not_the_writer_s(language: str) -> None:
    head = HEADS[language].format(us=US)

    assert own_words(f"2\n\n{head}\n\n{BARE}\n").lines == ("2",)


@pytest.mark.parametrize(
    "footer", ["Sendt fra min iPhone", "Sendt fra Outlook for iOS", "Hent Outlook for Android", "    -------", "――――――"]
)
def test_a_footer_or_a_rule_signs(footer: str) -> None:
    assert own_words(f"2\n\n{footer}\n").lines == ("2",)


@pytest.mark.parametrize("own", ["Bob wrote it", "He wrote:\nno", "On it", "Til Bob", "Kime?", "От него: да"])
def test_a_sentence_that_looks_like_it_is_the_writer_s(own: str) -> None:
    assert own_words(f"{own}\n").lines == tuple(own.split("\n"))


SOMEBODY = "Some One <some.one@x.example>"
UNDATED = [
    f"{SOMEBODY} wrote:",
    f"{SOMEBODY} schrieb:",
    f"schrieb {SOMEBODY}:",
    f"{SOMEBODY} a écrit :",
    f"{SOMEBODY} escribió:",
    f"{SOMEBODY} ha scritto:",
    f"{SOMEBODY} escreveu:",
    f"schreef {SOMEBODY}:",
    f"{SOMEBODY} heeft het volgende geschreven:",
    f"{SOMEBODY} skrev:",
    f"skrev {SOMEBODY}:",
    f"{SOMEBODY} napisał(a):",
    f"{SOMEBODY}さんは書きました:",
    f"{SOMEBODY} пишет:",
    f"{SOMEBODY} yazdı:",
    f"{SOMEBODY}\nwrote:",
    "some.one@x.example wrote:",
    "-------- Oprindelig besked --------",
    "-------- Opprinnelig melding --------",
    "-------- Alkuperäinen viesti --------",
    "-------- Původní zpráva --------",
    "-------- Исходное сообщение --------",
    "-------- Orijinal mesaj --------",
    "-------- 原始邮件 --------",
    "-------- 원본 메시지 --------",
    "-------- Skilaboð frá þér --------",
    "========== Ujumbe wa awali ==========",
]
"""None has a date, and the last two are in no list."""


@pytest.mark.parametrize("head", UNDATED)
@pytest.mark.parametrize(
    "quoted", [QUOTED, f"\n{BARE}", f"From: {US}\nSent: Saturday\nTo: Alice\nSubject: x\n\n{BARE}"]
)
def test_a_head_without_a_date_is_no_part_of_a_text(head: str, quoted: str) -> None:
    words = own_words(f"We ship on Monday.\n\nBest\n\n{head}\n{quoted}\n")

    assert words.lines == ("We ship on Monday.", "", "Best")
    assert words.doubt is None


@pytest.mark.parametrize(
    "own",
    [
        "Handraise wrote:",
        "Please tell Bob <bob@x.example> what Alice wrote:",
        "I wrote Bob <bob@x.example>:",
        "Tell bob@x.example what\nAlice wrote:",
    ],
)
def test_a_line_that_may_be_the_writer_s_is_kept_and_asked_about(own: str) -> None:
    words = own_words(f"{own}\n{QUOTED}\n")

    assert words.lines == tuple(own.split("\n"))
    assert words.doubt == "quoted_head"


@pytest.mark.parametrize("head", [f"{SOMEBODY} wrote:", "-------- Note to the customer --------"])
def test_a_head_with_other_words_below_it_is_asked_about(head: str) -> None:
    words = own_words(f"Please send this:\n{head}\nWe ship on Monday.\n\n{QUOTED}\n")

    assert words.lines == ("Please send this:", head, "We ship on Monday.")
    assert words.doubt == "quoted_head"
