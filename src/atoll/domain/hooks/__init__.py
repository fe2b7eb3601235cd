"""Hooks: what other systems report by signed requests, as events of ours. Pure."""
