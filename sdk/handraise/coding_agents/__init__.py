"""Coding agents ask a person: the hook that Claude Code, Codex and Gemini CLI run before a tool does.

What an agent's program writes to the hook is a :class:`~handraise.coding_agents.hook_protocol.HookCall`. ``decision``
says what follows from it: it runs at once, by the user's own list (``command_list``, ``project``), or a person decides,
whom ``approval_question`` asks. ``hook_protocol`` writes the verdict as that program reads it.

Read ``hook_protocol`` first, then ``decision`` and ``agent_hook``, the only module that runs as a hook. ``isolation``
keeps failures closed. ``hook_file`` reads the user's own file, ``program_settings`` writes the programs' settings,
``deferred`` goes on after a run that did not wait. ``hook_check`` looks whether all of it works, by one run of the
program (``program_run``) with a ``scripted_model``.

What must never be: an allow that neither the user's list nor a receipt stands behind; a word of the project's files or
of the environment that decides whom the hook believes; a failure that ends with status 1, which the programs take for
yes.

Source: docs/how-to/coding-agents.md; readings: ``docs/decisions/0113-hooks-of-coding-agents.md``.
"""
