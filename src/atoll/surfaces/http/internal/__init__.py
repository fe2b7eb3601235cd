"""Routes of hosts and trusted services."""
