"""Agents of one sandbox: driven, watched and locked, at a terminal or in their machine mode."""
