"""Nouns and rules: pure, state in, instructions out; nothing here waits or touches a host."""
