"""Work: when to look at what is due, and which workers are alive.

Two clocks stand behind one port (``core.ports.Work``): ``embedded`` for one process on SQLite, ``distributed`` for any
number on PostgreSQL. Both only say "look"; the engine's look does everything that is due, so that looking twice does
no harm. ``looking`` runs one look at a time. ``presence`` is a worker's beat, what follows if one falls silent, and
which time it is; ``news`` wakes who waits in other processes; ``health`` is for ``/readyz`` and ``/healthz``; ``every``
repeats something small.

What must never be: a job that stands for one suspension, a time that is lost with a process, or a wait without an end.
"""
