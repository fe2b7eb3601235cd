"""The command that a person runs for notifications of their own."""
