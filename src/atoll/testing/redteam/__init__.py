"""Attempts on an Atoll of yours, from inside a sandbox and over its API: none may succeed.

`python -m atoll.testing.redteam` runs them; `docs/trust/security.md` tells how. Attempts that need
peers of their own (resolvers, providers, git servers) are in the repository's `tests/security/`.
"""
