"""The overview's services, and the look at this machine."""
