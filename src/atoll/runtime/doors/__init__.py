"""The two doors of a sandbox, the broker and the egress proxy, served outside its wall."""
