"""The OpenIntent wing: intents and their containers: graphs, portfolios, plans, workflows (RFC-0001 to RFC-0010,
RFC-0026).

It builds on asking, and asking does not know it: nothing else of core imports this package. ``domain`` has the rules,
pure; ``store`` the SQL; ``intents`` what clients do to one intent; ``containers`` graphs, portfolios, plans and
workflows; ``propagation`` what a move of one intent does to those around it.
"""
