"""Where control state and events are kept."""
