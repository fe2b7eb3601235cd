"""What Atoll knows about each coding agent: data and hooks, one file each."""
