"""The domain: the record of a question, and every change to it. Pure values and functions.

Read ``suspension`` first (the record), then ``vocabulary`` (signals in; events and effects out) and ``machine`` (the
table of moves). The other modules each answer one question about a record:

- before it is asked: ``request``, ``forms``, ``policy``, ``window``, ``hours``, ``json_schema``, ``engagement``;
- who: ``people``, ``audience``, ``quorum``, ``incident_claims``;
- what people see: ``notice``, ``wording``, ``short_messages``, ``action``, ``redaction``;
- what comes back: ``answers``, ``clarification``, ``callback``;
- how it is written: ``wire`` (JSON), ``intent`` (the record that a suspension belongs to);
- what proves something: ``tokens`` (a link, a mail address), ``receipt`` (an answer), and the ``root_key`` of both.

``now`` always comes in as an argument. Decisions go out as values; the caller performs them.

What must never be: SQL, asyncio, a clock, a network call, or an import of another package of core than ``errors``.
"""
