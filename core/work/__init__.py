"""Work: schedules looks at due rows, and tracks which workers are alive.

Two clocks implement one port (``core.ports.Work``): ``embedded`` for one process on SQLite, ``distributed`` for any
number on PostgreSQL. Both only say "look"; the engine's look does everything that is due, so that looking twice does no
harm. ``looking`` runs one look at a time. ``presence`` has a worker's heartbeat, what follows if it stops, and which
time it is; ``news`` wakes waiters in other processes; ``health`` is for ``/readyz`` and ``/healthz``; ``every`` repeats
a small task.

What must never be: a job that stands for one suspension, a time that is lost with a process, or a wait without an end.
"""
