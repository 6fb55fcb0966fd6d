"""``make bench``: the figures of docs/internals/development.md, each beside a ceiling measured in the same run."""
