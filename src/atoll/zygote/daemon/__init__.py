"""The zygote as a program: its socket, its verbs, its children."""
