"""Images unpacked into trees that sandboxes have as their root."""
