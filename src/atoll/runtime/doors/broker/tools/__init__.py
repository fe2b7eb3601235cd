"""Tools of the control plane at the broker door: by HTTP, by stdio, and for scripts."""
