"""What stands before a route: what a connection may take, how large a body may be, what every reply carries.

``protocol`` is one connection, ``connections`` all of them, ``admission`` (pure) which of them gives way; ``limits``
refuses bodies that are too large or that no database can keep. ``headers`` is what every reply carries.

What must never be: a body that is read without a limit, or a reply without the headers.
"""
