"""Vaults: how secret values are sealed at rest, and where their master keys come from."""
