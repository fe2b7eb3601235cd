"""Stacks of services on the Docker Engine of a host that SSH reaches: `ext.compose-ssh`."""
