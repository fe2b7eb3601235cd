"""From the words of a command line to a command: other names for it, and messages about usage."""
