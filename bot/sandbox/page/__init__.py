"""The sandbox's page: ``app`` serves it, ``state`` is what it shows, ``door`` lets in only who has its secret."""
