"""What is tried inside a sandbox: a program of its own, sent in as one archive.

Standard library only and Python 3.9 on, since it runs in whatever an image brings. Nothing here
knows Atoll: what it must be told is in `facts.json` beside it.
"""
