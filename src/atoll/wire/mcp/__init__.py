"""The stdio transport of the Model Context Protocol: lines, and what is read of each message."""
