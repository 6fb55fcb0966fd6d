"""``handraise mcp``: an MCP server whose tools ask a person. The extra ``mcp`` brings what it needs.

A model calls ``request_input``; a person answers wherever Handraise asks them. A call ends before the client's patience
does: with the answer, or with ``pending`` and the question's ref, which ``wait_for_input`` goes on with. A client of
the revision 2026-07-28 is given ``input_required`` instead, and goes on by itself.

Read ``tools`` first: the four tools. Then ``calls`` (made with whose key, and over in time), ``results`` and
``tool_texts`` (pure: what a model is told), ``rounds`` (pure: what ``request_state`` holds), ``asking_keys`` (which
keys may ask), and ``transports`` (standard input and output, or HTTP).

What must never be: a tool that answers, or a key that may; a suspension id in a result; silence that is told as a no;
a question that one bearer has asked, read or taken back by another.

Source: the Model Context Protocol, revisions 2025-11-25 and 2026-07-28; ``docs/decisions/0114-mcp.md``.
"""
