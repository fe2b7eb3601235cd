"""The zygote's access to its machine: kernel calls, child processes, sockets, paths of its home."""
