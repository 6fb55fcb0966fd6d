"""A storm over the whole service, and what must be true after it: ``make chaos``.

Real processes of the service, each killed with ``kill -9`` and started again; a PostgreSQL of its own that is stopped,
crashes and comes back; a Slack, a mail server and a PagerDuty that fail in every way they know, and an agent's end that
does too. Questions with ladders are asked, and answered over the API, in Slack, by mail, on the pager and on the pages;
some need two people, are handed over to a third, or asked back, and the agent says more or keeps silent.
Then everything behaves, what is left drains, and ``invariants`` judges: the database against what the outside has seen.

Three modes, one after another (``--mode`` takes one): ``sqlite`` and ``postgresql`` with one process for everything,
``replicas`` with two processes that take requests and two that work. ``--seed`` fixes what is asked, who answers how,
and which failures are drawn; when they strike depends on the machine, so a seed finds the same storm, not the same
instant. A machine that starts the service slowly gets longer ladders (``Fleet.pace``). The exit status is 1 where
anything is wrong: then the question's ref and its story are printed, types and times alone, and the logs are kept.

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
"""
