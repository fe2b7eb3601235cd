"""People: tokens, share links, and the browsers that are notified."""
