"""Images unpacked into trees."""
