"""Attempts inside a sandbox: a program of its own, sent in as one archive.

Standard library only and Python 3.9 on, since it runs in any image. Nothing here imports Atoll: the
facts it needs are in `facts.json` beside it.
"""
