"""Tables and rows of hosts."""
