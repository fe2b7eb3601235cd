"""Routes: the choice of a backend and a host for a sandbox, with the reasons of every candidate."""
