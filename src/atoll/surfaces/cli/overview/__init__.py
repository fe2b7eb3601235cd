"""Lines about agents for every command, and the wait for changes."""
