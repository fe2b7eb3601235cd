"""How the control plane reaches a runtime."""
