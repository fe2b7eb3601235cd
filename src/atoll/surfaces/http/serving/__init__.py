"""Declared operations as routes: reading of requests, answers, and the document."""
