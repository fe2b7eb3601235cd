"""Codex: its conversation, its cards, items and files. Pure."""
