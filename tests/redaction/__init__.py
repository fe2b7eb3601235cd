"""The whole redaction stage against oracles, with a new seed in every run."""
