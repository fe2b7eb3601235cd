"""Vaults: secret values sealed at rest, and the sources of their master keys."""
