"""Claude Code: its conversation, its cards and its tools. Pure."""
