"""Workers over the API: an agent in a sandbox that a program drives."""
