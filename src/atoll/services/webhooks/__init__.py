"""Webhooks: the use cases of their owners, and the worker that posts events.

Each endpoint reads the log by its own cursor, and a crash at any moment loses nothing: an event
that was not settled is posted again, under the same `webhook-id`.
"""
