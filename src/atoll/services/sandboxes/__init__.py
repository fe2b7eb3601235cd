"""Sandboxes: admission, use cases, and the reconciler that performs their transitions."""
