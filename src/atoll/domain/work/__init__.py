"""The work of a sandbox: what became of its task, from the first prompt to the merge."""
