"""SSH from this machine: the files of OpenSSH's client, and the way to the gateway."""
