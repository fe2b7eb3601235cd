"""The SSH gateway: what OpenSSH's clients ask for becomes calls of the sandboxes' runtimes.

It runs in a process of its own, which outlives the control plane and asks it who may come in.
"""
