"""Paths and files: names below the workspace, host folders, files on their way out. Pure."""
