"""Checks before a route: limits of a connection, the size of a body, and the headers of every reply.

``protocol`` is one connection, ``connections`` all of them, ``admission`` (pure) decides which of them has to go;
``limits`` refuses bodies that are too large or that no database can store. ``headers`` are those of every reply.

What must never be: a body that is read without a limit, or a reply without the headers.
"""
