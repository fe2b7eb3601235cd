"""Threads, turns and items of agents that speak another protocol than Codex's app-server. Pure."""
