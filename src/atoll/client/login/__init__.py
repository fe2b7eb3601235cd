"""The login of this machine at a server elsewhere."""
