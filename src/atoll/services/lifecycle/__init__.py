"""The stored lifecycle of sandboxes: transitions, and a cache of recent states."""
