"""Commands about agents, profiles and what was recorded."""
