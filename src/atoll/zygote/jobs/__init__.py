"""Work done for the control plane by other uids."""
