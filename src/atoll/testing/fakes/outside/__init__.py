"""Fakes of ports to the outside."""
