"""Programs of the safety layers inside, as read-only directories."""
