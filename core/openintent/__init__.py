"""The wing of OpenIntent: intents, what belongs to them, and what they stand in (RFC-0001 to RFC-0010, RFC-0026).

It stands on asking, and asking does not know it: nothing else of core imports this package. ``domain`` has the
rules, pure; ``store`` the SQL; ``intents`` what clients do to one intent; ``containers`` graphs, portfolios, plans
and workflows; ``propagation`` what a move of one intent does to those around it.
"""
