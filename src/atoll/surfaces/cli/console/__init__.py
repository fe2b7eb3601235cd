"""Parts shared by every command: arguments, output, the API, the current sandbox."""
