"""Repositories, their remotes and branches. Pure."""
