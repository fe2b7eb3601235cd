"""Runtimes as processes of this machine, for extensions that bring no zygote."""
