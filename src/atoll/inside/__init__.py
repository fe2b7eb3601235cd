"""What runs inside the wall beside native/init, and where it lies. The standard library only."""
