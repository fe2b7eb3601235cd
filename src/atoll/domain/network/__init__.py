"""What a sandbox may reach: hosts, addresses, egress rules, volumes. Pure."""
