"""Outside speech to service calls, errors to codes. No rules live here."""
