"""OpenID Connect: people sign in through the company's provider, or through Slack.

Read ``provider`` first: the requests to a provider, and how its replies are fetched. ``id_tokens`` decides whether an
ID token is genuine and meant for this sign-in, ``identity`` which person of the directory it is. ``registration`` has
the values. The pages of a sign-in are in ``bot/web/pages/provider_pages``.

What must never be: an ID token that is believed before its signature, issuer, audience and nonce are checked; a token,
a code or an address in a log.
"""
