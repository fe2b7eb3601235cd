"""What the zygote, the control plane and runtimes say to each other."""
