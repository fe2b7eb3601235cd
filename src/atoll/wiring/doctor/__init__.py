"""Checks of what this machine can isolate, with advice for the rest."""
