"""OpenID Connect: a provider of the company's, or Slack, says who somebody is.

Read ``provider`` first: what is asked of a provider, and how its answers are fetched. ``id_tokens`` decides whether an
ID token is genuine and meant for this sign-in, ``identity`` whose of the directory it is. ``registration`` has the
values. The pages that somebody passes on the way are in ``bot/web/pages/provider_pages``.

What must never be: an ID token that is believed before its signature, issuer, audience and nonce are checked; a token,
a code or an address in a log.
"""
