"""``handraise doctor``: checks whether this installation is set up so that it works, and says how to mend it.

Read ``findings`` first: the content of one line. ``examination`` runs all checks side by side, each within its time,
and has what they may ask. Then one module a subject: ``configuration``, ``storage`` (database, secret key, files,
disk), ``addresses`` (the service and where links lead), ``slack``, ``outgoing_mail``, ``incoming_mail``, ``pager``,
``callback_reach``, ``people_reach``, ``clocks``. ``network`` reaches other machines, ``checks`` lists every check in
the order of printing.

What must never be: anything that is written, locked or sent (a ping of the heartbeat would say that all is well), a
secret in a line, or a check that holds the others up.

Source: API.md §9; docs/decisions/0069.
"""
