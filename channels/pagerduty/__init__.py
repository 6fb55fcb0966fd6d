"""PagerDuty: incidents by the Events API, notes and look-ups by the REST API, and V3 webhooks.

Read ``channel`` first: one question is one alert per service, and every attempt triggers the same dedup key.
``render`` writes the events. ``incidents`` writes notes and calls people to an incident; ``rest`` is the API behind
it, with a circuit breaker. ``webhooks`` checks signatures, and reads webhooks and notes as values.

What must never be: an acknowledgement or a resolve that is taken for an answer, a webhook that is refused because its
shape is unknown (three refusals switch the subscription off), or a send that waits for the REST API.
"""
