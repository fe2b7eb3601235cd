"""Where profile documents lie: in the package, and in a person's directory."""
