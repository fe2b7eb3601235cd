"""Webhooks: events of the log that are posted to a person's own endpoints."""
