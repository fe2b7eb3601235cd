"""Adapters of the WebhookSender port."""
