"""What the control plane and a runtime say to each other, typed once."""
