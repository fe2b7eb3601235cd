"""The zygote as a program: its socket, its verbs, its child processes."""
