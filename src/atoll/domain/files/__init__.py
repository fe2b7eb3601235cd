"""Paths and files: names below the workspace, host directories, outgoing files. Pure."""
