"""``make bench``: the figures of docs/development.md, each beside a ceiling that is measured in the same run."""
