"""The event log, and the journals of runtimes taken into it."""
