"""What every command shares: arguments, output, the API, the current sandbox."""
