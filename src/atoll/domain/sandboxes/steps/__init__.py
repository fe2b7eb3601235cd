"""The steps of a sandbox's life by who makes them; `domain.sandboxes.lifecycle` chooses."""
