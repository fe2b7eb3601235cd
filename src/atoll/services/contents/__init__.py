"""Contents: disk images and trees, kept in pieces that are stored once and sealed."""
