"""Profile documents: in the package, and in a person's directory."""
