"""Secrets, and the policy that runtimes receive."""
