"""Programs of the safety layers that stand inside, as read-only folders."""
