"""In which of the ten languages somebody is answered."""

from __future__ import annotations

from typing import get_args

import pytest

from bot.config.people_and_keys import Language
from channels.grammar.phrases import LANGUAGES, first_known, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Bitte erst den Beleg schicken", "de"),
        ("Can we wait until Bob is back?", "en"),
        ("No puedo aprobarlo, falta la factura", "es"),
        ("Il manque la facture, je ne peux pas", "fr"),
        ("Manca la fattura, non posso approvare", "it"),
        ("領収書を送ってください", "ja"),
        ("De factuur ontbreekt, dat kan niet", "nl"),
        ("Brakuje faktury, nie mogę tego zatwierdzić", "pl"),
        ("Falta a fatura, não posso aprovar isso", "pt"),
        ("Fakturan saknas, jag kan inte godkänna det", "sv"),
        ("Pozdrawiam", "pl"),
    ],
)
def test_a_sentence_shows_its_language(text: str, language: str) -> None:
    assert language_of([text]) == language


@pytest.mark.parametrize("lines", [[], ["1"], ["4711"], ["Alice Doe"], ["no"], ["de la"]])
def test_what_may_be_of_several_languages_shows_none(lines: list[str]) -> None:
    assert language_of(lines) is None


def test_the_first_text_that_shows_one_counts_and_else_it_is_english() -> None:
    assert first_known(["1"], ["Soll die Rechnung bezahlt werden?"]) == "de"
    assert first_known(["Je ne peux pas"], ["Soll die Rechnung bezahlt werden?"]) == "fr"
    assert first_known(["1"], ["4711?"]) == "en"


def test_the_directory_takes_each_of_them_and_no_other() -> None:
    assert set(get_args(Language)) == set(LANGUAGES)
