"""Commands about what a sandbox may reach and with which keys."""
