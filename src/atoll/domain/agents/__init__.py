"""Agents: their catalogue, their cards and hooks, and conversations in machine modes. Pure."""
