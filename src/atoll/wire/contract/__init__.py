"""Messages between the control plane and a runtime, typed once."""
