"""Conversations with agents in their machine modes: messages in, messages out; no I/O here."""
