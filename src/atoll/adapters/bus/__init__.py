"""Announcements of changes in the log."""
