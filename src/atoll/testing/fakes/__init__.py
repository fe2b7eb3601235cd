"""Fakes of ports for unit tests; each passes the same contract suite as the real adapter."""
