"""Routes of agents and their cards."""
