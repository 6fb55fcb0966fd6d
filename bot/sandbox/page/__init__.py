"""The sandbox's page: ``app`` serves it to who has its secret, ``state`` is what it shows."""
