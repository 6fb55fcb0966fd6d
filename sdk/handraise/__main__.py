"""``python -m handraise``: the command line."""

from handraise.cli import main

main()
