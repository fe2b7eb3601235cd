"""The only place where ports meet adapters."""
