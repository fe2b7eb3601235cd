"""Ports of what is sent elsewhere: notifications, webhooks, and the log itself."""
