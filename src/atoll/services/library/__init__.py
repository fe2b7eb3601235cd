"""Profiles, repositories, and work kept from sandboxes."""
