"""``handraise doctor``: is this installation set up so that it works, and if not, what is to be done?

Read ``findings`` first: what one line says. ``examination`` runs all checks side by side, each within its time, and
says what they may ask of. Then one module a subject: ``configuration``, ``storage`` (database, secret key, files,
disk), ``addresses`` (the service and where links lead), ``slack``, ``outgoing_mail``, ``incoming_mail``, ``pager``,
``callback_reach``, ``alarms``, ``people_reach``, ``clocks``. ``network`` reaches other machines, ``checks`` names every
check in the order in which it is printed.

What must never be: anything that is written, locked or sent (a ping of the heartbeat would say that all is well), a
secret in a line, or a check that holds the others up.

Source: API.md §9; docs/decisions/0069.
"""
