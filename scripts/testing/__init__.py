"""The runner of `scripts/test`: groups of tests, in lanes, with one summary."""
