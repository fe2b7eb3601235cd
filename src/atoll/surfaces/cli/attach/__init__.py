"""The client of `atoll attach`: a person at one terminal.

`attachment`, `screen` and `detach` decide and are pure; `rawtty` and `session` act.
"""
