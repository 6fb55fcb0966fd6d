"""The rows of intents and their containers, as functions over tables: SQL, and no decision.

``intent_graph`` computes what a container shows when it is read. ``tables`` are the wing's own; beside this package
only migrations know them.
"""
