"""Routes of the event log."""
