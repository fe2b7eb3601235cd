"""Migrations: one file per revision; a landed one never changes."""
