"""A person's own machine as a host of workers: it dials the control plane, which never dials it."""
