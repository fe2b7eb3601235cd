"""Declarations of agents: their catalogue and statuses, logins and tools, and the inbox."""
