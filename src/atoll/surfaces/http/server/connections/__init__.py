"""Connections of the HTTP server: their bounds, their TLS, and their handover to a runtime."""
