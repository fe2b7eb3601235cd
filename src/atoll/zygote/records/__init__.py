"""The zygote's records: homes, sandboxes, uids."""
