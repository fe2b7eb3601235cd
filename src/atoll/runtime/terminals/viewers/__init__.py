"""Viewers of a terminal: attach sessions, their links, and what each is still to receive."""
