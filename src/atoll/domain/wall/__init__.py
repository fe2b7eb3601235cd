"""A wall, seen by its rules: isolation levels, the interior behind it, its system calls. Pure."""
