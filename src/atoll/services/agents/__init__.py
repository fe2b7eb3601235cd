"""Agents in sandboxes: driven, seeded with configuration, resumed."""
