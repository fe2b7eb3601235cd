"""Network rules of a sandbox: hosts, addresses, egress rules, volumes. Pure."""
