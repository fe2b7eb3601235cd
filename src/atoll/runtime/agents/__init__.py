"""Agents of one sandbox: started, watched and locked, at a terminal or in their machine mode."""
