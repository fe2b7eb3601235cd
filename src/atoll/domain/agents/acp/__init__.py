"""The Agent Client Protocol: its conversation and its cards. Pure."""
