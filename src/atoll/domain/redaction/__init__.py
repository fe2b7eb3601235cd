"""Redaction of output: the forms a secret takes, finding them, and masking them in a stream."""
