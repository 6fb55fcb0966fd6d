"""The operator's own templates: what they may replace, what is refused before the start, and that none loses a
question."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from channels.email.examples import FIRST, MESSAGES, TO
from channels.email.overrides import read_templates
from channels.email.render import message_mail, notice_mail
from channels.email.templates import FOLDER, OURS, Templates
from core.domain.action import ShownAction
from core.errors import ConfigError
from tests.channels.email.incoming import OURS as MAILBOXES
from tests.channels.email.test_email_looks import html_of
from tests.channels.email.test_email_render import page_of, parsed, text_of

DOCS = Path(__file__).parents[3] / "docs" / "how-to" / "mail-templates.md"
MARK = "— {{ marker }} · {{ ref }} —\n"
ACTION = "{% if action %}{{ action.heading }}\n{{ action.text }}{% endif %}"
Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    def made(**files: str) -> Path:
        for name, source in files.items():
            (tmp_path / f"{name.replace('__', '.')}.j2").write_text(source)
        return tmp_path

    return made


def refusal(folder: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        read_templates(folder)
    assert "\n" not in refused.value.message
    return refused.value.message


def test_a_text_of_the_operators_takes_the_place_of_ours_and_the_rest_stays(folder: Folder) -> None:
    theirs = read_templates(folder(notice__txt=MARK + "ACME asks: {{ question }}\n{{ link }}\n" + ACTION))
    mail = parsed(notice_mail(FIRST, TO, "d1", MAILBOXES, theirs))

    assert text_of(mail) == f"— reply above this line · HR-7F3K —\nACME asks: {FIRST.question}\n{FIRST.links.best}\n"
    assert "Open in the browser" in html_of(mail)


def test_a_layout_of_the_operators_is_around_every_mail(folder: Folder) -> None:
    layout = OURS["layout.html.j2"].replace("<body", '<body data-brand="acme"')
    theirs = read_templates(folder(layout__html=layout))

    for mail in (
        notice_mail(FIRST, TO, "d1", MAILBOXES, theirs),
        message_mail(MESSAGES["too-late"], TO, "d1", MAILBOXES, theirs),
    ):
        assert page_of(parsed(mail)).xpath("//body/@data-brand") == ["acme"]


def test_a_file_of_their_own_may_be_included(folder: Folder) -> None:
    source = MARK + "{% include '_asks.j2' %}{{ question }}\n{{ link }}\n" + ACTION
    theirs = read_templates(folder(_asks="{{ asked_by }} asks: ", notice__txt=source))

    assert "refund-agent asks: Refund" in text_of(parsed(notice_mail(FIRST, TO, "d1", MAILBOXES, theirs)))


def test_words_of_others_stay_text_in_html_of_the_operators(folder: Folder) -> None:
    source = (
        f"<p>{MARK}</p><p title='{{{{ question }}}}'>{{{{ question }}}}</p><a href='{{{{ link }}}}'>answer</a>{ACTION}"
    )
    theirs = read_templates(folder(notice__html=source))
    mail = notice_mail(replace(FIRST, question="<script>x</script>' onload='x"), TO, "d1", MAILBOXES, theirs)

    assert not page_of(parsed(mail)).xpath("//script | //*[@onload]")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"notice__txt": MARK + "{{ question }\n{{ link }}"}, "notice.txt.j2:2: "),
        ({"notice__txt": MARK + "\n{% if %}{{ link }}"}, "notice.txt.j2:3: "),
        (
            {"notice__txt": MARK + "{{ qestion }}\n{{ link }}"},
            "notice.txt.j2:2: there is no variable qestion; there are ",
        ),
        (
            {"notice__html": MARK + "{% if False %}\n{{ nothing }}{% endif %}{{ link }}"},
            "notice.html.j2:3: there is no",
        ),
        ({"message__txt": MARK + "{{ question }}{{ link }}"}, "message.txt.j2:2: there is no variable question; "),
        (
            {"notice__txt": MARK + "{% for choice in choices %}\n{{ choice.labl }}{% endfor %}{{ link }}"},
            "notice.txt.j2:3: the first mail can't be made: ",
        ),
        ({"notice__txt": MARK + "{{ question }}"}, "notice.txt.j2:1: the first mail lacks the link to answer at."),
        ({"notice__html": MARK + "{{ question }}"}, "notice.html.j2:1: the first mail lacks the link to answer at."),
        (
            {"notice__txt": MARK + "{{ question }}{{ link }}"},
            "notice.txt.j2:1: the action mail lacks the action with its digest.",
        ),
        (
            {"notice__txt": MARK + "{{ question }}{{ link }}\n{% if action %}{{ action.text }}{% endif %}"},
            "notice.txt.j2:1: the action mail lacks the action with its digest.",
        ),
        (
            {"notice__html": MARK + "{{ question }}{{ link }}{% if action %}{{ action.digest }}{% endif %}"},
            "notice.html.j2:1: the action mail lacks the action with its digest.",
        ),
        (
            {"notice__txt": "{{ question }}\n{{ link }}"},
            "notice.txt.j2:1: the first mail must begin with the line “— {{ ",
        ),
        ({"notice__txt": "Hello!\n" + MARK + "{{ link }}"}, "notice.txt.j2:1: the first mail must begin with the line"),
        ({"notice__html": "<p>Hello!</p>" + MARK + "{{ link }}"}, "notice.html.j2:1: the first mail must begin with"),
        (
            {"layout__html": "{% block card %}{% endblock %}"},
            "layout.html.j2:1: the first mail must begin with the line",
        ),
        ({"notice__html": MARK + "\n{{ question|safe }}{{ link }}"}, "notice.html.j2:3: must leave HTML escaped"),
        (
            {"notice__html": MARK + "{% autoescape false %}{{ link }}{% endautoescape %}"},
            "notice.html.j2:2: must leave HTML escaped",
        ),
        (
            {"notice__txt": MARK + "{% include 'none.j2' %}{{ link }}"},
            "notice.txt.j2:2: the first mail can't be made: ",
        ),
        (
            {"notice__txt": MARK + "{{ ''.__class__.mro() }}{{ link }}"},
            "notice.txt.j2:2: the first mail can't be made: ",
        ),
        ({"notise__txt": "x"}, "notise.txt.j2: replaces no template; those are layout.html.j2, message.html.j2, "),
    ],
)
def test_a_template_that_can_t_work_is_refused_and_its_line_named(
    folder: Folder, tmp_path: Path, files: dict[str, str], told: str
) -> None:
    assert refusal(folder(**files)).startswith(f"{tmp_path}/{told}")


def test_a_template_of_an_older_version_that_ours_no_longer_fits_is_named_itself(
    folder: Folder, tmp_path: Path
) -> None:
    older = "{% macro button(href, text) %}{% endmacro %}{% macro options(choices) %}{% endmacro %}"

    told = refusal(folder(parts__html=older))
    assert told.startswith(f"{tmp_path}/parts.html.j2:1: the first mail can't be made in our notice.html.j2:")


def test_a_template_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notice.txt.j2").write_bytes("ok\nGröße".encode("latin-1"))

    assert refusal(tmp_path) == f"{tmp_path}/notice.txt.j2:2: is not UTF-8."


def test_a_folder_that_there_is_not_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none").startswith(f"email.templates: {tmp_path}/none can't be read (No such file")


def test_a_template_that_fails_on_one_question_gives_way_to_ours(folder: Folder) -> None:
    source = MARK + "{{ 1 // (question|length - 4) }}{{ question }}\n{{ link }}\n" + ACTION
    theirs = read_templates(folder(notice__txt=source))
    mail = notice_mail(replace(FIRST, question="Why?"), TO, "d1", MAILBOXES, theirs)

    assert mail.amiss == "template_notice"
    assert text_of(parsed(mail)) == text_of(parsed(notice_mail(replace(FIRST, question="Why?"), TO, "d1", MAILBOXES)))
    assert notice_mail(FIRST, TO, "d1", MAILBOXES, theirs).amiss is None


def test_a_template_that_leaves_the_link_out_of_one_question_gives_way_to_ours(folder: Folder) -> None:
    theirs = read_templates(folder(notice__txt=MARK + "{% if question != 'Why?' %}{{ link }}{% endif %}" + ACTION))
    mail = notice_mail(replace(FIRST, question="Why?"), TO, "d1", MAILBOXES, theirs)

    assert mail.amiss == "template_notice"
    assert FIRST.links.best in text_of(parsed(mail))


def test_a_template_that_leaves_the_action_out_of_one_question_gives_way_to_ours(folder: Folder) -> None:
    theirs = read_templates(folder(notice__txt=MARK + "{{ link }}{% if question != 'Why?' %}" + ACTION + "{% endif %}"))
    action = ShownAction({"amount": 49999}, "1a2b3c4d")
    mail = notice_mail(replace(FIRST, question="Why?", action=action), TO, "d1", MAILBOXES, theirs)

    assert mail.amiss == "template_notice"
    assert '"amount": 49999' in text_of(parsed(mail))


def test_a_template_stays_in_its_sandbox_on_questions_that_it_was_not_tried_with(folder: Folder) -> None:
    source = MARK + "{% if question == 'Why?' %}{{ ''.__class__.__mro__ }}{% endif %}{{ link }}" + ACTION
    theirs = read_templates(folder(notice__txt=source))
    mail = notice_mail(replace(FIRST, question="Why?"), TO, "d1", MAILBOXES, theirs)

    assert mail.amiss == "template_notice"
    assert "class" not in text_of(parsed(mail))


def test_our_own_templates_pass_as_an_operators_copy_of_them(tmp_path: Path) -> None:
    for name, source in OURS.items():
        (tmp_path / name).write_text(source)
    theirs = read_templates(tmp_path)

    assert theirs.replaced == OURS
    for make, content in ((notice_mail, FIRST), (message_mail, MESSAGES["clarification"])):
        copied, own = (make(content, TO, "d1", MAILBOXES, one) for one in (theirs, Templates()))  # type: ignore[operator]
        assert (text_of(parsed(copied)), html_of(parsed(copied))) == (text_of(parsed(own)), html_of(parsed(own)))


def test_the_documentation_names_every_template_and_every_variable() -> None:
    told = DOCS.read_text()
    from channels.email.overrides import VARIABLES

    named = set(re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE))
    assert named == set().union(*VARIABLES.values())
    assert all(f"`{file.name}`" in told for file in FOLDER.iterdir())
