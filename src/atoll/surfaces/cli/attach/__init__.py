"""The client of `atoll attach`: a person at one terminal.

What it decides is pure and stands in `client.attach`; `rawtty` and `session` act.
"""
