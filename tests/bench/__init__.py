"""``make bench``: the figures of the README, each beside a ceiling that is measured in the same run."""
