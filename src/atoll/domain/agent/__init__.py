"""Conversations with agents in their machine modes: what came in, what goes out; no I/O here."""
