"""The policy a runtime works by: standing, applied, redacting."""
