"""Routes of what a sandbox may reach, and with which keys."""
