"""Inbound PagerDuty: applies V3 webhooks to the questions of an incident.

``webhook`` checks and takes. ``incident_lookup`` finds the questions of an incident, and ``parking`` keeps events of an
unknown incident. ``events`` says what an event means; ``answers`` handles notes and the decision field; ``identity``
says who wrote it, ``texts`` are our notes on the incident.

What must never be: a signed webhook that is refused (three refusals end the subscription), an acknowledgement that is
taken for an answer unless the agent marked one, or a claim that depends on the order in which webhooks came.
"""
