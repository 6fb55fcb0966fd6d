"""A storm over the whole service, and what must be true after it: ``make chaos``.

Real processes of the service, each killed with ``kill -9`` and started again; a PostgreSQL of its own that is stopped,
crashes and comes back; a Slack, a mail server and a PagerDuty that fail in every way they know, and an agent's end that
does too. Questions with ladders are asked, and answered over the API, in Slack, by mail, on the pager and on the pages;
some need two people, are handed over to a third, or asked back, and the agent says more or keeps silent.
Hosts suffer too, one thing after another (``hosts``), and agents answer nothing beside one that does (``silence``).
Then everything behaves, what is left drains, and ``invariants`` judges: the database against what the outside has seen.

Three modes, one after another, in the short form the first two side by side (``--mode`` takes one): ``sqlite`` and
``postgresql`` with one process for everything, ``replicas`` with two processes that take requests and two that work.
What each goes through, in the long form and in the short one (``--short``, in CI), where everything comes once in some
mode; a run that left anything out is wrong:

============================================  ===================  ===================  ====================
what                                          sqlite               postgresql           replicas
============================================  ===================  ===================  ====================
Slack, mail, PagerDuty and agents fail        long, short          long, short          long, short
``kill -9``                                   long, short          long, short          long, short
PostgreSQL is stopped or crashes              -                    long, short          long, short
a commit's acknowledgement is lost            -                    long, short          long, short
SIGSTOP, alone                                long                 long                 -
SIGSTOP of a worker with more in hand than
it can send, another beside it                -                    -                    long, short
SIGTERM while vendors keep it waiting         long                 long, short          long
the host's clock is set forward               long, short          long [1]_            long [1]_
the disk is full [2]_                         long, short          -                    -
the disk takes nothing, as with EIO [3]_      long, short          -                    -
agents that answer nothing                    long                 long, short          long
============================================  ===================  ===================  ====================

.. [1] All hosts' clocks at once, and the service goes by PostgreSQL's: it changes nothing, and no invariant is its own.
.. [2] A tmpfs of its own without room (ENOSPC) if one can be mounted, which takes root; else a limit by which no file
   grows (``RLIMIT_FSIZE``). The output says which.
.. [3] A limit by which nothing is written (``RLIMIT_FSIZE`` 0), which SQLite takes for EIO. Reading goes on.

In the long form a process is frozen for 5 to 40 s, a disk is bad for 10 s, a clock is set forward by 90 s and now and
then back by 20, 500 agents are silent, and ``work.silent_seconds`` and ``suspension.catch_up_grace_seconds`` have their
defaults. In the short one it is 9 to 10 s, 4.5 s, 30 s (then back by 20), 100 agents, 5 s and 15 s.

``--seed`` fixes what is asked, who answers how, and which failures are drawn; when they strike depends on the machine,
so a seed finds the same storm, not the same instant. A machine that starts the service slowly gets longer ladders
(``Fleet.pace``). The exit status is 1 where anything is wrong: then the question's ref and its story are printed, types
and times alone, and the logs are kept.

It has been seen to find each of these, planted one at a time (60 questions, one minute, on SQLite):

===============================================================  ======================================================
planted                                                          found by
===============================================================  ======================================================
a notice settled as delivered before it is sent                  whatever counts as delivered has arrived
leases taken back after a crash without saying "in doubt"        nothing asks any more once its question has ended
an answer committed after its 200                                every answer that was accepted is the one that stands
no withdrawal of a notice that was in flight at the end          nothing asks any more once its question has ended
a new webhook-id for every try                                   every agent was called back, under one id
a look that fires an attempt twice                               attempts came in order, and: asked everybody once
the callback's row written after the transaction                 every agent was called back, under one id
rows in hand not taken back after a restart                      everything was settled in time
===============================================================  ======================================================

And each of these, planted one at a time, in the short form of the mode that is named:

===============================================================  ======================================================
planted                                                          found by
===============================================================  ======================================================
rows that have waited are sent without asking for the lease      a worker that was frozen sends nothing (replicas)
nobody is ever taken for dead                                    others take over (replicas)
a clock that is set forward is no outage                         a clock that is set forward takes no time (sqlite)
/readyz does not hear of a beat that failed                      while the disk takes nothing (sqlite)
64 senders and one lane for all callbacks                        agents that answer nothing delay no other (postgresql)
the end may take 30 seconds                                      SIGTERM ends a process cleanly (postgresql)
===============================================================  ======================================================

One was there and not planted: beside a disk that took nothing, a mail that had been taken was sent again ("whatever
came twice was in flight at a kill or in doubt").

``--partitions`` is another thing (``partitions``): two replicas, and a TCP proxy before PostgreSQL that is slow, cut,
stuck, and half open for 150 seconds. Seen on the code before calls of the database had deadlines, for 22 seconds:

===============================================================  ======================================================
invariant                                                        found
===============================================================  ======================================================
whoever asks the one that is cut off hears 201 or 503            283 of 313 heard nothing within 60 s
/readyz is 503 within 20 s                                       never
SIGTERM ends a process that is cut off within 12 s               not within 30 s
all is well 10 s after the line is                               never
===============================================================  ======================================================
"""
