"""Agents and their cards: control and configuration."""
