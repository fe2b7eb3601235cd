"""What this machine can isolate, and what to do about the rest."""
