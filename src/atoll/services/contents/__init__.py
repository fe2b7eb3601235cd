"""Contents: disk images, kept in pieces that are stored once and sealed."""
