"""The SSH gateway's process, as its control plane starts, finds and dials it."""
