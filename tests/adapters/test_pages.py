"""The programs of the pages in ``PAGES``, as printed but for the model, which is scripted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.adapters.desk import Session
from tests.adapters.frameworks import FRAMEWORKS, HERE, ROOT, Framework

pytestmark = pytest.mark.adapters

PAGES = {
    "agent_framework": ("agent-framework.md", "MODEL = OpenAIChatClient()"),
    "langchain": ("langchain.md", 'MODEL = "openai:gpt-5"'),
    "openai_agents": ("openai-agents.md", 'MODEL = "gpt-5"'),
    "pydantic_ai": ("pydantic-ai.md", 'MODEL = "openai:gpt-5"'),
    "google_adk": ("google-adk.md", 'MODEL = "gemini-2.5-flash"'),
    "strands": ("strands.md", "MODEL = BedrockModel()"),
}
"""Of an adapter: its page, and the line in it that names the model."""

QUIET = {"ADK_SUPPRESS_EXPERIMENTAL_FEATURE_WARNINGS": "true"}
"""As the page of Google ADK says."""


@pytest.mark.parametrize("name", PAGES)
async def test_the_program_of_the_page_asks_ends_and_goes_on(
    started: Callable[[Framework], Session], name: str
) -> None:
    session = started(next(one for one in FRAMEWORKS if one.name == name))
    page, model = PAGES[name]
    text = (ROOT / "docs/how-to/frameworks" / page).read_text()
    [printed] = re.findall(r"`refund\.py`:\n\n```python\n(.*?)```", text, re.DOTALL)
    assert model in printed
    scripted = f"import sys\nsys.path.insert(0, {str(HERE / 'agents')!r})\nfrom {name}_model import Scripted\n"
    program = session.folder / "refund.py"
    program.write_text(
        printed.replace(model, f"{scripted}MODEL = Scripted()").replace('"conversation-1"', f'"{session.name}"')
    )
    (session.folder / "calls.json").write_text('[{"id": "call_1", "order": 12345, "amount": 30}]')
    first = await session.program(program, ".", str(session.folder), session.name, **QUIET)
    assert first.printed == "waiting for a person\n"
    await session.answer(12345, "approve")
    second = await session.program(program, ".", str(session.folder), session.name, **QUIET)
    assert second.printed == "paying 30 back for order 12345\nDone.\n"
    assert session.told == {"call_1": "Refunded 30."}
