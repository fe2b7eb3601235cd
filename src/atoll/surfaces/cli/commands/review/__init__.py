"""Commands that look at the changes in a sandbox, undo and commit them."""
