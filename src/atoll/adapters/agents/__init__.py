"""Agents on this machine: their installation, their layers and people's configuration."""
