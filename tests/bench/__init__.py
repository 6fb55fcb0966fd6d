"""``make bench``: the figures of docs/internals/development.md. Goals are ratios of two figures of the same run."""
