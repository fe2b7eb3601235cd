"""A person's seat at a terminal: what `atoll attach` does once it knows which one.

`attachment`, `screen` and `detach` decide and are pure; `rawtty` and `seat` act.
"""
