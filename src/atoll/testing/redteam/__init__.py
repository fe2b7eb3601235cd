"""Attempts to break into your own Atoll, from inside a sandbox and over its API: none may succeed.

`python -m atoll.testing.redteam` runs them; `docs/trust/security.md` explains how. Attempts that
need peers of their own (resolvers, providers, git servers) are in the repository's
`tests/security/`.
"""
