"""The control plane: every service built and served."""
