"""Nouns and rules: pure state in, instructions out. Imports nothing that waits or touches a host."""
