"""Sandboxes on any Linux machine that SSH reaches, as an ordinary user, without Docker or root."""
