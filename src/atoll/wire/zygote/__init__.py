"""Messages between the zygote, the control plane and runtimes."""
