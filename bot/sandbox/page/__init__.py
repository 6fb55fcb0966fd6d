"""The sandbox's page: ``app`` serves it to holders of its secret, ``state`` is its content."""
