"""Hosts: the use cases of administrators, and the room that sandboxes take on them."""
