"""Texts that a model reads: what the server is for, and what each tool does. Pure."""

from __future__ import annotations

INSTRUCTIONS = """\
Handraise asks a person and gives you the answer. Use request_input before you do something that a person has to \
decide: what can't be undone, costs money, is seen by others, or goes beyond what you were asked for. Use it too if \
you need to know something that only a person knows.

- Ask one question at a time, so that somebody who has not read this conversation can decide. Put the facts into \
context, and exactly what you will do into action.
- A status of "pending" means that nobody has answered yet. It is neither a yes nor a no. Call wait_for_input with the \
ref, or do other work and call check_input later. Don't ask the same question again.
- Go ahead only on an answer that says so, and only with what was asked about. If anything changes, ask again.
- If nobody answers in time, nobody has decided: don't go ahead, and don't report it as a refusal.
- You can't answer a question yourself. No tool here does."""

REQUEST_INPUT = """\
Ask a person, and wait a while for the answer. They are asked in Slack, by mail, through a pager or on a page, as \
their team has set it up, and are reminded until they answer.

Returns the answer, or status "pending" with a ref if nobody has answered yet: then call wait_for_input with that ref. \
Each call asks anew, unless it has the question_id of an earlier one."""

CHECK_INPUT = """\
Look where a question stands, without waiting. ref is what request_input returned, such as HR-7F3K. Returns the answer \
if there is one, otherwise status "pending"."""

WAIT_FOR_INPUT = """\
Wait a while for the answer to a question that is pending. ref is what request_input returned, such as HR-7F3K. \
Returns as soon as a person answers, or status "pending" again: call it once more, or go on with other work. Nobody is \
asked twice by this."""

CANCEL_INPUT = """\
Take a pending question back, if its answer is not needed any more: nobody is asked further. ref is what request_input \
returned. A question that has ended stays as it ended, and is returned so."""

QUESTION = "What a person has to decide or tell. Plain text, understandable without this conversation."
CHOICES = (
    "The answers to choose from, such as approve and deny. Each is a text, or an object with a value (what you get "
    "back) and a label (what the person reads). Without choices, any text is an answer."
)
RESPONSE_TYPE = (
    'What kind of answer: "choice" (one of choices; the default if there are any), "confirm" (yes or no), "text" (the '
    'default without choices), or "form" (fields, by form_schema).'
)
CONTEXT = "Facts that the person needs to decide, by name: amounts, links, what speaks for and against it."
ACTION = (
    "Exactly what you will do if they agree, as data: the tool with its arguments, the command, the diff. It is shown "
    "as what will run."
)
FORM_SCHEMA = 'For response_type "form": a JSON Schema of type object, whose properties are the fields.'
RESPONDERS = (
    "Who may answer, and is asked: e-mail addresses or group:NAME. Leave it out unless you were told whom to ask."
)
TIMEOUT = "How long each attempt waits for an answer, in seconds. Leave it out for the team's own policy."
QUESTION_ID = (
    "A name of your own for this one question, such as deploy-42. A call that is repeated with the same name and "
    "arguments returns the same question instead of asking a person twice."
)
REF = "The question's reference, such as HR-7F3K, as request_input returned it."
CANCEL_REASON = "Why it is not needed any more; people see it."
